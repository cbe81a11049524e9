public import Platform
import Records
import Storage

/// A part of a journey without a change: a flight, or a ride on one train.
///
/// The journey itself is a ``Transportation``, which stays the item of the trip's timeline. Its legs are read in their
/// order with `Leg.all.filter(\.transportationID == journey.id)`.
public struct Leg: Record {
  public let id: ID
  /// The id of the journey that the leg belongs to. The leg is hidden while the journey is hidden.
  public var transportationID: Transportation.ID
  /// The position of the leg in the journey, 0 to 100,000; nil if it follows from the departure.
  public var sortIndex: Int?
  /// The means of transport; nil if it is not given.
  public var type: TransportationType?
  /// The time of departure, shown in `departureZone`; nil if it is not given.
  public var departure: Date?
  /// The IANA name of the time zone of the departure; nil if it is not given or `departure` is nil.
  public var departureZone: String?
  /// The name of the place of departure.
  public var departureLocationName = ""
  /// The id of the ``Address`` of the place of departure; nil if there is none.
  public var departureAddressID: Address.ID?
  /// The gate or platform of the departure.
  public var departureGateOrPlatform = ""
  /// The terminal of the departure.
  public var departureTerminal = ""
  /// The time of arrival, shown in `arrivalZone`; nil if it is not given.
  public var arrival: Date?
  /// The IANA name of the time zone of the arrival; nil if it is not given or `arrival` is nil.
  public var arrivalZone: String?
  /// The name of the place of arrival.
  public var arrivalLocationName = ""
  /// The id of the ``Address`` of the place of arrival; nil if there is none.
  public var arrivalAddressID: Address.ID?
  /// The gate or platform of the arrival.
  public var arrivalGateOrPlatform = ""
  /// The terminal of the arrival.
  public var arrivalTerminal = ""
  /// The id of the organization that carries the passenger. Nil, or the id of an organization that no longer exists,
  /// means ``Organization/noneID``.
  public var organizationID: Organization.ID?
  /// The number of the flight or train.
  public var serviceNumber = ""
  /// The booking number.
  public var confirmation = ""
  /// The number of the seat.
  public var seatNumber = ""
  /// The class, such as `economy` or `first`.
  public var cabinClass = ""
  /// The position of the seat, such as `window` or `aisle`.
  public var seatType = ""
  /// The boarding group.
  public var boardingGroup = ""
  /// Notes about the leg, at most 10,000 characters long.
  public var notes = ""
  public var origin = RecordOrigin()

  public init(id: ID) {
    self.id = id
    transportationID = .zero
  }

  /// Creates a new leg of a journey.
  public init(
    transportationID: Transportation.ID, from departureLocationName: String = "",
    to arrivalLocationName: String = "", serviceNumber: String = "", sortIndex: Int? = nil,
    id: ID = .new()
  ) {
    self.id = id
    self.transportationID = transportationID
    self.departureLocationName = departureLocationName
    self.arrivalLocationName = arrivalLocationName
    self.serviceNumber = serviceNumber
    self.sortIndex = sortIndex
  }

  public static let fields = RecordFields<Leg>(
    Kind.leg, id: \.id,
    [
      .id("transportationID", \.transportationID), .field("sortIndex", \.sortIndex), .field("type", \.type),
      .time("departure", \.departure, zone: \.departureZone),
      .text("departureLocationName", \.departureLocationName),
      .field("departureAddressID", \.departureAddressID),
      .text("departureGateOrPlatform", \.departureGateOrPlatform),
      .text("departureTerminal", \.departureTerminal),
      .time("arrival", \.arrival, zone: \.arrivalZone),
      .text("arrivalLocationName", \.arrivalLocationName), .field("arrivalAddressID", \.arrivalAddressID),
      .text("arrivalGateOrPlatform", \.arrivalGateOrPlatform), .text("arrivalTerminal", \.arrivalTerminal),
      .field("organizationId", \.organizationID), .text("serviceNumber", \.serviceNumber),
      .text("confirmation", \.confirmation), .text("seatNumber", \.seatNumber),
      .text("cabinClass", \.cabinClass), .text("seatType", \.seatType),
      .text("boardingGroup", \.boardingGroup), .text("notes", \.notes),
    ])
}
