public import Foundation
import Records
import Storage

/// What belongs to a trip and has a place in its timeline: ``Lodging``, ``Transportation``, ``Activity``.
public protocol TripItem: Record {
  /// The trip that it belongs to.
  var tripID: UUID { get set }
  /// What it is called.
  var name: String { get set }
  /// When it begins.
  var start: Date? { get set }
  /// The zone in which it begins.
  var startZone: String? { get set }
  /// When it ends.
  var end: Date? { get set }
  /// The zone in which it ends.
  var endZone: String? { get set }
  /// What it costs.
  var cost: Money? { get set }
  /// Whether it is paid for.
  var paid: Payment { get set }
  /// Anything else.
  var notes: String { get set }
  /// Who provides it.
  var organizationID: UUID? { get set }
}

/// A place to stay during a trip.
public struct Lodging: TripItem {
  public let id: UUID
  /// The trip that it belongs to; it is hidden while that is deleted.
  public var tripID: UUID
  /// At most 1,000 characters; never empty.
  public var name = ""
  /// When it begins, meant in `startZone`.
  public var start: Date?
  /// The IANA name of the zone in which it begins; nil if nobody said, and without `start`.
  public var startZone: String?
  /// When it ends, meant in `endZone`.
  public var end: Date?
  /// The IANA name of the zone in which it ends; nil if nobody said, and without `end`.
  public var endZone: String?
  /// What it costs; nil if nobody said.
  public var cost: Money?
  /// Whether it is paid for.
  public var paid = Payment.none
  /// At most 10,000 characters.
  public var notes = ""
  /// Who provides it; nil, and what is not there any more, stands for ``Organization/none``.
  public var organizationID: UUID?
  /// The number of the reservation.
  public var reservation = ""
  /// What the place is called, if not by its organization's address.
  public var customLocationName = ""
  /// Whether the app leaves the place off its maps.
  public var hideLocation = false
  public var origin = RecordOrigin()

  public init(id: UUID) {
    self.id = id
    tripID = zeroID
  }

  /// A new place to stay.
  public init(
    name: String, tripID: Trip.ID, start: Date? = nil, end: Date? = nil, zone: String? = nil,
    cost: Money? = nil, id: UUID = .record()
  ) {
    self.id = id
    self.tripID = tripID
    self.name = name
    self.start = start
    self.end = end
    startZone = start == nil ? nil : zone
    endZone = end == nil ? nil : zone
    self.cost = cost
  }

  public static let fields = RecordFields<Lodging>(
    Registry.lodging, id: \.id,
    [
      .id("trip", \.tripID), .text("name", \.name), .time("start", \.start, zone: \.startZone),
      .time("end", \.end, zone: \.endZone), .field("cost", \.cost),
      .field("paid", \.paid, absent: .none), .text("notes", \.notes),
      .field("organizationId", \.organizationID),
      .text("reservation", \.reservation), .text("customLocationName", \.customLocationName),
      .field("hideLocation", \.hideLocation, absent: false),
    ])
}

/// A way from one place to another during a trip.
public struct Transportation: TripItem {
  public let id: UUID
  /// The trip that it belongs to; it is hidden while that is deleted.
  public var tripID: UUID
  /// At most 1,000 characters; never empty.
  public var name = ""
  /// When it begins, meant in `startZone`.
  public var start: Date?
  /// The IANA name of the zone in which it begins; nil if nobody said, and without `start`.
  public var startZone: String?
  /// When it ends, meant in `endZone`.
  public var end: Date?
  /// The IANA name of the zone in which it ends; nil if nobody said, and without `end`.
  public var endZone: String?
  /// What it costs; nil if nobody said.
  public var cost: Money?
  /// Whether it is paid for.
  public var paid = Payment.none
  /// At most 10,000 characters.
  public var notes = ""
  /// Who provides it; nil, and what is not there any more, stands for ``Organization/none``.
  public var organizationID: UUID?
  /// The number of the booking.
  public var confirmation = ""
  /// By what one travels; nil if nobody said.
  public var type: TransportationType?
  public var origin = RecordOrigin()

  public init(id: UUID) {
    self.id = id
    tripID = zeroID
  }

  /// A new journey within a trip.
  public init(
    name: String, tripID: Trip.ID, start: Date? = nil, end: Date? = nil, zone: String? = nil,
    cost: Money? = nil, type: TransportationType? = nil, id: UUID = .record()
  ) {
    self.id = id
    self.tripID = tripID
    self.name = name
    self.start = start
    self.end = end
    startZone = start == nil ? nil : zone
    endZone = end == nil ? nil : zone
    self.cost = cost
    self.type = type
  }

  public static let fields = RecordFields<Transportation>(
    Registry.transportation, id: \.id,
    [
      .id("trip", \.tripID), .text("name", \.name), .time("start", \.start, zone: \.startZone),
      .time("end", \.end, zone: \.endZone), .field("cost", \.cost),
      .field("paid", \.paid, absent: .none), .text("notes", \.notes),
      .field("organizationId", \.organizationID),
      .text("confirmation", \.confirmation), .field("type", \.type),
    ])
}

/// Something to do during a trip.
public struct Activity: TripItem {
  public let id: UUID
  /// The trip that it belongs to; it is hidden while that is deleted.
  public var tripID: UUID
  /// At most 1,000 characters; never empty.
  public var name = ""
  /// When it begins, meant in `startZone`.
  public var start: Date?
  /// The IANA name of the zone in which it begins; nil if nobody said, and without `start`.
  public var startZone: String?
  /// When it ends, meant in `endZone`.
  public var end: Date?
  /// The IANA name of the zone in which it ends; nil if nobody said, and without `end`.
  public var endZone: String?
  /// What it costs; nil if nobody said.
  public var cost: Money?
  /// Whether it is paid for.
  public var paid = Payment.none
  /// At most 10,000 characters.
  public var notes = ""
  /// Who provides it; nil, and what is not there any more, stands for ``Organization/none``.
  public var organizationID: UUID?
  /// The number of the reservation.
  public var reservation = ""
  /// What the place is called, if not by its organization's address.
  public var customLocationName = ""
  /// Whether the app leaves the place off its maps.
  public var hideLocation = false
  public var origin = RecordOrigin()

  public init(id: UUID) {
    self.id = id
    tripID = zeroID
  }

  /// A new thing to do.
  public init(
    name: String, tripID: Trip.ID, start: Date? = nil, end: Date? = nil, zone: String? = nil,
    cost: Money? = nil, id: UUID = .record()
  ) {
    self.id = id
    self.tripID = tripID
    self.name = name
    self.start = start
    self.end = end
    startZone = start == nil ? nil : zone
    endZone = end == nil ? nil : zone
    self.cost = cost
  }

  public static let fields = RecordFields<Activity>(
    Registry.activity, id: \.id,
    [
      .id("trip", \.tripID), .text("name", \.name), .time("start", \.start, zone: \.startZone),
      .time("end", \.end, zone: \.endZone), .field("cost", \.cost),
      .field("paid", \.paid, absent: .none), .text("notes", \.notes),
      .field("organizationId", \.organizationID),
      .text("reservation", \.reservation), .text("customLocationName", \.customLocationName),
      .field("hideLocation", \.hideLocation, absent: false),
    ])
}
