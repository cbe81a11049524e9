import JSONDocument
import Records
import Wire

/// The logs in Ritualist's export, which make up most of a large file. They are read on all cores, without building a
/// tree.
enum RitualistEntries {
  /// Reads the logs.
  ///
  /// - Parameters:
  ///   - starts: the start of each habit in the file; nil for a habit without one.
  ///   - skippedHabits: the habits that are skipped, whose logs are skipped too.
  static func read(
    _ text: JSONText, _ zones: ZoneOffsets, starts: [RecordID: Int64?], without skippedHabits: Set<RecordID>
  ) -> [RowPiece] {
    let pieces = text.pieces("habitLogs")
    return concurrently(pieces.count) { number in
      var reader = LogReader(zones: zones, starts: starts, skippedHabits: skippedHabits)
      reader.read(pieces[number], from: number * JSONText.itemsInPiece)
      return reader.piece
    }
  }
}

/// A log as the file has it, with everything that can be read without other rows.
private struct LogRow {
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

/// Reads a piece of the list of logs.
private struct LogReader {
  let zones: ZoneOffsets
  let starts: [RecordID: Int64?]
  let skippedHabits: Set<RecordID>
  private(set) var piece = RowPiece()

  mutating func read(_ items: JSONItems, from first: Int) {
    var items = items
    var index = first
    while true {
      do throws(RowError) {
        if let row = flat(&items) {
          try add(row, index)
        } else if let json = items.next() {
          try add(try row(json), index)
        } else {
          return
        }
      } catch {
        piece.refused.append((index, error))
      }
      index += 1
    }
  }

  private mutating func add(_ row: LogRow, _ index: Int) throws(RowError) {
    let draft = row.draft
    try PlanBuilder.check(draft, isComplete: true)
    piece.append(draft, from: index)
    note(row)
  }

  /// Reports anything unusual about a log that is kept.
  private mutating func note(_ row: LogRow) {
    piece.findings.note(
      kept: row.otherKeys.members.map(\.key), leftOut: row.otherKeys.leftOut, in: "habitLogs")
    if !row.isZoneKnown, let zone = row.zone {
      piece.findings.count("habitLogs: the time zone \(zone) is unknown, so the day is the UTC day")
    }
    guard let start = starts[row.habit] else {
      piece.findings.count("habitLogs: a log belongs to a habit that is not in the file")
      return
    }
    guard let start, row.time < start else { return }
    if zones.day(milliseconds: row.time, zone: row.zone) < zones.day(milliseconds: start, zone: row.zone) {
      piece.findings.count("habitLogs: a log is dated before the start of its habit; it is kept")
    }
  }

  // MARK: Any row

  private static let keys: Set = ["id", "habitID", "date", "value", "timezone", "day"]

  private func row(_ json: JSON) throws(RowError) -> LogRow {
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
      id: try row.id(), habit: habit, time: time, value: try row.float("value"), zone: zone,
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
  private func flat(_ items: inout JSONItems) -> LogRow? {
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
      id: id, habit: habit, time: time, value: value, zone: zone,
      offset: zone.flatMap { zones.seconds(time, $0) }, day: nil, otherKeys: Self.noKeys)
  }
}

private func string(_ text: Span<UInt8>) -> String {
  String(decoding: text.indices.map { text[$0] }, as: UTF8.self)
}
