import JSONDocument
import Records
import Wire

/// A reservation in the schema.org vocabulary, as KItinerary adds it to an event.
struct Booking {
  private let json: JSON
  private let type: String
  /// The number of people that the reservation is for.
  private let count: Int

  /// Reads an event's reservation; nil if there is none that can be parsed. The event is then treated as an ordinary
  /// one.
  init?(_ event: CalendarEvent) {
    guard let line = event.component["X-KDE-KITINERARY-RESERVATION"],
      let parsed = (try? JSON.parse(line.value)) ?? (try? JSON.parse(line.text)),
      let first = parsed.array.map(\.first) ?? parsed,
      let type = first["@type"]?.string
    else { return nil }
    json = first
    self.type = type
    count = parsed.array?.count ?? 1
  }

  var isCancelled: Bool {
    let status = json["reservationStatus"]?.string ?? ""
    return status.hasSuffix("Cancelled")
  }

  private var subject: JSON { json["reservationFor"] ?? json }

  func draft(
    _ event: CalendarEvent, _ trip: RecordID, _ builder: inout PlanBuilder,
    _ organizations: inout OrganizationNames
  ) throws(RowError) -> RecordDraft {
    let kind = kind
    var draft = CalendarItem.draft(event, trip, kind)
    if event.start.isDay {
      if let start = time(startKeys, near: event) { draft[kind.number("start")] = start }
      if let end = time(endKeys, near: event) { draft[kind.number("end")] = end }
    }
    if kind == Kind.transportation { draft[kind.number("type")] = .text(vehicle) }
    let code = kind == Kind.transportation ? "confirmation" : "reservation"
    draft[kind.number(code)] = json["reservationNumber"]?.string.flatMap(\.nonEmpty).map(Value.text) ?? .null
    draft[kind.number("cost")] = cost
    draft[kind.number("organizationId")] = try organization(&builder, &organizations)
    if count > 1 { builder.count("events: a booking for several people is imported as one record") }
    return draft
  }

  private var kind: Kind {
    switch type {
    case "LodgingReservation": Kind.lodging
    case "FlightReservation", "TrainReservation", "BusReservation", "BoatReservation", "RentalCarReservation",
      "TaxiReservation":
      Kind.transportation
    default: Kind.activity
    }
  }

  private var vehicle: String {
    switch type {
    case "FlightReservation": "plane"
    case "TrainReservation": "train"
    case "BoatReservation": "boat"
    default: "car"
    }
  }

  // MARK: Times

  private var startKeys: [String] {
    ["checkinTime", "checkinDate", "departureTime", "pickupTime", "startTime", "startDate"]
  }

  private var endKeys: [String] {
    ["checkoutTime", "checkoutDate", "arrivalTime", "dropoffTime", "endTime", "endDate"]
  }

  private func time(_ keys: [String], near event: CalendarEvent) -> Value? {
    for key in keys {
      guard let found = json[key] ?? subject[key] else { continue }
      guard let text = found.string ?? found["@value"]?.string, let time = WrittenTime(text)?.milliseconds
      else {
        continue
      }
      let zone = found["timezone"]?.string ?? event.start.zone
      return .array([.integer(time), zone.map(Value.text) ?? .null])
    }
    return nil
  }

  // MARK: Price and organization

  private var cost: Value {
    guard let price = json["totalPrice"], let number = price.number ?? price.string,
      let amount = ExactDecimal(jsonNumber: number) ?? ExactDecimal(number)
    else { return .null }
    let currency = json["priceCurrency"]?.string
    let value = Value.array([.text(amount.description), currency.map(Value.text) ?? .null])
    return FieldType.money.accepts(value) ? value : .null
  }

  private func organization(
    _ builder: inout PlanBuilder, _ organizations: inout OrganizationNames
  ) throws(RowError) -> Value {
    guard type == "LodgingReservation" || type == "FoodEstablishmentReservation" else {
      return try organizations.reference(company, in: &builder)
    }
    let reference = try organizations.reference(
      subject["name"]?.string,
      details: [
        "phone": subject["telephone"]?.string, "website": subject["url"]?.string,
        "email": subject["email"]?.string,
      ], in: &builder)
    if let address = subject["address"] {
      organizations.putAddress(
        reference,
        [
          "street": address["streetAddress"]?.string, "city": address["addressLocality"]?.string,
          "state": address["addressRegion"]?.string, "country": address["addressCountry"]?.string,
          "postalCode": address["postalCode"]?.string,
        ], in: &builder)
    }
    return reference
  }

  /// The name of the carrier or the car rental company.
  private var company: String? {
    let holders = [
      subject["airline"], subject["trainCompany"], subject["busCompany"], subject["rentalCompany"],
      subject["provider"], json["provider"],
    ]
    return holders.lazy.compactMap { $0 }.compactMap { $0["name"]?.string ?? $0["iataCode"]?.string }.first
  }
}
