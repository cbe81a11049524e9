import Records
import SQLite
import Wire

/// Reads a backup of Loop Habit Tracker, which is a SQLite database, from memory. The database is neither written nor
/// opened as a file.
struct LoopDatabaseReader {
  private var builder = PlanBuilder()
  private var names = HabitNames(format: "loop")
  /// The habits by row id.
  private var habits: [Int64: (habit: LoopHabit, id: RecordID)] = [:]
  private var habitsLeftOut: Set<Int64> = []

  mutating func read(_ bytes: [UInt8]) throws(ExchangeError) -> ImportPlan {
    do {
      let database = try LoopDatabase(bytes)
      try database.forEach("Habits", LoopDatabase.habitColumns) { try readHabit($0) }
      try database.forEach("Repetitions", LoopDatabase.repetitionColumns) { readRepetition($0) }
    } catch let error as ExchangeError {
      throw error
    } catch let error as SQLiteError where error.isInterrupted {
      let seconds = Limits.foreignDatabaseSecondsMax
      throw .damaged(place: "the database", reason: "reading it takes longer than \(seconds) seconds")
    } catch let error as SQLiteError {
      throw .damaged(place: "the database", reason: error.message)
    } catch {
      throw .damaged(place: "the database", reason: "it can't be read")
    }
    return builder.plan(.loopDB)
  }

  private mutating func readHabit(_ row: LoopRow) throws {
    guard let key = row.integer("id") else { return builder.skip(Location("Habits"), "a row has no id") }
    var habit = LoopHabit()
    habit.name = row.text("name")
    habit.question = row.text("question")
    habit.description = row.text("description")
    (habit.times, habit.days) = (max(1, row.integer("freq_num") ?? 1), max(1, row.integer("freq_den") ?? 1))
    habit.color = row.integer("color").map(LoopPalette.color)
    habit.isNumeric = row.integer("type") == 1
    habit.unit = row.text("unit")
    habit.target = row.number("target_value")
    habit.isTargetMaximum = habit.isNumeric && row.integer("target_type") == 1
    habit.isArchived = (row.integer("archived") ?? 0) != 0
    habit.order = min(max(0, row.integer("position") ?? 0), 100_000)
    readReminder(row, into: &habit)
    do throws(RowError) {
      let draft = habit.draft(RecordID(loop: row.text("uuid")) ?? names.id(habit.name))
      try builder.add(draft, isComplete: true)
      habits[key] = (habit, draft.id)
      habit.note(in: &builder)
    } catch {
      habitsLeftOut.insert(key)
      builder.skip(Location("Habits, id \(key)"), error.reason)
    }
  }

  private mutating func readReminder(_ row: LoopRow, into habit: inout LoopHabit) {
    guard let hour = row.integer("reminder_hour"), let minute = row.integer("reminder_min") else { return }
    guard (0..<24).contains(hour), (0..<60).contains(minute) else {
      return builder.warn("habit \"\(habit.name)\": its reminder has an invalid time and is left out")
    }
    habit.reminder = (hour, minute)
    let everyDay: Int64 = 127
    if let days = row.integer("reminder_days"), days != 0, days & everyDay != everyDay {
      builder.warn("habit \"\(habit.name)\": reminders on only some days are not supported")
    }
  }

  private mutating func readRepetition(_ row: LoopRow) {
    let place = Location("Repetitions, id \(row.integer("id") ?? 0)")
    guard let key = row.integer("habit"), let known = habits[key] else {
      let isLeftOut = row.integer("habit").map(habitsLeftOut.contains) ?? false
      return builder.skip(place, isLeftOut ? "its habit is left out" : "its habit is not in the file")
    }
    guard let time = row.integer("timestamp"), calendarMilliseconds.contains(time) else {
      return builder.skip(place, "its timestamp is outside the years 1 to 9999")
    }
    let day = CalendarDay(daysSince1970: floorDivision(time, 86_400_000))
    // In old databases without a value column, a row means done.
    let mark = row.has("value") ? row.integer("value").map(LoopHabit.Mark.init) : .value(2)
    guard let mark else { return builder.skip(place, "it has no value") }
    let entries = LoopEntries(name: known.habit.name, habit: known.id, isNumeric: known.habit.isNumeric)
    entries.add(mark, day, note: row.text("notes"), at: { place.section }, to: &builder)
  }
}

/// The tables of a backup, which are checked to be Loop's and intact before they are read.
private struct LoopDatabase {
  private let connection: Connection

  static let habitColumns = [
    "id", "name", "question", "description", "freq_num", "freq_den", "color", "type", "unit", "target_type",
    "target_value", "archived", "position", "reminder_hour", "reminder_min", "reminder_days", "uuid",
  ]
  static let repetitionColumns = ["id", "habit", "timestamp", "value", "notes"]

  init(_ bytes: [UInt8]) throws {
    connection = try Connection(image: bytes)
    try connection.setUpReadOnly()
    try connection.setUpForeign(within: .seconds(Limits.foreignDatabaseSecondsMax))
    let version = try number("PRAGMA user_version")
    guard (0...Int64(Limits.loopVersionMax)).contains(version) else {
      throw ExchangeError.unsuitable(
        reason:
          "it is a database of version \(version); Loop databases up to \(Limits.loopVersionMax) are supported"
      )
    }
    for table in Self.tables {
      guard try isTable(table) else {
        throw ExchangeError.unsuitable(reason: "it is not a Loop backup: there is no table \(table)")
      }
      // This is checked before anything in the table is read, because the table's own expressions could run forever.
      if let reason = try connection.unplainness(of: table) {
        throw ExchangeError.unsuitable(reason: "it is not a Loop backup: \(reason)")
      }
    }
    for table in Self.tables { try checkWhole(table) }
  }

  private static let tables = ["Habits", "Repetitions"]

  /// Checks the integrity of a table, because a damaged B-tree could contain a cycle.
  private func checkWhole(_ table: String) throws {
    try connection.with("PRAGMA integrity_check(\(table))") { row in
      guard try row.step(), row.text(0) != "ok" else { return }
      let reason = row.text(0).split(separator: "\n").first.map(String.init) ?? ""
      throw ExchangeError.damaged(place: "the database", reason: String(reason.prefix(200)))
    }
  }

  private func number(_ sql: String) throws -> Int64 {
    try connection.with(sql) { row in try row.step() ? row.integer(0) : 0 }
  }

  private func isTable(_ name: String) throws -> Bool {
    try number("SELECT count(*) FROM sqlite_schema WHERE name = '\(name)' COLLATE NOCASE") > 0
  }

  /// Passes each row of a table to `body`. Columns that the table lacks are absent from every row.
  func forEach(_ table: String, _ columns: [String], _ body: (LoopRow) throws -> Void) throws {
    var held: Set<String> = []
    try connection.with("PRAGMA table_info(\(table))") { row in
      while try row.step() { held.insert(row.text(1).lowercased()) }
    }
    let present = columns.filter(held.contains)
    guard present.contains("id") else {
      throw ExchangeError.unsuitable(reason: "it is not a Loop backup: its table \(table) has no column id")
    }
    var count = 0
    try connection.with("SELECT \(present.joined(separator: ", ")) FROM \(table) ORDER BY id") { row in
      while try row.step() {
        count += 1
        guard count <= Limits.importRowsMax else {
          throw ExchangeError.damaged(
            place: table, reason: "there are more than \(Limits.importRowsMax) rows")
        }
        try body(LoopRow(row, present))
      }
    }
  }
}

/// A row of a table, by column name.
private struct LoopRow {
  private enum Cell {
    case integer(Int64)
    case number(Double)
    case text(String)
    case null
  }

  private var cells: [String: Cell] = [:]

  init(_ row: borrowing Statement, _ columns: [String]) {
    for (index, name) in columns.enumerated() {
      cells[name] =
        switch row.type(index) {
        case .integer: .integer(row.integer(index))
        case .float: .number(row.double(index))
        case .text: .text(row.text(index))
        case .null, .blob: .null
        }
    }
  }

  func has(_ name: String) -> Bool { cells[name] != nil }

  func text(_ name: String) -> String {
    guard case .text(let text) = cells[name] else { return "" }
    return text
  }

  func integer(_ name: String) -> Int64? {
    guard case .integer(let number) = cells[name] else { return nil }
    return number
  }

  func number(_ name: String) -> Double? {
    switch cells[name] {
    case .integer(let number): Double(number)
    case .number(let number) where number.isFinite: wireFloat(number)
    default: nil
    }
  }
}

/// Loop's colours, as written in its archives.
enum LoopPalette {
  private static let colors = [
    "#D32F2F", "#E64A19", "#F57C00", "#FF8F00", "#F9A825", "#AFB42B", "#7CB342", "#388E3C", "#00897B",
    "#00ACC1",
    "#039BE5", "#1976D2", "#303F9F", "#5E35B1", "#8E24AA", "#D81B60", "#5D4037", "#303030", "#757575",
    "#AAAAAA",
  ]

  /// Returns the colour for an index in the palette. Old databases have the colour itself, with its opacity in the
  /// highest byte.
  static func color(_ number: Int64) -> String {
    if let index = Int(exactly: number), colors.indices.contains(index) { return colors[index] }
    let digits = String(UInt64(bitPattern: number) & 0xff_ffff, radix: 16, uppercase: true)
    return "#" + String(repeating: "0", count: 6 - digits.count) + digits
  }
}

extension RecordID {
  /// Parses a UUID, which Loop writes without hyphens; nil for other text.
  fileprivate init?(loop text: String) {
    let digits = text.filter { $0 != "-" }
    guard digits.utf8.count == 32, let bytes = bytesFromHexadecimal(digits) else { return nil }
    self.init(bytes: bytes)
  }
}
