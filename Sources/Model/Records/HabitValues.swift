public import Platform
import Records
import Wire

/// How a habit is measured.
public enum HabitKind: String, Codable, CaseIterable, QueryValue, FieldWord {
  /// The habit is either done or not done on a day.
  case binary
  /// The habit counts an amount each day.
  case numeric
}

/// The days on which a habit is due.
public enum HabitSchedule: Hashable, Sendable, Codable {
  /// The habit is due every day.
  case daily
  /// The habit is due on these weekdays.
  case days(Set<Locale.Weekday>)

  /// Reports whether the habit is due on a weekday.
  public func isDue(on weekday: Locale.Weekday) -> Bool {
    switch self {
    case .daily: true
    case .days(let days): days.contains(weekday)
    }
  }
}

extension Locale.Weekday {
  private static let inOrder: [Locale.Weekday] = [
    .monday, .tuesday, .wednesday, .thursday, .friday, .saturday, .sunday,
  ]

  /// The number of the weekday in ISO 8601: 1 = Monday … 7 = Sunday.
  package var number: Int { (Self.inOrder.firstIndex(of: self) ?? 0) + 1 }

  /// Creates the weekday that has a number in ISO 8601; nil if there is none.
  package init?(number: Int) {
    guard (1...7).contains(number) else { return nil }
    self = Self.inOrder[number - 1]
  }
}

/// How much a habit matters to the user.
public enum HabitPriority: Int, Codable, CaseIterable, QueryValue {
  /// The habit matters least.
  case low = 1
  /// The habit matters more than a habit of low priority.
  case medium
  /// The habit matters most.
  case high
}

extension HabitPriority: FieldContent {
  init?(_ value: Value) {
    guard let level = Int(value) else { return nil }
    self.init(rawValue: level)
  }

  var value: Value { rawValue.value }

  public var queryOperand: QueryOperand { rawValue.queryOperand }
}

/// The time of day of a reminder, in the user's local time.
public struct HabitReminder: Hashable, Sendable, Codable {
  /// The hour, 0 to 23.
  public var hour: Int
  /// The minute, 0 to 59.
  public var minute: Int

  /// Creates a time of day.
  public init(hour: Int, minute: Int) {
    self.hour = hour
    self.minute = minute
  }
}

/// A place at which the user is reminded of a habit.
public struct HabitLocation: Hashable, Sendable, Codable {
  /// The centre of the place; nil if there is none.
  public var location: Coordinate?
  /// The radius of the place in metres, 50 to 500.
  public var radius: Double?
  /// The event that triggers the reminder.
  public var trigger: HabitTrigger?
  /// How often the reminder is triggered.
  public var frequency: HabitTriggerFrequency?
  /// Whether the reminder is enabled.
  public var isEnabled = false
  /// The name of the place, at most 100 characters long.
  public var label = ""
  /// The time when the reminder was last triggered.
  public var lastTriggerDate: Date?
  /// The time when arriving at the place last triggered the reminder.
  public var lastEntryTriggerDate: Date?
  /// The time when leaving the place last triggered the reminder.
  public var lastExitTriggerDate: Date?
  /// The time when the device's region monitoring last triggered the reminder, as recorded by the app.
  public var lastGeofenceTriggerDate: Date?

  /// Creates a value without a place.
  public init() {}
}

/// The event at a place that triggers a reminder.
public enum HabitTrigger: String, Codable, CaseIterable, QueryValue, FieldWord {
  /// Arriving at the place triggers the reminder.
  case entry
  /// Leaving the place triggers the reminder.
  case exit
  /// Both arriving and leaving trigger the reminder.
  case both
}

/// How often a place triggers a reminder.
public enum HabitTriggerFrequency: Hashable, Sendable, Codable {
  /// The place triggers the reminder at most once a day.
  case oncePerDay
  /// Each arrival or departure that ``HabitLocation/trigger`` includes triggers the reminder, unless fewer than this
  /// many minutes, 1 to 1,440, have passed since it was last triggered.
  case everyEntry(cooldownMinutes: Int)
}

extension HabitSchedule: FieldContent {
  init?(_ value: Value) {
    switch value {
    case .text("daily"): self = .daily
    case .array(let days):
      self = .days(Set(days.compactMap { Int($0).flatMap { Locale.Weekday(number: $0) } }))
    default: return nil
    }
  }

  var value: Value {
    switch self {
    case .daily: .text("daily")
    case .days(let days): .array(days.map(\.number).sorted().map(\.value))
    }
  }
}

extension HabitTriggerFrequency: FieldContent {
  init?(_ value: Value) {
    switch value {
    case .text("oncePerDay"): self = .oncePerDay
    case .integer(let minutes): self = .everyEntry(cooldownMinutes: Int(clamping: minutes))
    default: return nil
    }
  }

  var value: Value {
    switch self {
    case .oncePerDay: .text("oncePerDay")
    case .everyEntry(let minutes): minutes.value
    }
  }
}

extension HabitReminder: FieldItem {
  init?(_ item: Value) {
    guard let hour = Int(item.part(0)), let minute = Int(item.part(1)) else { return nil }
    self.init(hour: hour, minute: minute)
  }

  var item: Value { .array([hour.value, minute.value]) }
}

extension [String: Double]: FieldContent {
  init?(_ value: Wire.Value) {
    guard case .array(let weights) = value else { return nil }
    self.init(
      weights.compactMap { weight in
        guard let name = String(weight.part(0)), let number = Double(weight.part(1)) else { return nil }
        return (name, number)
      }, uniquingKeysWith: { first, _ in first })
  }

  var value: Wire.Value {
    guard !isEmpty else { return .null }
    let ascending = sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return .array(ascending.map { .array([.text($0.key), $0.value.value]) })
  }
}
