import Platform
import JSONDocument
import Records
import Wire

/// Reads Surmai's trip.json, which has one trip. The travellers' profiles are never read.
struct SurmaiReader {
  private let zones: ZoneOffsets
  private var builder = PlanBuilder()
  private var organizations = OrganizationNames(format: "surmai")
  /// The time zones of the trip's destinations, by name.
  private var destinations: [String: String] = [:]
  private var itemExpenses: Set<String> = []

  init(zones: ZoneOffsets) { self.zones = zones }

  private static let lists = [
    "transportations", "lodgings", "activities", "expenses", "attachments", "travellerProfiles",
  ]

  mutating func read(_ text: JSONText) throws(ExchangeError) -> ImportPlan {
    try ExchangeFormat.surmai.checkLists(Self.lists, of: text)
    guard let trip = text["trip"], trip.members != nil else {
      throw .wrongShape(place: "\"trip\"", expected: "an object")
    }
    builder.noteUnknownKeys(text.keys, known: Set(Self.lists + ["trip"]), in: "the file")
    let id: RecordID
    do throws(RowError) { id = try readTrip(trip) } catch {
      builder.skip(Location("trip"), error.reason)
      return builder.plan(.surmai)
    }
    readRows(text, id)
    return builder.plan(.surmai)
  }

  private mutating func readRows(_ text: JSONText, _ id: RecordID) {
    each(text, "transportations") { (reader, row, place) throws(RowError) in
      try reader.readTransportation(row, id, place)
    }
    each(text, "lodgings") { (reader, row, place) throws(RowError) in
      try reader.readPlace(row, Kind.lodging, id, place)
    }
    each(text, "activities") { (reader, row, place) throws(RowError) in
      try reader.readPlace(row, Kind.activity, id, place)
    }
    each(text, "expenses") { (reader, row, _) throws(RowError) in try reader.readExpense(row) }
    each(text, "attachments") { (_, _, _) throws(RowError) in
      throw RowError("trip.json has only the names of attachments, not their content")
    }
    let travellers = text.list("travellerProfiles").map { Array($0).count } ?? 0
    if travellers > 0 {
      builder.warn("travellerProfiles: left out (\(travellers)), because they may contain passport numbers")
    }
  }

  private mutating func each(
    _ text: JSONText, _ key: String, _ step: (inout SurmaiReader, Row, Location) throws(RowError) -> Void
  ) {
    guard let rows = text.list(key) else { return }
    for (index, json) in rows.enumerated() {
      let place = Location(key, index)
      do throws(RowError) {
        try step(&self, try Row(json, emptyTextIsNull: true), place)
      } catch {
        builder.skip(place, error.reason)
      }
    }
  }

  private func id(_ row: Row, _ kind: Kind) throws(RowError) -> RecordID {
    guard let text = try row.text("id") else { throw RowError("it has no id") }
    return RecordID(uuid: text) ?? RecordID(kind: kind, key: "surmai \(text)")
  }

  // MARK: Trip

  private static let tripKeys: Set = ["id", "name", "description", "notes", "startDate", "endDate"]
  private static let unheldTripKeys = [
    "destinations", "participants", "coverImage", "coverImageFileName", "budget", "travellers",
  ]

  private mutating func readTrip(_ json: JSON) throws(RowError) -> RecordID {
    let kind = Kind.trip
    let row = try Row(json, emptyTextIsNull: true)
    var draft = RecordDraft(kind, try id(row, kind))
    draft[kind.number("name")] = .text(try row.text("name") ?? "")
    draft[kind.number("notes")] = notes(try row.text("description"), try row.text("notes"))
    // These two are real UTC times, unlike all other times in the file.
    draft[kind.number("startDate")] = try row.time("startDate").map { .integer(wholeSecond($0)) } ?? .null
    draft[kind.number("endDate")] = try row.time("endDate").map { .integer(wholeSecond($0)) } ?? .null
    try builder.add(draft, isComplete: true)
    for place in row.present("destinations")?.array ?? [] {
      if let name = place["name"]?.string, let zone = zone(place) { destinations[name] = zone }
    }
    for key in Self.unheldTripKeys where isHeld(row.present(key)) {
      builder.count("trip: \"\(key)\" is not supported and is left out")
    }
    builder.noteUnknownKeys(json, known: Self.tripKeys.union(Self.unheldTripKeys), in: "trip")
    return draft.id
  }

  private func isHeld(_ json: JSON?) -> Bool {
    guard let json else { return false }
    return json != .string("") && json != .array([]) && json != .object([])
  }

  private func notes(_ parts: String?...) -> Value {
    let parts = parts.compactMap { $0?.trimmed.nonEmpty }
    return parts.isEmpty ? .null : .text(parts.joined(separator: "\n\n"))
  }

  // MARK: Items

  private mutating func item(_ row: Row, _ kind: Kind, _ trip: RecordID) throws(RowError) -> RecordDraft {
    var draft = RecordDraft(kind, try id(row, kind))
    draft[kind.number("trip")] = .bytes(trip.bytes)
    draft[kind.number("cost")] = try cost(row)
    if let expense = try row.text("expenseId") { itemExpenses.insert(expense) }
    if isHeld(row.present("attachments")) || isHeld(row.present("attachmentReferences")) {
      builder.count("an attachment of an item is not in trip.json and is left out")
    }
    return draft
  }

  private func cost(_ row: Row) throws(RowError) -> Value {
    guard let json = row.present("cost") else { return .null }
    let cost = try Row(json, emptyTextIsNull: true)
    let value = try cost.money("value", currency: "currency")
    guard value == .null || FieldType.money.accepts(value) else { throw row.refused("cost", json, "a price") }
    return value
  }

  /// Reads a time that the file marks as UTC, although it is a local time.
  private mutating func time(_ row: Row, _ key: String, _ zone: String?, _ place: Location) throws(RowError)
    -> Value
  {
    guard let json = row.present(key), json.string != "" else { return .null }
    guard let wall = json.string.flatMap({ WrittenTime($0) })?.wallMilliseconds else {
      throw row.refused(key, json, "a time such as 2027-06-11 07:50:00.000Z")
    }
    let second = wholeSecond(wall)
    if let zone, let time = zones.milliseconds(wall: second, zone: zone) {
      return .array([.integer(time), .text(zone)])
    }
    builder.warn(
      "\(place): \(key): the file gives no zone; the local time is kept as UTC")
    return .array([.integer(second), .null])
  }

  private func zone(_ place: JSON?) -> String? {
    guard let zone = place?["timezone"]?.string, zones.seconds(0, zone) != nil else { return nil }
    return zone
  }

  /// Returns the zone of a place, which is given as an object or as the name of one of the trip's destinations.
  private func zone(_ place: JSON?, named name: String?) -> String? {
    zone(place) ?? (place?.string ?? name).flatMap { destinations[$0] }
  }

  private static let vehicles = [
    "flight": "plane", "plane": "plane", "train": "train", "rail": "train", "car": "car", "rental_car": "car",
    "rentalcar": "car", "taxi": "car", "bus": "car", "boat": "boat", "ferry": "boat", "cruise": "boat",
    "bike": "bicycle", "bicycle": "bicycle", "walk": "walking", "walking": "walking",
  ]

  private mutating func readTransportation(_ row: Row, _ trip: RecordID, _ place: Location) throws(RowError) {
    let kind = Kind.transportation
    var draft = try item(row, kind, trip)
    let about = row.present("metadata")
    let (origin, destination) = (try row.text("origin"), try row.text("destination"))
    let route = [origin, destination].compactMap(\.self).joined(separator: " to ")
    let name = [about?["flightNumber"]?.string, route].compactMap(\.self).filter { !$0.isEmpty }
    let type = try row.text("type")
    draft[kind.number("name")] = .text(name.joined(separator: " ").nonEmpty ?? type ?? "")
    let from = zone(about?["origin"], named: origin)
    let to = zone(about?["destination"], named: destination)
    draft[kind.number("start")] = try time(row, "departure", from, place)
    draft[kind.number("end")] = try time(row, "arrival", to, place)
    draft[kind.number("confirmation")] =
      about?["reservation"]?.string.flatMap(\.nonEmpty).map(Value.text) ?? .null
    draft[kind.number("type")] = try vehicle(row)
    draft[kind.number("organizationId")] = try organizations.reference(provider(about), in: &builder)
    draft[kind.number("notes")] = notes(
      about?["seats"]?.string.flatMap(\.nonEmpty).map { "Seats: \($0)" },
      about?["originAddress"]?.string.flatMap(\.nonEmpty).map { "From: \($0)" },
      about?["destinationAddress"]?.string.flatMap(\.nonEmpty).map { "To: \($0)" }, try row.text("link"))
    try builder.add(draft, isComplete: true)
  }

  private mutating func vehicle(_ row: Row) throws(RowError) -> Value {
    guard let type = try row.text("type") else { return .null }
    if let word = Self.vehicles[type.lowercased()] {
      if type.lowercased() == "bus" { builder.count("transportations: a bus is imported as a car") }
      return .text(word)
    }
    builder.count("transportations: the type \"\(type.prefix(40))\" is unknown and is left out")
    return .null
  }

  /// Returns the name of a provider, which is given as an object with a name or as the name itself.
  private func provider(_ about: JSON?) -> String? {
    about?["provider"]?["name"]?.string ?? about?["provider"]?.string
  }

  private mutating func readPlace(_ row: Row, _ kind: Kind, _ trip: RecordID, _ place: Location)
    throws(RowError)
  {
    var draft = try item(row, kind, trip)
    let about = row.present("metadata")
    let zone = zone(about?["place"], named: nil)
    draft[kind.number("name")] = .text((try row.text("name") ?? "").trimmed)
    draft[kind.number("start")] = try time(row, "startDate", zone, place)
    draft[kind.number("end")] = try time(row, "endDate", zone, place)
    draft[kind.number("reservation")] = try row.text("confirmationCode").map(Value.text) ?? .null
    draft[kind.number("customLocationName")] =
      try row.text("address").map { .text($0.replacing("\r\n", with: "\n")) } ?? .null
    draft[kind.number("organizationId")] = try organizations.reference(provider(about), in: &builder)
    draft[kind.number("notes")] = notes(try row.text("description"), try row.text("link"))
    if kind == Kind.lodging, let type = try row.text("type"), type != "hotel" {
      builder.count("lodgings: the type \"\(type.prefix(40))\" is not supported and is left out")
    }
    try builder.add(draft, isComplete: true)
  }

  // MARK: Expenses

  /// Throws unless the expense belongs to an item, whose price it is; other expenses are not supported.
  private func readExpense(_ row: Row) throws(RowError) {
    guard let id = try row.text("id"), itemExpenses.contains(id) else {
      throw RowError(
        "an expense without an item is not supported: \((try row.text("name") ?? "").prefix(60))")
    }
  }
}
