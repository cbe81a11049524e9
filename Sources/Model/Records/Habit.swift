public import Foundation
import Records
import Storage
import Wire

/// A recurring activity.
///
/// Each time it is done is a ``HabitEntry``; see ``HabitProgress`` for days, streaks and completion.
public struct Habit: Record {
  public let id: UUID
  /// At most 200 characters; never empty.
  public var name = ""
  /// `#RRGGBB`
  public var colorHex = "#2DA9E3"
  /// At most 10 characters.
  public var emoji = ""
  /// Whether it is done or not, or counts something.
  public var kind = HabitKind.binary
  /// What a numeric habit counts: glasses, pages; at most 50 characters.
  public var unitLabel = ""
  /// The daily target; 0.01 to 1,000,000.
  public var dailyTarget: Double?
  /// The days on which the habit is due.
  public var schedule = HabitSchedule.daily
  /// At most 24.
  public var reminders: [HabitReminder] = []
  /// The first day; set when a new habit is saved.
  public var startDate: Date?
  /// The last day; nil for no end.
  public var endDate: Date?
  /// Whether the app offers it.
  public var isActive = true
  /// The position in the list; 0 to 100,000.
  public var displayOrder = 0
  /// The key of its ``HabitCategory``.
  public var categoryKey: String?
  /// The app's suggestion that it was created from.
  public var suggestionID: String?
  /// Whether it is pinned to the top of the list.
  public var isPinned = false
  /// At most 10,000 characters.
  public var notes = ""
  /// When it was last done, as recorded by the app.
  public var lastCompletedDate: Date?
  /// When it was archived; nil if it is not.
  public var archivedDate: Date?
  /// 1 (low), 2, 3 (high).
  public var priorityLevel: Int?
  /// The place of its reminder, if `place.location` is set.
  public var place = HabitLocation()
  public var origin = RecordOrigin()

  public init(id: UUID) { self.id = id }

  /// A new binary habit.
  public init(
    name: String, emoji: String = "", schedule: HabitSchedule = .daily, categoryKey: String? = nil,
    id: UUID = .record()
  ) {
    self.id = id
    self.name = name
    self.emoji = emoji
    self.schedule = schedule
    self.categoryKey = categoryKey
  }

  /// A new numeric habit.
  public init(
    name: String, counting unit: String, dailyTarget: Double?, emoji: String = "",
    schedule: HabitSchedule = .daily, categoryKey: String? = nil, id: UUID = .record()
  ) {
    self.init(name: name, emoji: emoji, schedule: schedule, categoryKey: categoryKey, id: id)
    kind = .numeric
    unitLabel = unit
    self.dailyTarget = dailyTarget
  }

  public static let fields = RecordFields<Habit>(
    Registry.habit, id: \.id,
    [
      .text("name", \.name), .field("colorHex", \.colorHex, absent: "#2DA9E3"), .text("emoji", \.emoji),
      .field("kind", \.kind, absent: .binary), .text("unitLabel", \.unitLabel),
      .field("dailyTarget", \.dailyTarget), .field("schedule", \.schedule, absent: .daily),
      .field("reminders", \.reminders, absent: []), .field("startDate", \.startDate),
      .field("endDate", \.endDate), .field("isActive", \.isActive, absent: true),
      .field("displayOrder", \.displayOrder, absent: 0), .field("categoryId", \.categoryKey),
      .field("suggestionId", \.suggestionID), .field("isPinned", \.isPinned, absent: false),
      .text("notes", \.notes), .field("lastCompletedDate", \.lastCompletedDate),
      .field("archivedDate", \.archivedDate), .field("priorityLevel", \.priorityLevel),
      .field("location", \.place.location), .field("radius", \.place.radius),
      .field("triggerType", \.place.trigger), .field("frequency", \.place.frequency),
      .field("isLocationEnabled", \.place.isEnabled, absent: false),
      .text("locationLabel", \.place.label), .field("lastTriggerDate", \.place.lastTriggerDate),
      .field("lastEntryTriggerDate", \.place.lastEntryTriggerDate),
      .field("lastExitTriggerDate", \.place.lastExitTriggerDate),
    ])
}

/// A category of habits.
public struct HabitCategory: Record {
  /// Derived from the key.
  public let id: UUID
  /// The key, in files and in ``Habit/categoryKey``: `health`. Never changes.
  public private(set) var key = ""
  /// At most 100 characters; never empty.
  public var name = ""
  /// At most 200 characters.
  public var displayName = ""
  /// At most 10 characters.
  public var emoji = ""
  /// The position in the list; 0 to 10,000.
  public var order = 0
  /// Whether the app offers it.
  public var isActive = true
  /// Whether the app provides it.
  public var isPredefined = false
  /// The weight of each personality trait.
  public var personalityWeights: [String: Double] = [:]
  public var origin = RecordOrigin()

  public init(id: UUID) { self.id = id }

  /// A new category. When it is saved its key is derived from its name, and its id from the key: `Health & Body`
  /// becomes `health-body`.
  ///
  /// Continue with the value that saving returns.
  public init(name: String, emoji: String = "", order: Int = 0) {
    id = .record()
    self.name = name
    self.emoji = emoji
    self.order = order
  }

  /// A new category with a key.
  ///
  /// - Parameters:
  ///   - key: at most 1,000 characters, not empty; the same key on two devices makes one category.
  ///   - name: at most 100 characters, not empty.
  ///   - emoji: at most 10 characters.
  ///   - order: the position in the list.
  public init(key: String, name: String, emoji: String = "", order: Int = 0) {
    id = UUID(RecordID(kind: Registry.category, key: key))
    self.key = key
    self.name = name
    self.emoji = emoji
    self.order = order
  }

  public static let fields = RecordFields<HabitCategory>(
    Registry.category, id: \.id,
    [
      .text("key", \.key), .text("name", \.name), .text("displayName", \.displayName),
      .text("emoji", \.emoji), .field("order", \.order, absent: 0),
      .field("isActive", \.isActive, absent: true), .field("isPredefined", \.isPredefined, absent: false),
      .field("personalityWeights", \.personalityWeights, absent: [:]),
    ])
}
