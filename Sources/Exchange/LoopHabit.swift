import Records
import Wire

/// A habit as Loop Habit Tracker has it, in any of its file formats.
struct LoopHabit {
  var name = ""
  var question = ""
  var description = ""
  /// The frequency of the habit: `times` in `days` days.
  var times: Int64 = 1
  var days: Int64 = 1
  /// The colour as `#RRGGBB`; nil if there is none.
  var color: String?
  var isNumeric = false
  var unit = ""
  var target: Double?
  var isTargetMaximum = false
  var isArchived = false
  /// The position of the habit, counted from 0.
  var order: Int64 = 0
  /// The hour and minute of the reminder; nil if there is none.
  var reminder: (Int64, Int64)?

  private static let kind = Kind.habit

  /// The question, the description, and the properties for which a record has no field, combined into one text.
  private var notes: String {
    [question, description, rest].filter { !$0.isEmpty }.joined(separator: "\n\n")
  }

  private var isDaily: Bool { times >= days }

  /// The frequency and target type, such as `3 times in 7 days, at most`; empty if both have their defaults.
  private var rest: String {
    let often = isDaily ? nil : "\(times) times in \(days) days"
    return [often, isTargetMaximum ? "at most" : nil].compactMap(\.self).joined(separator: ", ")
  }

  /// Parses and removes the last paragraph of the description if it is one that `rest` returns.
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

  /// The target, if a record can hold it. Loop writes 0 for no target, which a record can't hold.
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
        "habit \"\(name)\": \(times) times in \(days) days is not a supported schedule; it is in the notes\(target)"
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

  /// What Loop has recorded for a habit on one day.
  enum Mark: Hashable {
    case unknown
    case no
    /// Loop computed the mark from other days; the user did not enter it.
    case automatic
    case skip
    /// The value of an entry, in thousandths for a numeric habit.
    case value(Int64)

    /// Converts a number from a file or a database; 2 means done.
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

  /// Returns a habit's entry for a day. Loop's days have no zone and are stored as days in UTC.
  static func log(_ habit: RecordID, _ day: CalendarDay, _ value: Double) -> RecordDraft {
    dayLog("loop", habit, day, value)
  }
}

/// Returns a habit's entry for a day, with an id that is derived from the habit and the day.
///
/// - Parameter format: a part of the id that keeps the entries of different applications apart.
func dayLog(_ format: String, _ habit: RecordID, _ day: CalendarDay, _ value: Double) -> RecordDraft {
  let kind = Kind.habitEntry
  let time = day.daysSince1970 * 86_400_000
  return RecordDraft(
    kind, RecordID(kind: kind, key: "\(format) \(habit.uuid)/\(day)"),
    [
      kind.number("habitID"): .bytes(habit.bytes),
      kind.number("date"): .array([.integer(time), .null, .text(day.description)]),
      kind.number("value"): .float(value == 0 ? 0 : value),
    ])
}

/// Derives the ids of habits that are identified only by name. A second habit with the same name gets another id.
struct HabitNames {
  private let format: String
  private var counts: [String: Int] = [:]

  init(format: String) { self.format = format }

  mutating func id(_ name: String) -> RecordID {
    let count = counts[name, default: 0] + 1
    counts[name] = count
    return RecordID(
      kind: Kind.habit, key: count == 1 ? "\(format) \(name)" : "\(format) \(name)\0\(count)")
  }
}
