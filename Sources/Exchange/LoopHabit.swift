import Records
import Wire

/// A habit of Loop Habit Tracker, from any source.
struct LoopHabit {
  var name = ""
  var question = ""
  var description = ""
  /// The frequency: a number of times in a number of days.
  var times: Int64 = 1
  var days: Int64 = 1
  /// `#RRGGBB`
  var color: String?
  var isNumeric = false
  var unit = ""
  var target: Double?
  var isTargetMaximum = false
  var isArchived = false
  /// Counted from 0.
  var order: Int64 = 0
  /// Hour and minute.
  var reminder: (Int64, Int64)?

  private static let kind = Registry.habit

  /// Question, description, and properties without a field, combined in one text.
  private var notes: String {
    [question, description, rest].filter { !$0.isEmpty }.joined(separator: "\n\n")
  }

  private var isDaily: Bool { times >= days }

  /// Frequency and target type, such as `3 times in 7 days, at most`; empty if both are the default.
  private var rest: String {
    let often = isDaily ? nil : "\(times) times in \(days) days"
    return [often, isTargetMaximum ? "at most" : nil].compactMap(\.self).joined(separator: ", ")
  }

  /// Parses the last paragraph of a description if `rest` wrote it, and removes it.
  mutating func takeRest() {
    let parts = description.split(separator: "\n\n", omittingEmptySubsequences: false)
    guard let last = parts.last else { return }
    var words = last.split(separator: " ").map(String.init)
    let isMaximum = words.suffix(2) == ["at", "most"]
    if isMaximum { words.removeLast(2) }
    if words.count == 5, words[1...3] == ["times", "in", words[3]], words[4].hasPrefix("days"),
      let times = Int64(words[0]), let days = Int64(words[3]), times > 0, days > times
    {
      (self.times, self.days) = (times, days)
    } else if !words.isEmpty || !isMaximum {
      return
    }
    isTargetMaximum = isMaximum
    let before = self
    guard before.rest == last else {
      (times, days, isTargetMaximum) = (1, 1, false)
      return
    }
    description = parts.dropLast().joined(separator: "\n\n")
  }

  private var heldColor: String? {
    color.flatMap { isAllowed(.text($0), "colorHex") ? $0 : nil }
  }

  /// Loop writes 0 for no target.
  private var heldTarget: Double? {
    target.flatMap { isAllowed(.float($0), "dailyTarget") ? $0 : nil }
  }

  private func isAllowed(_ value: Value, _ name: String) -> Bool {
    guard let field = Self.kind.field(named: name) else { return false }
    return (try? field.validate(value)) != nil
  }

  func draft(_ id: RecordID) -> RecordDraft {
    var draft = RecordDraft(Self.kind, id)
    func put(_ name: String, _ value: Value) { draft[Self.kind.number(name)] = value }
    put("name", .text(name))
    put("notes", notes.isEmpty ? .null : .text(notes))
    put("colorHex", heldColor.map(Value.text) ?? .null)
    put("kind", .text(isNumeric ? "numeric" : "binary"))
    put("unitLabel", unit.isEmpty ? .null : .text(unit))
    put("dailyTarget", heldTarget.map(Value.float) ?? .null)
    put("schedule", isDaily ? .text("daily") : .null)
    put("isActive", .bool(!isArchived))
    put("displayOrder", .integer(order))
    if let reminder { put("reminders", .array([.array([.integer(reminder.0), .integer(reminder.1)])])) }
    return draft
  }

  /// Reports what a habit record can't represent.
  func note(in builder: inout PlanBuilder) {
    if !isDaily {
      let target = isNumeric && target ?? 0 > 0 ? "; its target is for \(days) days" : ""
      builder.warn(
        "habit \"\(name)\": \(times) times in \(days) days is not a supported schedule; its notes mention it\(target)"
      )
    }
    if let color, heldColor == nil {
      builder.warn("habit \"\(name)\": \"\(color.prefix(40))\" is not a #RRGGBB colour and is left out")
    }
    if let target, target != 0, heldTarget == nil {
      builder.warn("habit \"\(name)\": the target \(target) is not from 0.01 to 1000000 and is left out")
    }
    if isTargetMaximum {
      builder.warn("habit \"\(name)\": its target is a maximum, which only the notes mention")
    }
  }

  // MARK: Entries

  /// The content of a day's cell.
  enum Mark: Hashable {
    case unknown
    case no
    /// Computed from other days, not entered.
    case automatic
    case skip
    /// Thousandths for a numeric habit.
    case value(Int64)

    /// A number as in files and databases; 2 means done.
    init(_ number: Int64) {
      switch number {
      case ..<0: self = .unknown
      case 0: self = .no
      case 1: self = .automatic
      case 3: self = .skip
      default: self = .value(number)
      }
    }

    init?(_ text: String) {
      switch text {
      case "YES_MANUAL": self = .value(2)
      case "YES_AUTO": self = .automatic
      case "NO": self = .no
      case "SKIP": self = .skip
      case "UNKNOWN": self = .unknown
      default:
        guard let number = Int64(text) else { return nil }
        self.init(number)
      }
    }
  }

  /// The entry of a habit and a day. Loop's days have no zone and are stored as days in UTC.
  static func log(_ habit: RecordID, _ day: CalendarDay, _ value: Double) -> RecordDraft {
    dayLog("loop", habit, day, value)
  }
}

/// An entry whose id is derived from the habit and the day.
///
/// - Parameter format: separates the entries of different applications.
func dayLog(_ format: String, _ habit: RecordID, _ day: CalendarDay, _ value: Double) -> RecordDraft {
  let kind = Registry.habitEntry
  let time = day.daysSince1970 * 86_400_000
  return RecordDraft(
    kind, RecordID(kind: kind, key: "\(format) \(habit.uuid)/\(day)"),
    [
      kind.number("habitID"): .bytes(habit.bytes),
      kind.number("date"): .array([.integer(time), .null, .text(day.description)]),
      kind.number("value"): .float(value == 0 ? 0 : value),
    ])
}

/// The ids of habits that are identified only by name; a second habit with the same name gets another id.
struct HabitNames {
  private let format: String
  private var counts: [String: Int] = [:]

  init(format: String) { self.format = format }

  mutating func id(_ name: String) -> RecordID {
    let count = counts[name, default: 0] + 1
    counts[name] = count
    return RecordID(
      kind: Registry.habit, key: count == 1 ? "\(format) \(name)" : "\(format) \(name)\0\(count)")
  }
}
