import Records
import Wire

/// Reads HabitBull's comma-separated values: one row per habit and day.
struct HabitBullReader {
  private var builder = PlanBuilder()
  /// The habits found so far, in the order of the file.
  private var habits: [Habit] = []
  private var positions: [String: Int] = [:]

  private struct Habit {
    let name: String
    let description: String
    let category: String
    /// Whether the habit is numeric: a binary habit has only the values 0 and 1.
    var isNumeric = false
    var entries: [Entry] = []
  }

  private struct Entry {
    let line: Int
    let day: CalendarDay
    let value: Double
    let hasComment: Bool
  }

  private static let columns = ["HabitName", "CalendarDate", "Value"]
  /// The smallest 32-bit integer. HabitBull writes this value or a lower one if nothing was entered.
  private static let least = Double(Int32.min)

  mutating func read(_ bytes: [UInt8]) throws(ExchangeError) -> ImportPlan {
    var reader = CSVReader(bytes)
    guard let first = try reader.next() else { throw reader.damaged(1, "it is empty") }
    let header = CSVHeader(first.fields)
    for name in Self.columns where !header.has(name) {
      throw reader.damaged(first.line, "it is not a HabitBull header: there is no column \"\(name)\"")
    }
    if !reader.isEnded { builder.warn("the last line has no line ending, so the file may be truncated") }
    let order = try DayOrder(reader, header)
    if order.isGuess { builder.warn("dates such as 4/11/2019 are read as month/day: 11 April") }
    try reader.forEach(columns: header.count) { (row) throws(ExchangeError) in
      do throws(RowError) {
        try readRow(row, header, order)
      } catch {
        builder.skip(Location(row.place), error.reason)
      }
    }
    writeHabits()
    return builder.plan(.habitbull)
  }

  private mutating func readRow(_ row: CSVRow, _ header: CSVHeader, _ order: DayOrder) throws(RowError) {
    let name = header.cell("HabitName", of: row)
    guard !name.isEmpty else { throw RowError("it has no habit name") }
    guard let day = order.day(header.cell("CalendarDate", of: row)) else {
      throw RowError("\"\(header.cell("CalendarDate", of: row).prefix(40))\" is not a day")
    }
    let text = header.cell("Value", of: row)
    guard let value = Double(text), value.isFinite else {
      throw RowError("\"\(text.prefix(40))\" is not a number")
    }
    let position = position(name, row, header)
    guard value > Self.least else { throw RowError("the value \(text.prefix(40)) means no entry") }
    if value > 1 { habits[position].isNumeric = true }
    habits[position].entries.append(
      Entry(line: row.line, day: day, value: value, hasComment: !header.cell("CommentText", of: row).isEmpty))
  }

  private mutating func position(_ name: String, _ row: CSVRow, _ header: CSVHeader) -> Int {
    if let known = positions[name] { return known }
    positions[name] = habits.count
    habits.append(
      Habit(
        name: name, description: header.cell("HabitDescription", of: row),
        category: header.cell("HabitCategory", of: row)))
    return habits.count - 1
  }

  // MARK: Records

  private mutating func writeHabits() {
    for (index, habit) in habits.enumerated() {
      let id = RecordID(kind: Kind.habit, key: "habitbull \(habit.name)")
      do throws(RowError) {
        try builder.add(try draft(habit, id, index), isComplete: true)
      } catch {
        builder.skip(
          Location("habit \"\(habit.name.prefix(60))\""), "it is left out with its entries: \(error.reason)")
        continue
      }
      for entry in habit.entries { add(entry, habit, id) }
    }
  }

  private mutating func draft(_ habit: Habit, _ id: RecordID, _ index: Int) throws(RowError) -> RecordDraft {
    let kind = Kind.habit
    return RecordDraft(
      kind, id,
      [
        kind.number("name"): .text(habit.name),
        kind.number("notes"): habit.description.isEmpty ? .null : .text(habit.description),
        kind.number("kind"): .text(habit.isNumeric ? "numeric" : "binary"),
        kind.number("schedule"): .text("daily"), kind.number("isActive"): .bool(true),
        kind.number("displayOrder"): .integer(Int64(min(index, 100_000))),
        kind.number("categoryId"): try category(habit.category),
      ])
  }

  /// Returns the key of a category, which is added with its first habit; null if the name is empty.
  private mutating func category(_ name: String) throws(RowError) -> Value {
    guard !name.isEmpty else { return .null }
    let kind = Kind.category
    let key = "habitbull:\(name)"
    let id = RecordID(kind: kind, key: key)
    if builder.draft(kind, id) == nil {
      try builder.add(
        RecordDraft(
          kind, id,
          [
            kind.number("key"): .text(key), kind.number("name"): .text(name),
            kind.number("displayName"): .text(name), kind.number("isActive"): .bool(true),
          ]), isComplete: true)
    }
    return .text(key)
  }

  private mutating func add(_ entry: Entry, _ habit: Habit, _ id: RecordID) {
    if !habit.isNumeric, entry.value <= 0 {
      guard entry.value == 0 else {
        return builder.skip(
          Location("line \(entry.line)"), "the value \(entry.value) is not valid for a binary habit")
      }
      if entry.hasComment {
        return builder.skip(Location("line \(entry.line)"), "a comment without an entry is not supported")
      }
      return builder.count("habit \"\(habit.name)\": a day with the value 0 needs no entry")
    }
    let draft = dayLog("habitbull", id, entry.day, entry.value)
    do throws(RowError) {
      guard builder.draft(Kind.habitEntry, draft.id) == nil else {
        throw RowError("the day \(entry.day) appears twice")
      }
      try builder.add(draft, isComplete: true)
      if entry.hasComment {
        builder.count("habit \"\(habit.name)\": a comment on an entry is not supported and is left out")
      }
    } catch {
      builder.skip(Location("line \(entry.line)"), error.reason)
    }
  }
}

/// The date format of a whole file: ISO, or numbers with either the month or the day first.
struct DayOrder {
  private var isDayFirst = false
  /// Whether nothing in the file tells which of the first two numbers of a date is the month.
  private(set) var isGuess = false

  /// Scans every row, because one day after the twelfth determines the order for all of them.
  init(_ start: CSVReader, _ header: CSVHeader) throws(ExchangeError) {
    var reader = start
    var dayFirst: Int?
    var monthFirst: Int?
    var hasSlashes = false
    while let row = try reader.next() {
      guard let parts = Self.parts(header.cell("CalendarDate", of: row)) else { continue }
      hasSlashes = true
      if parts.0 > 12, dayFirst == nil { dayFirst = row.line }
      if parts.1 > 12, monthFirst == nil { monthFirst = row.line }
    }
    if let dayFirst, let monthFirst {
      throw .damaged(
        place: "line \(max(dayFirst, monthFirst))",
        reason: "its day and month are in a different order from those in line \(min(dayFirst, monthFirst))")
    }
    isDayFirst = dayFirst != nil
    isGuess = hasSlashes && dayFirst == nil && monthFirst == nil
  }

  func day(_ text: String) -> CalendarDay? {
    guard let parts = Self.parts(text) else { return CalendarDay(text.prefix(10)) }
    return CalendarDay(
      year: parts.2, month: isDayFirst ? parts.1 : parts.0, day: isDayFirst ? parts.0 : parts.1)
  }

  /// Returns the three numbers of a date such as `4/11/2019`; nil for other text.
  private static func parts(_ text: String) -> (Int, Int, Int)? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, parts.allSatisfy({ (1...4).contains($0.utf8.count) }),
      let first = Int(parts[0]), let second = Int(parts[1]), let third = Int(parts[2])
    else { return nil }
    return (first, second, third)
  }
}
