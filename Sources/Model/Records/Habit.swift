public import Platform
import Records
import Storage
import Wire

/// An activity that the user wants to do regularly.
///
/// A ``HabitEntry`` records each time that the habit is done. ``HabitProgress`` computes days, streaks and completion
/// from the entries.
public struct Habit: Record {
  public let id: ID
  /// The name of the habit: at most 200 characters, never empty.
  public var name = ""
  /// The color of the habit, in the form `#RRGGBB`.
  public var colorHex = "#2DA9E3"
  /// The emoji of the habit, at most 10 characters long.
  public var emoji = ""
  /// How the habit is measured: it is either done or not done, or counts an amount.
  public var kind = HabitKind.binary
  /// The unit that a numeric habit counts, such as glasses or pages; at most 50 characters long.
  public var unitLabel = ""
  /// The amount to reach each day, 0.01 to 1,000,000; nil if there is no target.
  public var dailyTarget: Double?
  /// The days on which the habit is due.
  public var schedule = HabitSchedule.daily
  /// The times of day at which the user is reminded, at most 24.
  public var reminders: [HabitReminder] = []
  /// A time on the first day of the habit; set to the time of saving if a new habit is saved without it.
  public var startDate: Date?
  /// A time on the last day of the habit; nil if the habit has no end.
  public var endDate: Date?
  /// Whether the app offers the habit to the user.
  public var isActive = true
  /// The position of the habit in the list, 0 to 100,000.
  public var displayOrder = 0
  /// The key of the ``HabitCategory`` that the habit belongs to; nil if it belongs to none.
  public var categoryKey: String?
  /// The id of the app's suggestion from which the habit was created; nil if there was none.
  public var suggestionID: String?
  /// Whether the habit is pinned to the top of the list.
  public var isPinned = false
  /// Notes about the habit, at most 10,000 characters long.
  public var notes = ""
  /// The time when the habit was last done, as recorded by the app.
  public var lastCompletedDate: Date?
  /// The time when the habit was archived; nil if it is not archived.
  public var archivedDate: Date?
  /// The priority of the habit; nil if it has none.
  public var priority: HabitPriority?
  /// The place at which the user is reminded; there is no such place if `place.location` is nil.
  public var place = HabitLocation()
  public var origin = RecordOrigin()

  public init(id: ID) { self.id = id }

  /// Creates a new binary habit.
  public init(
    name: String, emoji: String = "", schedule: HabitSchedule = .daily, categoryKey: String? = nil,
    id: ID = .new()
  ) {
    self.id = id
    self.name = name
    self.emoji = emoji
    self.schedule = schedule
    self.categoryKey = categoryKey
  }

  /// Creates a new numeric habit.
  public init(
    name: String, counting unit: String, dailyTarget: Double?, emoji: String = "",
    schedule: HabitSchedule = .daily, categoryKey: String? = nil, id: ID = .new()
  ) {
    self.init(name: name, emoji: emoji, schedule: schedule, categoryKey: categoryKey, id: id)
    kind = .numeric
    unitLabel = unit
    self.dailyTarget = dailyTarget
  }

  public static let fields = RecordFields<Habit>(
    Kind.habit, id: \.id,
    [
      .text("name", \.name), .field("colorHex", \.colorHex, absent: "#2DA9E3"), .text("emoji", \.emoji),
      .field("kind", \.kind, absent: .binary), .text("unitLabel", \.unitLabel),
      .field("dailyTarget", \.dailyTarget), .field("schedule", \.schedule, absent: .daily),
      .field("reminders", \.reminders, absent: []), .field("startDate", \.startDate),
      .field("endDate", \.endDate), .field("isActive", \.isActive, absent: true),
      .field("displayOrder", \.displayOrder, absent: 0), .field("categoryId", \.categoryKey),
      .field("suggestionId", \.suggestionID), .field("isPinned", \.isPinned, absent: false),
      .text("notes", \.notes), .field("lastCompletedDate", \.lastCompletedDate),
      .field("archivedDate", \.archivedDate), .field("priorityLevel", \.priority),
      .field("location", \.place.location), .field("radius", \.place.radius),
      .field("triggerType", \.place.trigger), .field("frequency", \.place.frequency),
      .field("isLocationEnabled", \.place.isEnabled, absent: false),
      .text("locationLabel", \.place.label), .field("lastTriggerDate", \.place.lastTriggerDate),
      .field("lastEntryTriggerDate", \.place.lastEntryTriggerDate),
      .field("lastExitTriggerDate", \.place.lastExitTriggerDate),
      .field("lastGeofenceTriggerDate", \.place.lastGeofenceTriggerDate),
    ])
}

/// A category of habits.
public struct HabitCategory: Record {
  /// The id of the category, which is derived from its key.
  public let id: ID
  /// The key that identifies the category in exported files and in ``Habit/categoryKey``, such as `health`. It never
  /// changes.
  public private(set) var key = ""
  /// The name of the category: at most 100 characters, never empty.
  public var name = ""
  /// The name under which the category is shown, at most 200 characters long.
  public var displayName = ""
  /// The emoji of the category, at most 10 characters long.
  public var emoji = ""
  /// The position of the category in the list, 0 to 10,000.
  public var order = 0
  /// Whether the app offers the category to the user.
  public var isActive = true
  /// Whether the app provides the category.
  public var isPredefined = false
  /// The weight of each personality trait, by the name of the trait.
  public var personalityWeights: [String: Double] = [:]
  public var origin = RecordOrigin()

  public init(id: ID) { self.id = id }

  /// Creates a new category. When it is saved, its key is derived from its name, and its id from the key: the key of
  /// `Health & Body` is `health-body`.
  ///
  /// Because saving changes the id, continue with the value that saving returns.
  public init(name: String, emoji: String = "", order: Int = 0) {
    id = .new()
    self.name = name
    self.emoji = emoji
    self.order = order
  }

  /// Creates a new category with a given key.
  ///
  /// - Parameters:
  ///   - key: the key, at most 1,000 characters and not empty. If two devices use the same key, they create the same
  ///     category.
  ///   - name: the name, at most 100 characters and not empty.
  ///   - emoji: the emoji, at most 10 characters long.
  ///   - order: the position in the list.
  public init(key: String, name: String, emoji: String = "", order: Int = 0) {
    id = ID(RecordID(kind: Kind.category, key: key))
    self.key = key
    self.name = name
    self.emoji = emoji
    self.order = order
  }

  public static let fields = RecordFields<HabitCategory>(
    Kind.category, id: \.id,
    [
      .text("key", \.key), .text("name", \.name), .text("displayName", \.displayName),
      .text("emoji", \.emoji), .field("order", \.order, absent: 0),
      .field("isActive", \.isActive, absent: true), .field("isPredefined", \.isPredefined, absent: false),
      .field("personalityWeights", \.personalityWeights, absent: [:]),
    ])
}
