public import Foundation
import Records
import Storage

/// An item of a trip's timeline: ``Lodging``, ``Transportation``, ``Activity``.
public protocol TripItem: Record {
  /// The trip that it belongs to.
  var tripID: UUID { get set }
  /// The name.
  var name: String { get set }
  /// When it begins.
  var start: Date? { get set }
  /// The IANA name of the zone in which it begins.
  var startZone: String? { get set }
  /// When it ends.
  var end: Date? { get set }
  /// The IANA name of the zone in which it ends.
  var endZone: String? { get set }
  /// The cost.
  var cost: Money? { get set }
  /// Whether it has been paid.
  var paid: Payment { get set }
  /// Notes.
  var notes: String { get set }
  /// The organization that provides it.
  var organizationID: UUID? { get set }
}

/// A place to stay during a trip.
public struct Lodging: TripItem {
  public let id: UUID
  /// The trip that it belongs to; it is hidden while the trip is deleted.
  public var tripID: UUID
  /// At most 1,000 characters; never empty.
  public var name = ""
  /// When it begins, in `startZone`.
  public var start: Date?
  /// The IANA name of the zone in which it begins; nil if not given, and without `start`.
  public var startZone: String?
  /// When it ends, in `endZone`.
  public var end: Date?
  /// The IANA name of the zone in which it ends; nil if not given, and without `end`.
  public var endZone: String?
  /// The cost; nil if not given.
  public var cost: Money?
  /// Whether it has been paid.
  public var paid = Payment.none
  /// At most 10,000 characters.
  public var notes = ""
  /// The organization that provides it; nil, or an id that no longer exists, means ``Organization/none``.
  public var organizationID: UUID?
  /// The reservation number.
  public var reservation = ""
  /// The name of the place, if not that of its organization's address.
  public var customLocationName = ""
  /// Whether the app hides the place on its maps.
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

/// A journey from one place to another during a trip.
public struct Transportation: TripItem {
  public let id: UUID
  /// The trip that it belongs to; it is hidden while the trip is deleted.
  public var tripID: UUID
  /// At most 1,000 characters; never empty.
  public var name = ""
  /// When it begins, in `startZone`.
  public var start: Date?
  /// The IANA name of the zone in which it begins; nil if not given, and without `start`.
  public var startZone: String?
  /// When it ends, in `endZone`.
  public var end: Date?
  /// The IANA name of the zone in which it ends; nil if not given, and without `end`.
  public var endZone: String?
  /// The cost; nil if not given.
  public var cost: Money?
  /// Whether it has been paid.
  public var paid = Payment.none
  /// At most 10,000 characters.
  public var notes = ""
  /// The organization that provides it; nil, or an id that no longer exists, means ``Organization/none``.
  public var organizationID: UUID?
  /// The booking number.
  public var confirmation = ""
  /// The means of transport; nil if not given.
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

/// An activity during a trip.
public struct Activity: TripItem {
  public let id: UUID
  /// The trip that it belongs to; it is hidden while the trip is deleted.
  public var tripID: UUID
  /// At most 1,000 characters; never empty.
  public var name = ""
  /// When it begins, in `startZone`.
  public var start: Date?
  /// The IANA name of the zone in which it begins; nil if not given, and without `start`.
  public var startZone: String?
  /// When it ends, in `endZone`.
  public var end: Date?
  /// The IANA name of the zone in which it ends; nil if not given, and without `end`.
  public var endZone: String?
  /// The cost; nil if not given.
  public var cost: Money?
  /// Whether it has been paid.
  public var paid = Payment.none
  /// At most 10,000 characters.
  public var notes = ""
  /// The organization that provides it; nil, or an id that no longer exists, means ``Organization/none``.
  public var organizationID: UUID?
  /// The reservation number.
  public var reservation = ""
  /// The name of the place, if not that of its organization's address.
  public var customLocationName = ""
  /// Whether the app hides the place on its maps.
  public var hideLocation = false
  public var origin = RecordOrigin()

  public init(id: UUID) {
    self.id = id
    tripID = zeroID
  }

  /// A new activity.
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
