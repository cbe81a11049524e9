import Records
import Wire

/// Reads the unpacked archive of Loop Habit Tracker's comma-separated values, in all three dialects: those of versions
/// up to 1.8.9, 2.0.3 to 2.3.0, and 2.3.1.
struct LoopFolderReader {
  private var builder = PlanBuilder()
  private var names = HabitNames(format: "loop")
  /// The habits by position, which is the number of their folder. `saysType` tells whether the file states the type.
  private var habits: [Int: (habit: LoopHabit, id: RecordID, saysType: Bool)] = [:]
  private var positionsLeftOut: Set<Int> = []

  /// Whether a file is read. Only the list of habits and each habit's own values are read. The file with the values of
  /// all habits is ignored because it is known to be wrong.
  static func reads(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    return switch parts.count {
    case 1: parts[0] == habitsName
    case 2: parts[1] == marksName && number(of: String(parts[0])) != nil
    default: false
    }
  }

  static let habitsName = "Habits.csv"
  static let marksName = "Checkmarks.csv"

  /// Returns the number at the beginning of a folder's name; the rest of the name may be missing.
  static func number(of folder: String) -> Int? {
    let digits = folder.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return digits.count <= 9 ? Int(String(decoding: Array(digits), as: UTF8.self)) : nil
  }

  mutating func read(_ files: [ImportedFile]) throws(ExchangeError) -> ImportPlan {
    guard let list = files.first(where: { $0.path == Self.habitsName }) else {
      throw .wrongShape(place: "the folder", expected: "one that contains \(Self.habitsName)")
    }
    try readHabits(list.bytes)
    var read: Set<Int> = []
    for file in files.sorted(by: { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }) {
      guard file.path != Self.habitsName, Self.reads(file.path),
        let number = Self.number(of: file.path)
      else { continue }
      guard read.insert(number).inserted else {
        throw .damaged(place: file.path, reason: "another folder also has the number \(number)")
      }
      try readMarks(file, number)
    }
    for number in habits.keys.sorted() where !read.contains(number) {
      builder.warn(
        "habit \"\(habits[number]?.habit.name ?? "")\": there is no folder \(number) with its entries")
    }
    return builder.plan(.loopCSV)
  }

  // MARK: Habits

  private mutating func readHabits(_ bytes: [UInt8]) throws(ExchangeError) {
    var reader = CSVReader(bytes, file: Self.habitsName)
    guard let first = try reader.next() else { throw reader.damaged(1, "it is empty") }
    let header = CSVHeader(first.fields)
    for name in ["Position", "Name", "Color"] where !header.has(name) {
      throw reader.damaged(first.line, "it is not a Loop header: there is no column \"\(name)\"")
    }
    try checkEnd(reader)
    try reader.forEach(columns: header.count) { (row) throws(ExchangeError) in
      guard let position = Int(header.cell("Position", of: row)), position > 0, position <= 999_999 else {
        throw .damaged(
          place: row.place, reason: "\"\(header.cell("Position", of: row).prefix(40))\" is not a position")
      }
      guard habits[position] == nil, !positionsLeftOut.contains(position) else {
        throw .damaged(place: row.place, reason: "the position \(position) appears twice")
      }
      do throws(RowError) {
        try readHabit(row, header, position)
      } catch {
        positionsLeftOut.insert(position)
        builder.skip(Location(row.place), error.reason)
      }
    }
  }

  /// Throws if the last line has no line ending. Loop terminates every line, and in a truncated file the last number
  /// would be read as another number.
  private func checkEnd(_ reader: CSVReader) throws(ExchangeError) {
    guard reader.isEnded else {
      throw .damaged(place: "\(reader.file), the last line", reason: "it is cut off: the file is truncated")
    }
  }

  private mutating func readHabit(
    _ row: CSVRow, _ header: CSVHeader, _ position: Int
  ) throws(RowError) {
    var habit = LoopHabit()
    habit.name = text("Name", row, header)
    habit.question = text("Question", row, header)
    habit.description = text("Description", row, header)
    habit.times = try number(header, row, "FrequencyNumerator", or: "NumRepetitions") ?? 1
    habit.days = try number(header, row, "FrequencyDenominator", or: "Interval") ?? 1
    let color = header.cell("Color", of: row)
    habit.color = color.isEmpty ? nil : color
    habit.order = Int64(position - 1)
    let saysType = header.has("Type")
    if saysType { try readType(row, header, into: &habit) }
    let draft = habit.draft(names.id(habit.name))
    try builder.add(draft, isComplete: true)
    habits[position] = (habit, draft.id, saysType)
    habit.note(in: &builder)
  }

  /// Returns a cell with a user's text, without the apostrophe that our own export adds before text that a spreadsheet
  /// would run.
  private func text(_ name: String, _ row: CSVRow, _ header: CSVHeader) -> String {
    CSVText.unguarded(header.cell(name, of: row))
  }

  private func readType(
    _ row: CSVRow, _ header: CSVHeader, into habit: inout LoopHabit
  ) throws(RowError) {
    switch header.cell("Type", of: row) {
    case "YES_NO", "": break
    case "NUMERICAL": habit.isNumeric = true
    case let type: throw RowError("its type cannot be \"\(type.prefix(40))\": expected YES_NO or NUMERICAL")
    }
    habit.unit = text("Unit", row, header)
    habit.isTargetMaximum = header.cell("Target Type", of: row) == "AT_MOST"
    habit.isArchived = header.cell("Archived?", of: row) == "true"
    let target = header.cell("Target Value", of: row)
    guard !target.isEmpty else { return }
    guard let value = Double(target), value.isFinite else {
      throw RowError("its target cannot be \"\(target.prefix(40))\": expected a number")
    }
    habit.target = value
  }

  private func number(
    _ header: CSVHeader, _ row: CSVRow, _ name: String, or other: String
  ) throws(RowError) -> Int64? {
    let column = header.has(name) ? name : other
    let text = header.cell(column, of: row)
    guard !text.isEmpty else { return nil }
    guard let number = Int64(text), number > 0 else {
      throw RowError("\(column) cannot be \"\(text.prefix(40))\": expected a positive number")
    }
    return number
  }

  // MARK: Marks

  private mutating func readMarks(_ file: ImportedFile, _ number: Int) throws(ExchangeError) {
    guard let known = habits[number] else {
      let isLeftOut = positionsLeftOut.contains(number)
      return builder.skip(
        Location(file.path), isLeftOut ? "its habit is left out" : "\(Self.habitsName) has no habit \(number)"
      )
    }
    var reader = CSVReader(file.bytes, file: file.path)
    try checkEnd(reader)
    var marks: [(row: CSVRow, day: CalendarDay, mark: LoopHabit.Mark)] = []
    var columns: Int?
    while let row = try reader.next() {
      if columns == nil, row.fields.first == "Date" {
        columns = row.fields.count
        continue
      }
      guard row.fields.count == columns ?? 2 else {
        throw reader.damaged(row.line, "it has \(row.fields.count) cells, not \(columns ?? 2)")
      }
      columns = row.fields.count
      if let mark = try mark(row) { marks.append(mark) }
    }
    let isNumeric = known.saysType ? known.habit.isNumeric : marks.contains { $0.mark.isThousandths }
    if isNumeric, !known.saysType { makeNumeric(known.habit, known.id) }
    for mark in marks { add(mark, isNumeric, known) }
  }

  /// Returns the mark in a row; nil if the day or the value is invalid, which is reported.
  private mutating func mark(
    _ row: CSVRow
  ) throws(ExchangeError) -> (row: CSVRow, day: CalendarDay, mark: LoopHabit.Mark)? {
    guard row.fields.count >= 2 else { throw .damaged(place: row.place, reason: "it has no value") }
    guard let day = CalendarDay(row.fields[0]) else {
      builder.skip(Location(row.place), "\"\(row.fields[0].prefix(40))\" is not a day such as 2026-05-03")
      return nil
    }
    guard let mark = LoopHabit.Mark(row.fields[1]) else {
      builder.skip(Location(row.place), "\"\(row.fields[1].prefix(40))\" is not a value that Loop writes")
      return nil
    }
    return (row, day, mark)
  }

  /// Makes a habit numeric because it has values that only a numeric habit can have. This is for dialects without a
  /// type column.
  private mutating func makeNumeric(_ habit: LoopHabit, _ id: RecordID) {
    var habit = habit
    habit.isNumeric = true
    builder.put([habit.draft(id)])
    builder.warn(
      "habit \"\(habit.name)\": imported as a numeric habit because of its values")
  }

  private mutating func add(
    _ entry: (row: CSVRow, day: CalendarDay, mark: LoopHabit.Mark), _ isNumeric: Bool,
    _ known: (habit: LoopHabit, id: RecordID, saysType: Bool)
  ) {
    var entries = LoopEntries(name: known.habit.name, habit: known.id, isNumeric: isNumeric)
    entries.zeroIsEntered = known.saysType
    let note = entry.row.fields.count > 2 ? entry.row.fields[2] : ""
    entries.add(entry.mark, entry.day, note: note, at: { entry.row.place }, to: &builder)
  }
}

extension LoopHabit.Mark {
  /// Whether only a numeric habit can have this value.
  fileprivate var isThousandths: Bool {
    if case .value(let number) = self { number > 3 } else { false }
  }
}

/// Converts the marks of a habit to entries, and reports the marks that are not entries.
struct LoopEntries {
  let name: String
  let habit: RecordID
  let isNumeric: Bool
  /// Whether the source distinguishes an entered 0 from a day without an entry.
  var zeroIsEntered = true

  func add(
    _ mark: LoopHabit.Mark, _ day: CalendarDay, note: String, at place: () -> String,
    to builder: inout PlanBuilder
  ) {
    guard let value = value(mark, note, place, &builder) else { return }
    let draft = LoopHabit.log(habit, day, value)
    do throws(RowError) {
      guard builder.draft(Kind.habitEntry, draft.id) == nil else {
        throw RowError("the day \(day) appears twice")
      }
      try builder.add(draft, isComplete: true)
      if !note.isEmpty {
        builder.count("habit \"\(name)\": a note on an entry is not supported and is left out")
      }
    } catch {
      builder.skip(Location(place()), error.reason)
    }
  }

  /// Returns the value of an entry; nil for a mark that is not an entry.
  private func value(
    _ mark: LoopHabit.Mark, _ note: String, _ place: () -> String, _ builder: inout PlanBuilder
  ) -> Double? {
    switch mark {
    case .value(let number):
      return isNumeric ? Double(number) / 1_000 : number == 2 ? 1 : other(number, place, &builder)
    case .no where isNumeric && zeroIsEntered: return 0
    case .skip:
      builder.skip(Location(place()), "a skipped day is not supported")
    case .automatic:
      builder.count("habit \"\(name)\": a day that Loop computed is not an entry and is left out")
    case .no where !note.isEmpty:
      builder.skip(Location(place()), "a note without an entry is not supported")
    case .no: builder.count("habit \"\(name)\": a day marked as not done needs no entry")
    case .unknown: break
    }
    return nil
  }

  private func other(_ number: Int64, _ place: () -> String, _ builder: inout PlanBuilder) -> Double? {
    builder.skip(Location(place()), "the value \(number) is not valid for a binary habit")
    return nil
  }
}
