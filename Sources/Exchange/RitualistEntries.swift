import JSONDocument
import Records
import Wire

/// The logs in Ritualist's export, which make up most of a large file.
///
/// They are read on all cores, without building a tree. Drafts are created in the order of their keys, so that later
/// passes find them adjacent in memory.
struct RitualistEntries {
  /// The drafts in ascending order of id, each id once.
  private(set) var drafts: [RecordDraft] = []
  /// The rows from which the drafts were created, in the same order.
  private(set) var rows: [LogRow] = []
  /// The rows that are skipped, in the order of the file.
  private(set) var refused: [(index: Int, error: RowError)] = []

  init(_ text: JSONText, _ zones: ZoneOffsets, without skippedHabits: Set<RecordID>) {
    let pieces = text.pieces("habitLogs")
    let read = concurrently(pieces.count) {
      LogPiece(pieces[$0], from: $0 * JSONText.itemsInPiece, zones, without: skippedHabits)
    }
    refused = read.flatMap(\.refused)
    collect(read.flatMap(\.rows))
    refused.sort { $0.index < $1.index }
  }

  private mutating func collect(_ read: [LogRow]) {
    let order = read.indices.map { (id: read[$0].id, row: $0) }
      .sorted { ($0.id.raw.word0, $0.id.raw.word1, $0.row) < ($1.id.raw.word0, $1.id.raw.word1, $1.row) }
    let parts = Self.parts(order.map(\.id))
    let made = concurrently(parts.count) { part in LogDrafts(order[parts[part]].lazy.map { read[$0.row] }) }
    drafts.reserveCapacity(order.count)
    rows.reserveCapacity(order.count)
    for part in made {
      drafts += part.drafts
      rows += part.rows
      refused += part.refused
    }
  }

  /// Divides the rows into parts for one thread each; all rows with the same id are in the same part.
  private static func parts(_ ids: [RecordID]) -> [Range<Int>] {
    var parts: [Range<Int>] = []
    var first = 0
    while first < ids.count {
      var end = min(first + JSONText.itemsInPiece, ids.count)
      while end < ids.count, ids[end] == ids[end - 1] { end += 1 }
      parts.append(first..<end)
      first = end
    }
    return parts
  }
}

/// Drafts from rows that are sorted by id, created by one thread.
private struct LogDrafts: Sendable {
  private(set) var drafts: [RecordDraft] = []
  private(set) var rows: [LogRow] = []
  private(set) var refused: [(index: Int, error: RowError)] = []

  init(_ sorted: some Collection<LogRow>) {
    drafts.reserveCapacity(sorted.count)
    rows.reserveCapacity(sorted.count)
    for row in sorted {
      do throws(RowError) {
        let draft = row.draft
        try PlanBuilder.check(draft, isComplete: true)
        guard drafts.last?.id != row.id else {
          throw RowError("its id \(row.id.uuid) appears twice in the file")
        }
        drafts.append(draft)
        rows.append(row)
      } catch {
        refused.append((row.index, error))
      }
    }
  }
}

/// A log as the file has it, with everything that can be read without other rows.
struct LogRow: Sendable {
  /// The index among the logs of the file.
  let index: Int
  let id: RecordID
  let habit: RecordID
  let time: Int64
  let value: Double?
  let zone: String?
  /// Seconds east of UTC; nil if the zone is unknown or missing.
  let offset: Int?
  /// The day, if it does not follow from the time and the zone.
  let day: String?
  let otherKeys: OtherKeys

  private static let habitField = Kind.habitEntry.number("habitID")
  private static let dateField = Kind.habitEntry.number("date")
  private static let valueField = Kind.habitEntry.number("value")

  var isZoneKnown: Bool { zone == nil || offset != nil }

  private var date: Value {
    if let day { return .array([.integer(time), zone.map(Value.text) ?? .null, .text(day)]) }
    return .datedInstant(milliseconds: time, zone: zone, zones: ZoneOffsets { [offset] _, _ in offset })
  }

  var draft: RecordDraft {
    var draft = RecordDraft(
      Kind.habitEntry, id,
      ascending: [
        FieldValue(Self.habitField, .bytes(habit.bytes)),
        FieldValue(Self.dateField, date),
        FieldValue(Self.valueField, value.map(Value.float) ?? .null),
      ])
    draft.keep(otherKeys)
    return draft
  }
}

/// A piece of the list of logs, which one thread reads.
private struct LogPiece: Sendable {
  private(set) var rows: [LogRow] = []
  private(set) var refused: [(index: Int, error: RowError)] = []
  private let zones: ZoneOffsets
  private let skippedHabits: Set<RecordID>

  init(
    _ items: JSONItems, from first: Int, _ zones: ZoneOffsets, without skippedHabits: Set<RecordID>
  ) {
    self.zones = zones
    self.skippedHabits = skippedHabits
    rows.reserveCapacity(JSONText.itemsInPiece)
    var items = items
    var index = first
    while true {
      if let row = flat(&items, index) {
        rows.append(row)
      } else if let json = items.next() {
        do throws(RowError) { rows.append(try row(json, index)) } catch { refused.append((index, error)) }
      } else {
        return
      }
      index += 1
    }
  }

  // MARK: Any row

  private static let keys: Set = ["id", "habitID", "date", "value", "timezone", "day"]

  private func row(_ json: JSON, _ index: Int) throws(RowError) -> LogRow {
    let row = try Row(json)
    guard let habit = try row.identifier("habitID") else { throw RowError("it has no habitID") }
    guard let time = try row.time("date") else { throw RowError("it has no date") }
    guard !skippedHabits.contains(habit) else { throw RowError("its habit \(habit.uuid) is left out") }
    var zone = try row.text("timezone").flatMap { $0.isEmpty ? nil : $0 }
    if zone == Placeholders.logZone, row.namesPlaceholder("timezone") { zone = nil }
    var otherKeys = OtherKeys()
    for member in OtherKeys.unknown(json, known: Self.keys) { otherKeys.add(member) }
    for member in json.members ?? [] where member.value.isNull { otherKeys.add(member) }
    return LogRow(
      index: index, id: try row.id(), habit: habit, time: time, value: try row.float("value"), zone: zone,
      offset: zone.flatMap { zones.seconds(time, $0) }, day: try row.text("day"),
      otherKeys: otherKeys)
  }

  // MARK: Rows of the usual form

  private static let noKeys = OtherKeys()
  private static let idKey = flatKey("id")
  private static let habitKey = flatKey("habitID")
  private static let dateKey = flatKey("date")
  private static let valueKey = flatKey("value")
  private static let zoneKey = flatKey("timezone")

  /// Reads a row of the usual form; for any other, returns nil and does not advance.
  private func flat(_ items: inout JSONItems, _ index: Int) -> LogRow? {
    var (id, habit): (RecordID?, RecordID?)
    var (time, value): (Int64?, Double?)
    var zone: String?
    let end = items.flatEnd { key, text, isText in
      switch (key, isText) {
      case (Self.idKey, true): id = RecordID(uuid: text)
      case (Self.habitKey, true): habit = RecordID(uuid: text)
      case (Self.dateKey, true): time = WrittenTime(string(text))?.milliseconds
      case (Self.valueKey, false):
        value = JSON.number(string(text)).float.map(wireFloat)
        return value != nil
      case (Self.zoneKey, true): zone = text.isEmpty ? nil : string(text)
      default: return false
      }
      return true
    }
    guard let end, let id, let habit, let time, !skippedHabits.contains(habit) else { return nil }
    items.pass(to: end)
    return LogRow(
      index: index, id: id, habit: habit, time: time, value: value, zone: zone,
      offset: zone.flatMap { zones.seconds(time, $0) }, day: nil, otherKeys: Self.noKeys)
  }
}

private func string(_ text: Span<UInt8>) -> String {
  String(decoding: text.indices.map { text[$0] }, as: UTF8.self)
}
