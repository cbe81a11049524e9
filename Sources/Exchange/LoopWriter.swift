import Platform
import JSONDocument
import Records
import Wire

/// Writes habits as Loop Habit Tracker 2.3.1 does: `Habits.csv`, and a folder per habit with its values.
struct LoopWriter {
  private let source: ExportSource
  private var folder = ExportedFolder()
  private var logs: [RecordID: [RecordDraft]] = [:]

  private static let header = [
    "Position", "Name", "Type", "Question", "Description", "FrequencyNumerator",
    "FrequencyDenominator",
    "Color",
    "Unit", "Target Type", "Target Value", "Archived?",
  ]

  init(source: ExportSource) {
    self.source = source
    for log in source.records(Kind.habitEntry) {
      if let habit = log.reference("habitID") { logs[habit, default: []].append(log) }
    }
  }

  mutating func write() -> ExportedFolder {
    var list = CSVText()
    list.add(Self.header)
    let habits = source.records(Kind.habit) { $0.integer("displayOrder") ?? 0 }
    var names: Set<String> = []
    for (index, habit) in habits.enumerated() {
      let number =
        String(repeating: "0", count: max(0, 3 - String(index + 1).count)) + String(index + 1)
      let name = habit.text("name") ?? ""
      if !names.insert(name).inserted {
        folder.warnings.append(
          "two habits are named \"\(name)\": Loop distinguishes them only by position")
      }
      list.add([.plain(number)] + row(habit))
      folder.add("\(number) \(Self.folderName(name))/\(LoopFolderReader.marksName)", marks(habit))
    }
    folder.files.insert(
      .init(path: LoopFolderReader.habitsName, content: .bytes(list.bytes)), at: 0)
    return folder
  }

  /// Returns the ASCII letters, digits and a few signs of a habit's name, which Loop also uses for the folder's name.
  private static func folderName(_ name: String) -> String {
    String(
      name.filter { $0.isASCII && ($0.isLetter || $0.isNumber || " ._-".contains($0)) }.prefix(50)
    )
    .trimmed
  }

  // MARK: Habits

  private mutating func row(_ habit: RecordDraft) -> [CSVText.Cell] {
    var loop = LoopHabit()
    loop.isNumeric = habit.text("kind") == "numeric"
    loop.description = habit.text("notes") ?? ""
    loop.takeRest()
    if case .array(let days) = habit.held("schedule"), !days.isEmpty, days.count < 7 {
      (loop.times, loop.days) = (Int64(days.count), 7)
      folder.warnings.append(
        "habit \"\(habit.text("name") ?? "")\": Loop has no weekdays; exported as \(days.count) times in 7 days"
      )
    }
    note(habit)
    let target = habit.held("dailyTarget").fileJSON?.text() ?? "0.0"
    return [
      .text(habit.text("name") ?? ""), .plain(loop.isNumeric ? "NUMERICAL" : "YES_NO"), .plain(""),
      .text(loop.description), .plain("\(loop.times)"), .plain("\(loop.days)"),
      .text(habit.text("colorHex") ?? "#2DA9E3"),
      .text(loop.isNumeric ? habit.text("unitLabel") ?? "" : ""),
      .plain(loop.isNumeric ? (loop.isTargetMaximum ? "AT_MOST" : "AT_LEAST") : ""),
      .plain(loop.isNumeric ? target : ""),
      .plain(habit.bool("isActive") == false ? "true" : "false"),
    ]
  }

  /// Reports what Loop can't represent.
  private mutating func note(_ habit: RecordDraft) {
    let lost = ["emoji", "categoryId", "reminders", "location", "startDate", "endDate"].filter {
      name in
      let value = habit.held(name)
      return value != .null && value != .array([]) && value != .text("")
    }
    guard !lost.isEmpty else { return }
    folder.warnings.append(
      "habit \"\(habit.text("name") ?? "")\": Loop has no \(lost.joined(separator: ", "))")
  }

  // MARK: Marks

  private mutating func marks(_ habit: RecordDraft) -> [UInt8] {
    var days: [String: DecimalSum] = [:]
    for log in logs[habit.id] ?? [] {
      guard case .text(let day) = log.held("date").part(2) else { continue }
      var value = 1.0
      if case .float(let held) = log.held("value") { value = held }
      days[day, default: DecimalSum()].add(value)
    }
    var table = CSVText()
    table.add(["Date", "Value", "Notes"])
    for (day, sum) in days.sorted(by: { $0.key > $1.key }) {
      let isNumeric = habit.text("kind") == "numeric"
      guard let mark = isNumeric ? number(sum.value, habit, day) : "YES_MANUAL" else { continue }
      table.add([day, mark, ""])
    }
    return table.bytes
  }

  /// Returns the value as Loop writes it, in thousandths; nil if Loop can't represent it.
  private mutating func number(_ value: Double, _ habit: RecordDraft, _ day: String) -> String? {
    let name = habit.text("name") ?? ""
    guard let thousandths = Int64(exactly: (value * 1_000).rounded()), thousandths >= 0,
      thousandths != 1,
      thousandths != 3
    else {
      folder.warnings.append(
        "habit \"\(name)\", \(day): Loop can't represent \(value), which is left out")
      return nil
    }
    if Double(thousandths) / 1_000 != value {
      folder.warnings.append(
        "habit \"\(name)\", \(day): Loop stores thousandths, so \(value) is rounded")
    }
    return switch thousandths {
    case 0: "NO"
    case 2: "YES_MANUAL"
    default: "\(thousandths)"
    }
  }
}
