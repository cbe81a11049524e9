import Exchange
import JSONDocument
import Records
import Replication
import Testing
import Wire

private func id(_ number: UInt64) -> RecordID { RecordID(Bytes16(7, number)) }

/// Every field of every kind that the two formats have, each with and without a value.
struct FieldRoundTripTests {
  private static let trips = [
    Kind.trip, Kind.lodging, Kind.transportation, Kind.leg, Kind.activity, Kind.organization, Kind.address,
    Kind.attachment,
  ]
  private static let habits = [Kind.habit, Kind.category, Kind.habitEntry, Kind.profile]

  @Test(arguments: trips) func `every field of a trip's records survives`(kind: Kind) throws {
    try check(kind, .travelingSnails)
  }

  @Test(arguments: habits) func `every field of a habit's records survives`(kind: Kind) throws {
    try check(kind, .ritualist)
  }

  private func check(_ kind: Kind, _ format: ExchangeFormat) throws {
    let full = kind.sample { $0.samples[0] }
    let bare = kind.sample { $0.isNeeded(in: kind) ? $0.samples[0] : .null }
    try check(full, format, "all fields")
    try check(bare, format, "required fields only")
    for field in kind.fields {
      if !field.isNeeded(in: kind) {
        var record = full
        record[field.number] = .null
        try check(record, format, "\(field.name) is null")
      }
      let placeholder = Placeholders.value(field, of: full).map { [$0] } ?? []
      for value in field.samples + placeholder where value != .text("") {
        var record = bare
        record[field.number] = value
        // Only a habit with a place has the other fields about the place.
        if kind == Kind.habit, (21...28).contains(field.number) {
          record[kind.number("location")] = .array([.float(41.5), .float(12.25)])
        }
        try check(record, format, "\(field.name) is \(value)")
      }
    }
  }

  private func check(_ record: RecordDraft, _ format: ExchangeFormat, _ what: String) throws {
    var source = ExportSource()
    for kind in Self.trips + Self.habits where kind != record.kind {
      source.add(kind.sample { $0.isNeeded(in: kind) ? $0.samples[0] : .null })
    }
    source.add(record)
    let file = Exporter.file(format, from: source, now: now)
    let plan = try Importer.plan(file.bytes)
    #expect(plan.skipped.isEmpty, "\(record.kind.name): \(what): \(plan.skipped)")
    #expect(
      !plan.warnings.contains { $0.contains("left out") }, "\(record.kind.name): \(what): \(plan.warnings)")
    let found = try #require(plan.drafts.first { $0.kind == record.kind && $0.id == record.id })
    for field in record.kind.fields where record.isWritten(field) {
      let (given, read) = (record[field.number] ?? .null, found[field.number] ?? .null)
      #expect(read == given, "\(record.kind.name).\(field.name), where \(what)")
    }
  }

  @Test func `no written time has a fraction, and no date is written for a missing one`() throws {
    let trip = Kind.trip.sample { $0.samples[0] }
    let lodging = Kind.lodging.sample { $0.isNeeded(in: Kind.lodging) ? $0.samples[0] : .null }
    let file = try JSON.parse(
      Exporter.file(.travelingSnails, from: ExportSource([trip, lodging]), now: now).bytes)
    let row = try #require(file["trips"]?[0])
    #expect(row["startDate"] == "2026-05-03T13:00:00Z")
    #expect(row["exactStartDate"] == "2026-05-03T13:00:00.123Z")
    let stay = try #require(row["embeddedLodging"]?[0])
    #expect(stay["start"] == nil && stay["end"] == nil && stay["cost"] == nil && stay["startTZId"] == nil)
  }

  @Test func `a value that another program wrote over a placeholder counts`() throws {
    let habit = Kind.habit.sample { $0.isNeeded(in: Kind.habit) ? $0.samples[0] : .null }
    let bytes = Exporter.file(.ritualist, from: ExportSource([habit]), now: now).bytes
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("\"placeholders\""))
    let changed = text.replacing("#2DA9E3", with: "#112233")
    let plan = try Importer.plan(Array(changed.utf8))
    let found = try #require(plan.drafts.first { $0.kind == Kind.habit })
    #expect(found[Kind.habit.number("colorHex")] == .text("#112233"))
    #expect(found[Kind.habit.number("isActive")] == .null)
  }

  @Test func `the exact form of a time counts only while the time is unchanged`() throws {
    let trip = Kind.trip.sample { $0.samples[0] }
    let text = String(
      decoding: Exporter.file(.travelingSnails, from: ExportSource([trip]), now: now).bytes, as: UTF8.self)
    let changed = text.replacing("\"2026-05-03T13:00:00Z\"", with: "\"2026-05-04T13:00:00Z\"")
    let plan = try Importer.plan(Array(changed.utf8))
    let found = try #require(plan.drafts.first { $0.kind == Kind.trip })
    #expect(found[Kind.trip.number("startDate")] == .integer(1_777_899_600_000))
  }
}

extension RecordDraft {
  /// Whether the formats have the field of this record. Without a place, a habit's other fields about it mean nothing.
  fileprivate func isWritten(_ field: Field) -> Bool {
    guard kind == Kind.habit, (21...28).contains(field.number) else { return true }
    return held(kind.number("location")) != .null
  }

  private func held(_ number: FieldNumber) -> Value { self[number] ?? .null }
}

extension Kind {
  fileprivate func sample(_ value: (Field) -> Value) -> RecordDraft {
    let recordID =
      switch self {
      case Kind.profile: FixedRecords.profile.id
      case Kind.category: RecordID(kind: Kind.category, key: "health")
      default: id(UInt64(number.rawValue))
      }
    return RecordDraft(
      self, recordID, Dictionary(uniqueKeysWithValues: fields.map { ($0.number, value($0)) }))
  }
}

extension Field {
  /// Whether no row can do without the field.
  fileprivate func isNeeded(in kind: Kind) -> Bool {
    rule.isRequired && name != "parent" || kind == Kind.category && name == "key"
  }

  /// Values of the field's type that its rule allows.
  fileprivate var samples: [Value] {
    let time: Value = .integer(1_777_813_200_123)
    switch type {
    case .bool: return [.bool(true), .bool(false)]
    case .integer: return [.integer(rule.integers?.lowerBound ?? 1), .integer(2)]
    case .float: return [.float(rule.numbers == nil ? 0.5 : 60.5)]
    case .text:
      if name == "key" { return [.text("health")] }
      if name == "otherKeys" { return [.text(#"{"budget":[1.50,null,{"a":"é","b":{}}],"seat":"12A"}"#)] }
      if rule.isColor { return [.text("#112233")] }
      if rule.isZone { return [.text("Europe/Rome")] }
      return rule.words.isEmpty ? [.text("„\(name.prefix(5))“ \\")] : rule.words.map(Value.text)
    case .keyReference: return [.text("health")]
    case .uuid: return [.bytes(id(99).bytes)]
    case .timestamp: return [time, .integer(1_777_813_200_000), .integer(0), .integer(-1)]
    case .instant: return [.array([time, .text("Europe/Rome")]), .array([.integer(0), .null])]
    case .datedInstant:
      return [
        .array([time, .text("Europe/Rome"), .text("2026-05-03")]),
        .array([time, .null, .text("2026-05-03")]),
        .array([time, .text("UTC"), .text("2026-05-04")]),
      ]
    case .money:
      return [
        .array([.text("12.50"), .text("EUR")]), .array([.text("0"), .null]),
        .array([.text("0"), .text("JPY")]),
      ]
    case .coordinate:
      return [.array([.float(41.5), .float(12.25)]), .array([.float(0), .float(0)])]
    case .reference(let kind): return [.bytes(id(UInt64(kind.rawValue)).bytes)]
    case .owner: return [.array([.integer(2), .bytes(id(2).bytes)])]
    case .blob: return [.bytes(Array("data".utf8)), .bytes([])]
    case .bytes: return [.bytes([1])]
    case .any: return [.text("any")]
    case .list(.reminders): return [.array([.array([.integer(8), .integer(30)])]), .array([])]
    case .list(.schedule): return [.text("daily"), .array([.integer(1), .integer(5)])]
    case .list(.frequency): return [.text("oncePerDay"), .integer(30)]
    case .list(.weights): return [.array([.array([.text("drive"), .float(0.5)])])]
    case .list(.zoneChanges):
      return [.array([.array([.text("Europe/Rome"), .text("Asia/Tokyo"), time])]), .array([])]
    }
  }
}
