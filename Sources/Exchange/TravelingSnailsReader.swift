import JSONDocument
import Records
import Wire

/// Reads Traveling Snails' JSON export.
struct TravelingSnailsReader {
  private var builder = PlanBuilder()
  /// The ids of the organizations named "None", all of which mean Waymark's single organization None.
  private var noneIDs: Set<RecordID> = []

  mutating func read(_ text: JSONText) throws(ExchangeError) -> ImportPlan {
    let keys = ["addresses", "organizations", "trips", "attachments"]
    try ExchangeFormat.travelingSnails.checkLists(keys, of: text)
    builder.noteUnknownKeys(text.keys, known: Self.topKeys, in: "the file")
    each(text.list("addresses"), "addresses") { (reader, row, _) throws(RowError) in
      try reader.readAddress(row)
    }
    each(text.list("organizations"), "organizations") { (reader, row, _) throws(RowError) in
      try reader.readOrganization(row)
    }
    each(text.list("trips"), "trips") { (reader, row, place) throws(RowError) in
      try reader.readTrip(row, at: place)
    }
    each(text.list("attachments"), "attachments") { (reader, row, place) throws(RowError) in
      try reader.readAttachment(row, at: place)
    }
    return builder.plan(.travelingSnails)
  }

  private static let topKeys: Set = [
    "exportInfo", "trips", "organizations", "addresses", "attachments",
  ]

  /// Runs a step for each row; reports rows that are skipped.
  private mutating func each(
    _ rows: (some Sequence<JSON>)?, _ section: String,
    _ step: (inout TravelingSnailsReader, Row, Location) throws(RowError) -> Void
  ) {
    guard let rows else { return }
    for (index, json) in rows.enumerated() {
      let place = Location(section, index)
      do throws(RowError) {
        try step(&self, try Row(json, emptyTextIsNull: true), place)
      } catch {
        builder.skip(place, error.reason)
      }
    }
  }

  // MARK: Addresses and organizations

  private static let addressKeys = ["street", "city", "state", "country", "postalCode", "formattedAddress"]
  private static let allAddressKeys = Set(addressKeys + ["id", "latitude", "longitude", "hasLocation"])

  private mutating func readAddress(_ row: Row) throws(RowError) {
    try builder.add(try address(row, id: try row.id()), isComplete: false)
  }

  private mutating func address(_ row: Row, id: RecordID) throws(RowError) -> RecordDraft {
    var draft = RecordDraft(Kind.address, id)
    try row.read(Self.addressKeys, of: Kind.address, into: &draft)
    let place = try row.coordinate()
    // In this format, the coordinates 0, 0 mean that the place is unknown, unless a key of ours says otherwise.
    let isKnown = try row.bool("hasLocation") ?? false
    let isUnknown = !isKnown && place == .array([.float(0), .float(0)])
    draft[Kind.address.number("location")] = isUnknown ? .null : place
    builder.keepUnknownKeys(row.json, known: Self.allAddressKeys, in: "addresses", of: &draft)
    return draft
  }

  private static let organizationKeys = [
    "name", "phone", "email", "website", "logoURL", "cachedLogoFilename",
  ]
  private static let allOrganizationKeys = Set(organizationKeys + ["id", "address"])

  private mutating func readOrganization(_ row: Row) throws(RowError) {
    let kind = Kind.organization
    let sourceID = try row.id()
    let isNone = try row.text("name") == FixedRecords.noneName
    var draft = RecordDraft(kind, isNone ? FixedRecords.noneID : sourceID)
    try row.read(Self.organizationKeys, of: kind, into: &draft)
    draft[kind.number("address")] = try addressReference(row, "address", of: Kind.organization, sourceID)
    builder.keepUnknownKeys(row.json, known: Self.allOrganizationKeys, in: "organizations", of: &draft)
    guard isNone else { return try builder.add(draft, isComplete: false) }
    noneIDs.insert(sourceID)
    try addNone(draft)
  }

  /// Adds the organization None, which exists only once: if a file has several, each adds the values that the earlier
  /// ones lack.
  private mutating func addNone(_ row: RecordDraft) throws(RowError) {
    let kind = Kind.organization
    var merged = builder.draft(kind, FixedRecords.noneID) ?? RecordDraft(kind, FixedRecords.noneID)
    for field in row.fields where field.number != kind.number("name") && field.value != .null {
      if merged[field.number] == nil { merged[field.number] = field.value }
    }
    do throws(FieldError) {
      try kind.validate(merged, isNew: false)
    } catch {
      throw RowError(error.description)
    }
    if !merged.fields.isEmpty { builder.put([merged]) }
  }

  /// Returns a reference to the address inside another row, which is usually in the list of addresses too.
  ///
  /// - Parameters:
  ///   - key: the key of the address.
  ///   - kind: the kind of the other row.
  ///   - id: the id of the other row.
  private mutating func addressReference(
    _ row: Row, _ key: String, of kind: Kind, _ id: RecordID
  ) throws(RowError) -> Value {
    guard let json = row.present(key) else { return .null }
    let owner = "\(kind.name) \(id.uuid)"
    let inner: Row
    do throws(RowError) {
      inner = try Row(json, emptyTextIsNull: true)
      let id = try inner.identifier("id") ?? RecordID(kind: Kind.address, key: owner)
      let draft = try address(inner, id: id)
      if let listed = builder.draft(Kind.address, id) {
        if listed != draft {
          builder.count("\(kind.plural): an address differs from the one in \"addresses\", which is used")
        }
      } else {
        try builder.add(draft, isComplete: false)
      }
      return .bytes(id.bytes)
    } catch {
      throw RowError("\(key): \(error.reason)")
    }
  }

  // MARK: Trips

  private static let tripKeys = ["name", "notes", "createdDate", "isProtected"]
  private static let allTripKeys = Set(
    tripKeys + [
      "id", "startDate", "endDate", "hasStartDate", "hasEndDate", "totalCost", "transportation", "lodging",
      "activities", "embeddedTransportation", "embeddedLodging", "embeddedActivities",
    ])

  private static let sections: [(ids: String, rows: String, kind: Kind)] = [
    ("transportation", "embeddedTransportation", Kind.transportation),
    ("lodging", "embeddedLodging", Kind.lodging),
    ("activities", "embeddedActivities", Kind.activity),
  ]

  private mutating func readTrip(_ row: Row, at place: Location) throws(RowError) {
    let kind = Kind.trip
    let id = try row.id()
    var draft = RecordDraft(kind, id)
    try row.read(Self.tripKeys, of: kind, into: &draft)
    if draft[kind.number("name")] == .null { draft[kind.number("name")] = .text("") }
    draft[kind.number("startDate")] = try date(row, "startDate", has: "hasStartDate")
    draft[kind.number("endDate")] = try date(row, "endDate", has: "hasEndDate")
    builder.keepUnknownKeys(row.json, known: Self.allTripKeys, in: "trips", of: &draft)
    try builder.add(draft, isComplete: false)
    var total: ExactDecimal? = .zero
    for section in Self.sections {
      readItems(row, section, trip: id, at: place, total: &total)
    }
    checkTotal(row, total, at: place)
  }

  /// Returns a date; null if its flag is false, because the date is a placeholder then.
  private func date(_ row: Row, _ key: String, has flag: String) throws(RowError) -> Value {
    guard try row.bool(flag) ?? true else { return .null }
    return try row.time(key).map(Value.integer) ?? .null
  }

  private mutating func readItems(
    _ trip: Row, _ section: (ids: String, rows: String, kind: Kind), trip id: RecordID, at place: Location,
    total: inout ExactDecimal?
  ) {
    let rows = trip.present(section.rows)?.array ?? []
    var read: Set<RecordID> = []
    each(rows, "\(place).\(section.rows)") { (reader, row, _) throws(RowError) in
      let draft = try reader.item(row, section.kind, trip: id)
      try reader.builder.add(draft, isComplete: false)
      read.insert(draft.id)
      if case .text(let amount) = (draft[Self.costField] ?? .null).part(0), let cost = ExactDecimal(amount) {
        total = try? total?.adding(cost)
      }
    }
    for id in trip.present(section.ids)?.array ?? [] {
      guard let id = id.string.flatMap({ RecordID(uuid: $0) }), !read.contains(id) else { continue }
      builder.warn("\(place): \(section.ids) names \(id.uuid), which is not in \(section.rows)")
    }
  }

  private static let costField = Kind.lodging.number("cost")
  private static let itemKeys = ["name", "paid", "notes"]
  private static let transportationKeys = itemKeys + ["type", "confirmation"]
  private static let placeKeys = itemKeys + ["reservation", "customLocationName", "hideLocation"]
  private static let allItemKeys = Set(
    transportationKeys + placeKeys + [
      "id", "start", "end", "startTZId", "endTZId", "cost", "exactCost", "currency",
      "organizationId", TravelingSnailsWriter.placeAddressKey,
    ])

  private mutating func item(_ row: Row, _ kind: Kind, trip: RecordID) throws(RowError) -> RecordDraft {
    var draft = RecordDraft(kind, try row.id())
    try row.read(
      kind == Kind.transportation ? Self.transportationKeys : Self.placeKeys, of: kind, into: &draft)
    if draft[kind.number("name")] == .null { draft[kind.number("name")] = .text("") }
    draft[kind.number("trip")] = .bytes(trip.bytes)
    draft[kind.number("start")] = try row.instant("start", zone: "startTZId")
    draft[kind.number("end")] = try row.instant("end", zone: "endTZId")
    draft[kind.number("cost")] = try row.money("cost", exact: "exactCost", currency: "currency")
    draft[kind.number("organizationId")] = try organization(row)
    if let address = kind.addressField {
      draft[address.number] = try addressReference(
        row, TravelingSnailsWriter.placeAddressKey, of: kind, draft.id)
    }
    builder.keepUnknownKeys(row.json, known: Self.allItemKeys, in: kind.plural, of: &draft)
    return draft
  }

  private mutating func organization(_ row: Row) throws(RowError) -> Value {
    guard let id = try row.identifier("organizationId") else { return .null }
    if noneIDs.contains(id) { return .bytes(FixedRecords.noneID.bytes) }
    if builder.draft(Kind.organization, id) == nil, id != FixedRecords.noneID {
      builder.count("an item names an organization that is not in the file")
    }
    return .bytes(id.bytes)
  }

  /// Compares a trip's total with the sum of its costs. The total went through a binary float, so only a significant
  /// difference is reported.
  private mutating func checkTotal(_ row: Row, _ total: ExactDecimal?, at place: Location) {
    guard let total, let stated = row.present("totalCost")?.float,
      let computed = Double(total.description)
    else { return }
    guard abs(stated - computed) > 1e-9 * max(1, abs(stated), abs(computed)) else { return }
    builder.warn("\(place): totalCost is \(JSON.float(stated).text()), but its items cost \(total)")
  }

  // MARK: Attachments

  private static let attachmentKeys = [
    "fileName", "originalFileName", "fileSize", "mimeType", "fileExtension", "createdDate",
    "fileDescription",
  ]
  private static let allAttachmentKeys = Set(attachmentKeys + ["id", "parentType", "parentId", "fileData"])

  private mutating func readAttachment(_ row: Row, at place: Location) throws(RowError) {
    let kind = Kind.attachment
    var draft = RecordDraft(kind, try row.id())
    try row.read(Self.attachmentKeys, of: kind, into: &draft)
    draft[kind.number("parent")] = try owner(row)
    builder.keepUnknownKeys(row.json, known: Self.allAttachmentKeys, in: "attachments", of: &draft)
    guard let bytes = try row.bytes("fileData") else {
      // An attachment without data in the file leaves the data that Waymark already has unchanged.
      return try builder.add(draft, isComplete: false)
    }
    if case .integer(let size) = draft[kind.number("fileSize")], size != bytes.count {
      builder.warn("\(place): fileSize is \(size), but its data has \(bytes.count) bytes")
    }
    draft[kind.number("fileData")] = .bytes(bytes)
    try builder.add(draft, isComplete: false)
  }

  private mutating func owner(_ row: Row) throws(RowError) -> Value {
    guard let word = try row.text("parentType"), let id = try row.identifier("parentId") else {
      builder.count("attachments: an attachment has no parent")
      return .null
    }
    guard let kind = Kind.owners.first(where: { $0.name == word }) else {
      let words = Kind.owners.map(\.name).joined(separator: ", ")
      throw RowError("parentType cannot be \"\(word)\": expected one of \(words)")
    }
    if builder.draft(kind, id) == nil {
      builder.count("attachments: an attachment belongs to a row that is not in the file")
    }
    return .owner(kind, id)
  }
}
