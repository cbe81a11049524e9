import FileFormat
import JSONDocument
import Records
import Wire

/// Writes Traveling Snails' JSON export, which has empty strings for missing references and texts.
///
/// Other missing values have no key. The application then uses its default: no cost is 0 there, and an item without times
/// is at the time of the import, because the application has no items without times. Waymark reads them as missing.
struct TravelingSnailsWriter {
  private let source: ExportSource
  private let now: Int64
  private let onlyTrip: RecordID?
  private var warnings: [String] = []
  private var files: [FileReference] = []
  /// The items that are exported.
  private var usedItems: Set<RecordID> = []
  /// The organizations to which the exported items refer.
  private var usedOrganizations: Set<RecordID> = []
  /// The addresses of the exported items.
  private var usedAddresses: Set<RecordID> = []
  /// The id of the organization None in the file: the one that an imported file had, or that of Waymark.
  private let noneID: String
  /// The legs of each journey, in their order.
  private let legs: [RecordID: [RecordDraft]]

  /// The key of a lodging's or an activity's own address, as the application spells it.
  static let placeAddressKey = "customAddresss"
  /// The key of the list of legs in the row of a transportation.
  static let legsKey = "legs"
  /// The key of the journey in the row of a leg, which is written only where a file had it: the row is inside that of the
  /// journey.
  static let legJourneyKey = "transportationID"
  /// The texts of a leg.
  static let legTexts = [
    "departureLocationName", "departureGateOrPlatform", "departureTerminal", "arrivalLocationName",
    "arrivalGateOrPlatform", "arrivalTerminal", "serviceNumber", "confirmation", "seatNumber", "cabinClass",
    "seatType", "boardingGroup", "notes",
  ]
  /// The key of the object about the file itself.
  static let infoKey = "exportInfo"
  static let infoKeys: Set = ["version", "timestamp", "format", "includesAttachments"]

  init(source: ExportSource, now: Int64, trip: RecordID?) {
    self.source = source
    self.now = now
    onlyTrip = trip
    noneID = Self.noneID(in: source)
    legs = Dictionary(grouping: source.legs) { $0.reference(Self.legJourneyKey) ?? $0.id }
  }

  private static func noneID(in source: ExportSource) -> String {
    let none = source.record(Kind.organization, FixedRecords.noneID)
    let kept = none.flatMap { OtherKeys(of: $0)[OtherKeys.idOfNone]?.string }.flatMap { RecordID(uuid: $0) }
    guard let kept, source.record(Kind.organization, kept) == nil else { return FixedRecords.noneID.uuid }
    return kept.uuid
  }

  private func text(ofOrganization id: RecordID) -> String { id == FixedRecords.noneID ? noneID : id.uuid }

  mutating func write() -> ExportedFile {
    let trips = trips()
    let organizations = organizations()
    // What belongs to the whole file does not belong to a part of it.
    let none =
      onlyTrip == nil ? organizations.records[0] : RecordDraft(Kind.organization, FixedRecords.noneID)
    var info: JSON = [
      "version": "1.0", "timestamp": fileTime(now), "format": "json", "includesAttachments": true,
    ]
    info.addOtherKeys(of: none, inside: Self.infoKey)
    var file: JSON = [
      Self.infoKey: info,
      "trips": .array(trips),
      "organizations": .array(organizations.rows),
      "addresses": .array(addresses(organizations.records)),
      "attachments": .array(attachments()),
    ]
    file.addOtherKeys(of: none, inside: OtherKeys.ofFile)
    return ExportedFile(file, .pretty, files: files, warnings: warnings)
  }

  private func text(_ record: RecordDraft, _ names: [String]) -> [JSON.Member] {
    names.map { .init($0, .string(record.text($0) ?? "")) }
  }

  // MARK: Trips

  private static let sections: [(kind: Kind, ids: String, rows: String)] = [
    (Kind.transportation, "transportation", "embeddedTransportation"),
    (Kind.lodging, "lodging", "embeddedLodging"),
    (Kind.activity, "activities", "embeddedActivities"),
  ]

  private mutating func trips() -> [JSON] {
    let trips = source.records(Kind.trip) { $0.integer("startDate") ?? Int64.max }
      .filter { onlyTrip == nil || $0.id == onlyTrip }
    var itemsOfTrips: [Kind: [RecordID: [RecordDraft]]] = [:]
    for section in Self.sections {
      for item in source.records(section.kind, by: { $0.held("start").time ?? Int64.max }) {
        guard let trip = item.reference("trip"), source.record(Kind.trip, trip) != nil else {
          warnings.append("\(section.kind.name) \(item.id.uuid) belongs to no trip and is left out")
          continue
        }
        itemsOfTrips[section.kind, default: [:]][trip, default: []].append(item)
      }
    }
    return trips.map { trip in
      self.trip(trip, items: itemsOfTrips.mapValues { $0[trip.id] ?? [] })
    }
  }

  private mutating func trip(_ trip: RecordDraft, items: [Kind: [RecordDraft]]) -> JSON {
    let start = trip.integer("startDate")
    let end = trip.integer("endDate")
    var members: [JSON.Member] =
      [.init("id", .string(trip.id.uuid))] + text(trip, ["name", "notes"])
    members += [
      .init("hasStartDate", .bool(start != nil)), .init("hasEndDate", .bool(end != nil)),
      .init("totalCost", total(items.values.flatMap { $0 })),
    ]
    members += time(trip, "createdDate")
    // The application itself writes these two where the flags say that there is no date.
    members += fileTimes("startDate", start ?? Placeholders.distantPast)
    members += fileTimes("endDate", end ?? Placeholders.distantFuture)
    members += flag(trip, "isProtected")
    for section in Self.sections {
      let rows = items[section.kind] ?? []
      members.append(.init(section.ids, .array(rows.map { .string($0.id.uuid) })))
      members.append(.init(section.rows, .array(rows.map { item($0) })))
    }
    return row(members, of: trip)
  }

  /// Returns the sum over all items as Traveling Snails computes it, without regard to currencies.
  private func total(_ items: [RecordDraft]) -> JSON {
    var sum = ExactDecimal.zero
    for item in items {
      guard case .text(let text) = item.held("cost").part(0), let cost = ExactDecimal(text) else {
        continue
      }
      guard let next = try? sum.adding(cost) else { return .float(Double(sum.description) ?? 0) }
      sum = next
    }
    return .number(sum.trimmed.description)
  }

  private mutating func item(_ item: RecordDraft) -> JSON {
    usedItems.insert(item.id)
    let organization = item.reference("organizationId")
    if let organization { usedOrganizations.insert(organization) }
    var members: [JSON.Member] =
      [.init("id", .string(item.id.uuid))] + text(item, ["name", "notes"])
    members += instant(item, "start", zone: "startTZId") + instant(item, "end", zone: "endTZId")
    members += price(item) + word(item, "paid")
    members.append(.init("organizationId", .string(organization.map(text(ofOrganization:)) ?? "")))
    if item.kind == Kind.transportation {
      members += word(item, "type") + text(item, ["confirmation"])
      if let legs = legs[item.id] { members.append(.init(Self.legsKey, .array(legs.map { leg($0) }))) }
    } else {
      members += text(item, ["reservation", "customLocationName"]) + flag(item, "hideLocation")
      if let address = item.reference("address").flatMap({ source.record(Kind.address, $0) }) {
        usedAddresses.insert(address.id)
        members.append(.init(Self.placeAddressKey, self.address(address, of: item, Self.placeAddressKey)))
      }
    }
    return row(members, of: item, besides: [Self.placeAddressKey])
  }

  /// Returns the row of a leg, which has only the keys of values that the leg has. Its times have their fractions of a
  /// second, because the application does not read them.
  private mutating func leg(_ leg: RecordDraft) -> JSON {
    var members: [JSON.Member] = [.init("id", .string(leg.id.uuid))]
    if let index = leg.integer("sortIndex") { members.append(.init("sortIndex", .integer(index))) }
    for name in ["type"] + Self.legTexts { members += word(leg, name) }
    for (key, zone) in [("departure", "departureTZId"), ("arrival", "arrivalTZId")] {
      let value = leg.held(key)
      guard let time = value.time else { continue }
      members.append(.init(key, .string(timeText(milliseconds: time))))
      if let name = value.part(1).fileJSON { members.append(.init(zone, name)) }
    }
    for name in ["departureAddressID", "arrivalAddressID", "organizationId"] {
      guard let id = leg.reference(name) else { continue }
      if name == "organizationId" {
        members.append(.init(name, .string(text(ofOrganization: id))))
        usedOrganizations.insert(id)
      } else {
        members.append(.init(name, .string(id.uuid)))
        usedAddresses.insert(id)
      }
    }
    var row = row(members, of: leg)
    let journey = leg.reference(Self.legJourneyKey)
    if let id = row[Self.legJourneyKey]?.string.flatMap({ RecordID(uuid: $0) }), id != journey {
      row[Self.legJourneyKey] = .text(journey?.uuid)
    }
    return row
  }

  /// - Parameter inner: keys whose objects are rows of their own.
  private func row(_ members: [JSON.Member], of record: RecordDraft, besides inner: Set<String> = []) -> JSON
  {
    var row: JSON = .object(members)
    row.addOtherKeys(of: record, besides: inner)
    return row
  }

  private func word(_ record: RecordDraft, _ name: String) -> [JSON.Member] {
    record.text(name).map { [.init(name, .string($0))] } ?? []
  }

  private func flag(_ record: RecordDraft, _ name: String) -> [JSON.Member] {
    record.bool(name).map { [.init(name, .bool($0))] } ?? []
  }

  private func time(_ record: RecordDraft, _ name: String) -> [JSON.Member] {
    record.integer(name).map { fileTimes(name, $0) } ?? []
  }

  private func instant(_ item: RecordDraft, _ key: String, zone: String) -> [JSON.Member] {
    let value = item.held(key)
    guard let time = value.time else { return [] }
    return fileTimes(key, time) + (value.part(1).fileJSON.map { [.init(zone, $0)] } ?? [])
  }

  /// Returns a price with its exact digits and its currency. Traveling Snails has no currencies and ignores the key for
  /// them, but a Waymark import uses it.
  private func price(_ item: RecordDraft) -> [JSON.Member] {
    let cost = item.held("cost")
    guard case .text(let amount) = cost.part(0) else { return [] }
    var price = [JSON.Member("cost", .number(amount))]
    // An importer assumes that a number with more than 15 digits went through a binary float.
    if ExactDecimal(jsonNumber: amount)?.description != amount {
      price.append(.init("exactCost", .string(amount)))
    }
    guard case .text(let currency) = cost.part(1) else { return price }
    return price + [.init("currency", .string(currency))]
  }

  // MARK: Organizations and addresses

  private func organizations() -> (rows: [JSON], records: [RecordDraft]) {
    let others = source.records(Kind.organization) { ($0.text("name") ?? "").lowercased() }
      .filter { $0.id != FixedRecords.noneID && (onlyTrip == nil || usedOrganizations.contains($0.id)) }
    let none =
      source.record(Kind.organization, FixedRecords.noneID)
      ?? RecordDraft(Kind.organization, FixedRecords.noneID)
    let records = [none] + others
    return (records.map(organization), records)
  }

  private func organization(_ record: RecordDraft) -> JSON {
    let name = record.id == FixedRecords.noneID ? FixedRecords.noneName : record.text("name") ?? ""
    let address = record.reference("address").flatMap { source.record(Kind.address, $0) }
    return row(
      [.init("id", .string(text(ofOrganization: record.id))), .init("name", .string(name))]
        + text(record, ["phone", "email", "website", "logoURL", "cachedLogoFilename"])
        + [.init("address", address.map { self.address($0, of: record, "address") } ?? .null)],
      of: record,
      besides: record.id == FixedRecords.noneID ? ["address", Self.infoKey, OtherKeys.ofFile] : ["address"])
  }

  private func addresses(_ organizations: [RecordDraft]) -> [JSON] {
    let used = usedAddresses.union(organizations.compactMap { $0.reference("address") })
    return source.records(Kind.address).filter { onlyTrip == nil || used.contains($0.id) }
      .map { row(address($0), of: $0) }
  }

  /// Returns the row of an address inside another row. Where the two differed in a file, the other record has the keys.
  private func address(_ record: RecordDraft, of owner: RecordDraft, _ key: String) -> JSON {
    guard OtherKeys(of: owner).inside(key) != nil else { return row(address(record), of: record) }
    var row: JSON = .object(address(record))
    row.addOtherKeys(of: owner, inside: key)
    return row
  }

  private func address(_ record: RecordDraft) -> [JSON.Member] {
    let location = record.held("location")
    // The application itself writes 0, 0 for an unknown place, so a place that is really there is marked.
    let isZero = location == .array([.float(0), .float(0)])
    return [.init("id", .string(record.id.uuid))]
      + text(record, ["street", "city", "state", "country", "postalCode", "formattedAddress"])
      + [
        .init("latitude", location.part(0).fileJSON ?? 0),
        .init("longitude", location.part(1).fileJSON ?? 0),
      ] + (isZero ? [.init("hasLocation", true)] : [])
  }

  // MARK: Attachments

  private mutating func attachments() -> [JSON] {
    var rows: [JSON] = []
    for record in source.records(Kind.attachment) {
      let owner = record.held("parent").part(1).recordID
      if onlyTrip != nil, !(owner.map(usedItems.contains) ?? false) { continue }
      rows.append(attachment(record))
    }
    return rows
  }

  private mutating func attachment(_ record: RecordDraft) -> JSON {
    let parent = record.held("parent")
    var kind: Kind?
    if case .integer(let number) = parent.part(0) { kind = source.schema.kind(number: number) }
    var members: [JSON.Member] =
      [.init("id", .string(record.id.uuid))]
      + text(
        record, ["fileName", "originalFileName", "mimeType", "fileExtension", "fileDescription"])
    if let size = record.integer("fileSize") { members.append(.init("fileSize", .integer(size))) }
    members += time(record, "createdDate")
    members += [
      .init("parentType", .string(kind?.name ?? "")),
      .init("parentId", .string(parent.part(1).recordID?.uuid ?? "")),
    ]
    let data = record.held("fileData")
    if let base64 = source.base64(data, &files) {
      members.append(.init("fileData", base64))
      if let size = Blob(data)?.byteCount, size > Limits.attachmentBytesMax {
        warnings.append(
          "the data of attachment \(record.id.uuid) is larger than \(Limits.attachmentBytesMax >> 20) MiB: "
            + "import does not read it back from this format")
      }
    } else if data != .null {
      warnings.append(
        "the data of attachment \(record.id.uuid) is incomplete on this device and is left out")
    }
    return row(members, of: record)
  }
}
