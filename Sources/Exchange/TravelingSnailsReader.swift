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
    keepKeysOfFile(text)
    return builder.plan(.travelingSnails)
  }

  private static let topKeys: Set = [
    "exportInfo", "trips", "organizations", "addresses", "attachments",
  ]

  /// Keeps the unknown keys of the file itself with the organization None, which every file has.
  private mutating func keepKeysOfFile(_ text: JSONText) {
    let kind = Kind.organization
    var none = builder.draft(kind, FixedRecords.noneID) ?? RecordDraft(kind, FixedRecords.noneID)
    builder.keepUnknownKeys(
      text.object(besides: Self.topKeys), known: [], in: "the file", inside: OtherKeys.ofFile, of: &none)
    if let info = text[TravelingSnailsWriter.infoKey] {
      builder.keepUnknownKeys(
        info, known: TravelingSnailsWriter.infoKeys, in: TravelingSnailsWriter.infoKey,
        inside: TravelingSnailsWriter.infoKey, of: &none)
    }
    if !none.fields.isEmpty { builder.put([none]) }
  }

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
    builder.keepSpellings(
      row.json, known: Self.allAddressKeys, written: Self.blank(Self.addressKeys), of: &draft)
    builder.keepUnknownKeys(row.json, known: Self.allAddressKeys, in: "addresses", of: &draft)
    return draft
  }

  /// The texts that an export writes for texts that are missing.
  private static func blank(_ keys: [String]) -> [String: JSON] {
    Dictionary(uniqueKeysWithValues: keys.map { ($0, "") })
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
    draft[kind.number("address")] = try addressReference(row, "address", of: &draft, sourceID)
    builder.keepSpellings(
      row.json, known: Self.allOrganizationKeys,
      written: Self.blank(Self.organizationKeys).merging(["address": .null]) { $1 }, of: &draft)
    builder.keepUnknownKeys(row.json, known: Self.allOrganizationKeys, in: "organizations", of: &draft)
    guard isNone else { return try builder.add(draft, isComplete: false) }
    noneIDs.insert(sourceID)
    if sourceID != FixedRecords.noneID {
      var keys = OtherKeys(of: draft)
      keys.add(.init(OtherKeys.idOfNone, .string(sourceID.uuid)))
      draft.keep(keys)
    }
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
  ///   - owner: the draft of the other row, which keeps the unknown keys of an address that differs from the listed one.
  ///   - id: the id of the other row.
  private mutating func addressReference(
    _ row: Row, _ key: String, of owner: inout RecordDraft, _ id: RecordID
  ) throws(RowError) -> Value {
    guard let json = row.present(key) else { return .null }
    let kind = owner.kind
    let inner: Row
    do throws(RowError) {
      inner = try Row(json, emptyTextIsNull: true)
      let id = try inner.identifier("id") ?? RecordID(kind: Kind.address, key: "\(kind.name) \(id.uuid)")
      let draft = try address(inner, id: id)
      if let listed = builder.draft(Kind.address, id) {
        if listed != draft {
          builder.count("\(kind.plural): an address differs from the one in \"addresses\", which is used")
          var keys = OtherKeys(of: owner)
          keys.add(OtherKeys(of: draft).members, inside: key)
          owner.keep(keys)
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
    builder.keepSpellings(
      row.json, known: Self.allTripKeys, written: Self.blank(["name", "notes"]), of: &draft)
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
    each(rows, "\(place).\(section.rows)") { (reader, row, place) throws(RowError) in
      let draft = try reader.item(row, section.kind, trip: id)
      try reader.builder.add(draft, isComplete: false)
      read.insert(draft.id)
      reader.readLegs(row, of: draft, at: place)
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
  private static let commonKeys = [
    "id", "start", "end", "startTZId", "endTZId", "cost", "exactCost", "currency", "organizationId",
  ]
  private static let allTransportationKeys = Set(transportationKeys + commonKeys)
  private static let allPlaceKeys = Set(
    placeKeys + commonKeys + [TravelingSnailsWriter.placeAddressKey])
  /// What an export writes for missing values of an item.
  private static let blankItem = blank([
    "name", "notes", "organizationId", "confirmation", "reservation", "customLocationName",
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
        row, TravelingSnailsWriter.placeAddressKey, of: &draft, draft.id)
    }
    var known = kind == Kind.transportation ? Self.allTransportationKeys : Self.allPlaceKeys
    builder.keepSpellings(row.json, known: known, written: Self.blankItem, of: &draft)
    if legs(of: row, draft) != nil { known.insert(TravelingSnailsWriter.legsKey) }
    builder.keepUnknownKeys(row.json, known: known, in: kind.plural, of: &draft)
    return draft
  }

  // MARK: Legs

  /// The rows of a journey's legs; nil if it has no list of them.
  private func legs(of row: Row, _ item: RecordDraft) -> [JSON]? {
    item.kind == Kind.transportation ? row.present(TravelingSnailsWriter.legsKey)?.array : nil
  }

  private mutating func readLegs(_ row: Row, of item: RecordDraft, at place: Location) {
    let key = TravelingSnailsWriter.legsKey
    each(legs(of: row, item), "\(place).\(key)") { (reader, row, place) throws(RowError) in
      try reader.builder.add(
        try reader.leg(row, of: item.id, index: place.index ?? 0), isComplete: false)
    }
  }

  private static let legValues = ["sortIndex", "type", "departureAddressID", "arrivalAddressID"]
  private static let legTimes = ["departure", "departureTZId", "arrival", "arrivalTZId"]
  private static let allLegKeys = Set(
    TravelingSnailsWriter.legTexts + legValues + legTimes + ["id", "organizationId"])

  private mutating func leg(_ row: Row, of journey: RecordID, index: Int) throws(RowError) -> RecordDraft {
    let kind = Kind.leg
    let id = try row.identifier("id")
    var draft = RecordDraft(kind, id ?? RecordID(kind: kind, key: "transportation \(journey.uuid)/\(index)"))
    draft[kind.number("transportationID")] = .bytes(journey.bytes)
    // A missing text is no empty text here, because an export writes only what a leg has.
    try Row(row.json).read(TravelingSnailsWriter.legTexts, of: kind, into: &draft)
    try row.read(Self.legValues, of: kind, into: &draft)
    if id == nil, draft[kind.number("sortIndex")] == .null {
      draft[kind.number("sortIndex")] = .integer(Int64(index))
    }
    draft[kind.number("departure")] = try row.instant("departure", zone: "departureTZId")
    draft[kind.number("arrival")] = try row.instant("arrival", zone: "arrivalTZId")
    draft[kind.number("organizationId")] = try organization(row)
    builder.keepSpellings(row.json, known: Self.allLegKeys, of: &draft)
    let journeyKey = TravelingSnailsWriter.legJourneyKey
    if let journey = row.json[journeyKey] {
      var keys = OtherKeys(of: draft)
      keys.add(.init(journeyKey, journey))
      draft.keep(keys)
    }
    builder.keepUnknownKeys(row.json, known: Self.allLegKeys.union([journeyKey]), in: kind.plural, of: &draft)
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
  private static let attachmentTexts = [
    "fileName", "originalFileName", "mimeType", "fileExtension", "fileDescription",
  ]
  private static let allAttachmentKeys = Set(attachmentKeys + ["id", "parentType", "parentId", "fileData"])

  private mutating func readAttachment(_ row: Row, at place: Location) throws(RowError) {
    let kind = Kind.attachment
    var draft = RecordDraft(kind, try row.id())
    try row.read(Self.attachmentKeys, of: kind, into: &draft)
    draft[kind.number("parent")] = try owner(row)
    builder.keepSpellings(
      row.json, known: Self.allAttachmentKeys,
      written: Self.blank(Self.attachmentTexts + ["parentType", "parentId"]), of: &draft)
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
