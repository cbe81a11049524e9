public import Foundation
import Records
import Storage
import Wire

/// Something to do again and again.
///
/// What was done is a ``HabitEntry`` each time; see ``HabitProgress`` for days, streaks and completion.
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
  /// How many of them a day; 0.01 to 1,000,000.
  public var dailyTarget: Double?
  /// The days on which it is due.
  public var schedule = HabitSchedule.daily
  /// At most 24.
  public var reminders: [HabitReminder] = []
  /// Saving a new habit fills it in.
  public var startDate: Date?
  /// The last day; nil if it goes on.
  public var endDate: Date?
  /// Whether it is offered at all.
  public var isActive = true
  /// Where it stands in the list; 0 to 100,000.
  public var displayOrder = 0
  /// The key of its ``HabitCategory``.
  public var categoryKey: String?
  /// The suggestion of the app that it was made from.
  public var suggestionID: String?
  /// Whether it stands on top of the list.
  public var isPinned = false
  /// At most 10,000 characters.
  public var notes = ""
  /// When it was last done, as the app notes it.
  public var lastCompletedDate: Date?
  /// When it was put away; nil if it was not.
  public var archivedDate: Date?
  /// 1 low, 2, 3 high.
  public var priorityLevel: Int?
  /// Where it reminds, if `place.location` is set.
  public var place = HabitLocation()
  public var origin = RecordOrigin()

  public init(id: UUID) { self.id = id }

  /// A new habit that is done or not.
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

  /// A new habit that counts something.
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

/// What habits are filed under.
public struct HabitCategory: Record {
  /// Follows from the key.
  public let id: UUID
  /// What names it, in files and in ``Habit/categoryKey``: `health`. Fixed.
  public private(set) var key = ""
  /// At most 100 characters; never empty.
  public var name = ""
  /// At most 200 characters.
  public var displayName = ""
  /// At most 10 characters.
  public var emoji = ""
  /// Where it stands in the list; 0 to 10,000.
  public var order = 0
  /// Whether it is offered at all.
  public var isActive = true
  /// Whether the app brought it along.
  public var isPredefined = false
  /// How much it says of each trait of a person.
  public var personalityWeights: [String: Double] = [:]
  public var origin = RecordOrigin()

  public init(id: UUID) { self.id = id }

  /// A new category that gets its key, and with it its id, from its name when it is saved: `Health & Body` becomes
  /// `health-body`.
  ///
  /// Go on with the value that saving returns.
  public init(name: String, emoji: String = "", order: Int = 0) {
    id = .record()
    self.name = name
    self.emoji = emoji
    self.order = order
  }

  /// A new category.
  ///
  /// - Parameters:
  ///   - key: at most 1,000 characters, not empty; two devices that make the same key make one category.
  ///   - name: at most 100 characters, not empty.
  ///   - emoji: at most 10 characters.
  ///   - order: where it stands in the list.
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
