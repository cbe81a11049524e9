public import Platform
import Records
import Storage

/// An item of a trip's timeline: a ``Lodging``, ``Transportation`` or ``Activity``.
public protocol TripItem: Record {
  /// The id of the trip that the item belongs to.
  var tripID: Trip.ID { get set }
  /// The name of the item.
  var name: String { get set }
  /// The time when the item begins; nil if it is not given.
  var start: Date? { get set }
  /// The IANA name of the time zone in which the item begins.
  var startZone: String? { get set }
  /// The time when the item ends; nil if it is not given.
  var end: Date? { get set }
  /// The IANA name of the time zone in which the item ends.
  var endZone: String? { get set }
  /// The cost of the item; nil if it is not given.
  var cost: Money? { get set }
  /// How much of the cost has been paid.
  var payment: Payment { get set }
  /// Notes about the item.
  var notes: String { get set }
  /// The id of the organization that provides the item.
  var organizationID: Organization.ID? { get set }
}

extension TripItem {
  /// The id of the place's own address; nil if the item has none, or is a journey.
  package var placeAddressID: Address.ID? { (self as? Lodging)?.addressID ?? (self as? Activity)?.addressID }
}

/// A place to stay during a trip.
public struct Lodging: TripItem {
  public let id: ID
  /// The id of the trip that the place to stay belongs to. The place to stay is hidden while the trip is deleted.
  public var tripID: Trip.ID
  /// The name of the place to stay: at most 1,000 characters, never empty.
  public var name = ""
  /// The time when the stay begins, shown in `startZone`; nil if it is not given.
  public var start: Date?
  /// The IANA name of the time zone in which the stay begins; nil if it is not given or `start` is nil.
  public var startZone: String?
  /// The time when the stay ends, shown in `endZone`; nil if it is not given.
  public var end: Date?
  /// The IANA name of the time zone in which the stay ends; nil if it is not given or `end` is nil.
  public var endZone: String?
  /// The cost of the stay; nil if it is not given.
  public var cost: Money?
  /// How much of the cost has been paid.
  public var payment = Payment.unpaid
  /// Notes about the place to stay, at most 10,000 characters long.
  public var notes = ""
  /// The id of the organization that provides the place to stay. Nil, or the id of an organization that no longer
  /// exists, means ``Organization/noneID``.
  public var organizationID: Organization.ID?
  /// The reservation number.
  public var reservation = ""
  /// The name of the place, if the place is not the address of the organization.
  public var customLocationName = ""
  /// The id of the place's own ``Address``, which is a separate record; nil if there is none.
  public var addressID: Address.ID?
  /// Whether the app hides the place on its maps.
  public var isLocationHidden = false
  public var origin = RecordOrigin()

  public init(id: ID) {
    self.id = id
    tripID = .zero
  }

  /// Creates a new place to stay.
  public init(
    name: String, tripID: Trip.ID, start: Date? = nil, end: Date? = nil, zone: String? = nil,
    cost: Money? = nil, id: ID = .new()
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
    Kind.lodging, id: \.id,
    [
      .id("trip", \.tripID), .text("name", \.name), .time("start", \.start, zone: \.startZone),
      .time("end", \.end, zone: \.endZone), .field("cost", \.cost),
      .field("paid", \.payment, absent: .unpaid), .text("notes", \.notes),
      .field("organizationId", \.organizationID),
      .text("reservation", \.reservation), .text("customLocationName", \.customLocationName),
      .field("hideLocation", \.isLocationHidden, absent: false),
      .field("address", \.addressID),
    ])
}

/// A journey from one place to another during a trip.
public struct Transportation: TripItem {
  public let id: ID
  /// The id of the trip that the journey belongs to. The journey is hidden while the trip is deleted.
  public var tripID: Trip.ID
  /// The name of the journey: at most 1,000 characters, never empty.
  public var name = ""
  /// The time when the journey begins, shown in `startZone`; nil if it is not given.
  public var start: Date?
  /// The IANA name of the time zone in which the journey begins; nil if it is not given or `start` is nil.
  public var startZone: String?
  /// The time when the journey ends, shown in `endZone`; nil if it is not given.
  public var end: Date?
  /// The IANA name of the time zone in which the journey ends; nil if it is not given or `end` is nil.
  public var endZone: String?
  /// The cost of the journey; nil if it is not given.
  public var cost: Money?
  /// How much of the cost has been paid.
  public var payment = Payment.unpaid
  /// Notes about the journey, at most 10,000 characters long.
  public var notes = ""
  /// The id of the organization that provides the journey. Nil, or the id of an organization that no longer exists,
  /// means ``Organization/noneID``.
  public var organizationID: Organization.ID?
  /// The booking number.
  public var confirmation = ""
  /// The means of transport; nil if it is not given.
  public var type: TransportationType?
  public var origin = RecordOrigin()

  public init(id: ID) {
    self.id = id
    tripID = .zero
  }

  /// Creates a new journey within a trip.
  public init(
    name: String, tripID: Trip.ID, start: Date? = nil, end: Date? = nil, zone: String? = nil,
    cost: Money? = nil, type: TransportationType? = nil, id: ID = .new()
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
    Kind.transportation, id: \.id,
    [
      .id("trip", \.tripID), .text("name", \.name), .time("start", \.start, zone: \.startZone),
      .time("end", \.end, zone: \.endZone), .field("cost", \.cost),
      .field("paid", \.payment, absent: .unpaid), .text("notes", \.notes),
      .field("organizationId", \.organizationID),
      .text("confirmation", \.confirmation), .field("type", \.type),
    ])
}

/// An activity during a trip.
public struct Activity: TripItem {
  public let id: ID
  /// The id of the trip that the activity belongs to. The activity is hidden while the trip is deleted.
  public var tripID: Trip.ID
  /// The name of the activity: at most 1,000 characters, never empty.
  public var name = ""
  /// The time when the activity begins, shown in `startZone`; nil if it is not given.
  public var start: Date?
  /// The IANA name of the time zone in which the activity begins; nil if it is not given or `start` is nil.
  public var startZone: String?
  /// The time when the activity ends, shown in `endZone`; nil if it is not given.
  public var end: Date?
  /// The IANA name of the time zone in which the activity ends; nil if it is not given or `end` is nil.
  public var endZone: String?
  /// The cost of the activity; nil if it is not given.
  public var cost: Money?
  /// How much of the cost has been paid.
  public var payment = Payment.unpaid
  /// Notes about the activity, at most 10,000 characters long.
  public var notes = ""
  /// The id of the organization that provides the activity. Nil, or the id of an organization that no longer exists,
  /// means ``Organization/noneID``.
  public var organizationID: Organization.ID?
  /// The reservation number.
  public var reservation = ""
  /// The name of the place, if the place is not the address of the organization.
  public var customLocationName = ""
  /// The id of the place's own ``Address``, which is a separate record; nil if there is none.
  public var addressID: Address.ID?
  /// Whether the app hides the place on its maps.
  public var isLocationHidden = false
  public var origin = RecordOrigin()

  public init(id: ID) {
    self.id = id
    tripID = .zero
  }

  /// Creates a new activity.
  public init(
    name: String, tripID: Trip.ID, start: Date? = nil, end: Date? = nil, zone: String? = nil,
    cost: Money? = nil, id: ID = .new()
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
    Kind.activity, id: \.id,
    [
      .id("trip", \.tripID), .text("name", \.name), .time("start", \.start, zone: \.startZone),
      .time("end", \.end, zone: \.endZone), .field("cost", \.cost),
      .field("paid", \.payment, absent: .unpaid), .text("notes", \.notes),
      .field("organizationId", \.organizationID),
      .text("reservation", \.reservation), .text("customLocationName", \.customLocationName),
      .field("hideLocation", \.isLocationHidden, absent: false),
      .field("address", \.addressID),
    ])
}
