package import Platform
import Home
package import Reasons
import Records
package import Replication
package import Storage
import Wire

/// Reads the entries of one habit that count on one day, and prepares changes to them.
///
/// Applications and the command line use the same rule: the profile's settings determine on which day an entry
/// counts. See ``DayCount``.
package struct HabitDayEntries {
  /// The time at which a habit was done.
  package enum Time: Hashable, Sendable {
    case now
    /// The present time if the day is today, otherwise noon of the day.
    case day(Day)
    case moment(Date)
  }

  let store: Store
  let habit: RecordRow
  package let day: Day
  private let count: DayCount
  private let now: Moment
  /// The time that is written in new entries.
  private let moment: Moment
  private let zone: String

  /// - Parameters:
  ///   - zone: the user's time zone, and the name under which it is written in entries.
  init(
    _ store: Store, habit: RecordRow, _ time: Time, _ zone: (value: Zone, name: String), now: Moment
  ) throws {
    self.store = store
    self.habit = habit
    self.now = now
    count = DayCount(Profile(try store.heldProfile()))
    let counted = count.fixedZone ?? zone.value
    let present = Date(milliseconds: now)
    let date: Date
    switch time {
    case .now: (day, date) = (Day(present, in: counted), present)
    case .moment(let moment): (day, date) = (Day(moment, in: counted), moment)
    case .day(let wanted):
      day = wanted
      date = wanted == Day(present, in: counted) ? present : wanted.noon(in: counted)
    }
    moment = date.milliseconds
    // Entries are written in the user's zone, unless they would belong to a different day there.
    self.zone = Day(date, in: zone.value) == day ? zone.name : counted.name
  }

  /// - Parameter day: the day; nil for today.
  package init(_ store: Store, of habit: Habit.ID, _ day: Day?, _ zone: TimeZone, now: Moment) throws {
    let zone = Zone(zone)
    guard let habit = try store.visible(Kind.habit, RecordID(habit)) else {
      throw WaymarkError.notFound("habit", habit.description, next: .waymark("habit list"))
    }
    try self.init(store, habit: habit, day.map { .day($0) } ?? .now, (zone, zone.name), now: now)
  }

  /// Whether the habit is binary, that is, either done or not done on a day, without an amount.
  package var isBinary: Bool { habit.text(Kind.habit.number("kind")) != HabitKind.numeric.rawValue }

  /// Whether the time is more than a day ahead: nothing can have been done then, not even where it is already tomorrow.
  fileprivate var isAhead: Bool { moment > now + 86_400_000 }

  // MARK: Reading

  /// A summary of the habit's entries on the day.
  package struct Summary: Hashable, Sendable, Codable {
    package let id: String
    /// The same as `id`.
    package let habit: String
    package let name: String?
    package let day: String
    package let done: Bool
    /// The sum of the entries' values; nil for a binary habit.
    package let value: Double?
    package let entries: [String]
  }

  package func summary() throws -> Summary {
    let entries = try entries()
    var sum = DecimalSum()
    for entry in entries { sum.add(entry[Self.valueField]?.asFloat ?? 1) }
    let id = habit.key.id.uuid
    return Summary(
      id: id, habit: id, name: habit.text(Kind.habit.number("name")), day: day.description,
      done: !entries.isEmpty, value: isBinary ? nil : sum.value, entries: entries.map(\.key.id.uuid))
  }

  /// Returns the visible entries of the day, ordered by id.
  private func entries() throws -> [RecordRow] {
    try store.children(of: habit.key, KindNumbers.habitEntry).filter { count.day(of: HabitEntry($0)) == day }
      .sorted { $0.key < $1.key }
  }

  // MARK: Writing

  /// Prepares the change that adds an entry. If two devices add one entry each, both count.
  ///
  /// A binary habit gets one entry a day: there is nothing to change if the habit is done, and devices that tick it at
  /// the same time write the same entry.
  package func adding(_ value: Double) throws -> PreparedChange { try adding(value).change }

  package func adding(_ value: Double) throws -> (id: HabitEntry.ID, change: PreparedChange) {
    let value = try checked(value)
    guard !isBinary else { return try done(value) }
    let key = newKey()
    return (
      HabitEntry.ID(key.id),
      PreparedChange(verb: "habit.tick", entries: EntryDraft.putting(key, fields(value), on: nil))
    )
  }

  private func done(_ value: Double) throws -> (id: HabitEntry.ID, change: PreparedChange) {
    let first = try entries().first
    let drafts = try first == nil ? setting(value, []) : []
    return (
      HabitEntry.ID((first?.key ?? drafts[0].key).id), PreparedChange(verb: "habit.tick", entries: drafts)
    )
  }

  /// Prepares the change that deletes all of the day's entries in the store of this device.
  package func clearing() throws -> PreparedChange {
    PreparedChange(verb: "habit.untick", entries: try entries().map { EntryDraft(.delete, $0.key) })
  }

  /// Prepares the change that replaces the entries of the day with one entry that has this value. For a binary habit,
  /// the value 0 only deletes the entries.
  package func setting(_ value: Double) throws -> PreparedChange {
    let value = try checked(value)
    let entries = try entries()
    let drafts =
      isBinary && value == 0
      ? entries.map { EntryDraft(.delete, $0.key) } : try setting(value, entries)
    return PreparedChange(verb: "habit.set", entries: drafts)
  }

  /// Returns the entries that write the value to the existing entry with the lowest id and delete the day's other
  /// entries. If the day has no entry, the value is written to the entry whose id is derived from the habit and the
  /// day.
  private func setting(_ value: Double, _ entries: [RecordRow]) throws -> [EntryDraft] {
    guard let first = entries.first else {
      let id = HabitDay.entryID(habit: habit.key.id, day: day.description)
      let key = RecordKey(kind: KindNumbers.habitEntry, id: id)
      let held = try store.record(key)
      // If the entry with the derived id is alive, it was moved to another day, so a new entry is needed.
      guard held?.isAlive != true else { return EntryDraft.putting(newKey(), fields(value), on: nil) }
      return EntryDraft.putting(key, fields(value), on: held)
    }
    let changed: [(field: FieldNumber, value: Value)] =
      first[Self.valueField] == .float(value) ? [] : [(Self.valueField, .float(value))]
    return EntryDraft.putting(first.key, changed, on: first)
      + entries.dropFirst().map { EntryDraft(.delete, $0.key) }
  }

  private func newKey() -> RecordKey {
    RecordKey(kind: KindNumbers.habitEntry, id: RecordID(milliseconds: now, random: random16()))
  }

  private func fields(_ value: Double) -> [(field: FieldNumber, value: Value)] {
    [
      (Kind.habitEntry.number("habitID"), .bytes(habit.key.id.bytes)),
      (Kind.habitEntry.number("date"), HabitDay.value(moment, zone: zone)),
      (Self.valueField, .float(value)),
    ]
  }

  private func checked(_ value: Double) throws -> Double {
    let value = wireFloat(value)
    let draft = RecordDraft(Kind.habitEntry, RecordID(.zero), [Self.valueField: .float(value)])
    do throws(FieldError) {
      try Kind.habitEntry.validate(draft, isNew: false)
    } catch {
      throw WaymarkError(refused: error, kind: Kind.habitEntry)
    }
    return value
  }

  private static let valueField = Kind.habitEntry.number("value")
}

extension WaymarkError {
  /// Returns the error for a value that a binary habit can't have.
  package static func notDoneOrNot(_ typed: String) -> WaymarkError {
    .badValue("the value", typed, allowed: "this habit is either done (1) or not done (0)")
  }
}

extension TypedRecords {
  /// Returns the entries of a habit on the day that the user specified.
  ///
  /// - Parameters:
  ///   - name: the habit's name or id, or the beginning of either.
  ///   - date: a day or a time as typed; nil for the present time.
  ///   - isNew: whether an entry is to be added, for which the day can't be in the future.
  package func day(ofHabit name: String, _ date: String?, isNew: Bool = false) throws -> HabitDayEntries {
    let habit = try NameResolver(store: store).resolve(Kind.habit, name)
    guard let known = Zone(named: zone) else {
      throw WaymarkError.badValue("--zone", zone, allowed: "use a time zone such as Europe/Rome")
    }
    guard let time = time(date) else {
      throw WaymarkError.badValue(
        "--date", date ?? "", allowed: "use a day (2026-05-03) or a time (2026-05-03T15:00)")
    }
    let day = try HabitDayEntries(store, habit: habit, time, (known, zone), now: now)
    guard !isNew || !day.isAhead else {
      throw WaymarkError.badValue(
        "--date", date ?? "", allowed: "it is in the future; an entry is for what has been done")
    }
    return day
  }

  private func time(_ text: String?) -> HabitDayEntries.Time? {
    guard let text else { return .now }
    if let day = Day(text) { return .day(day) }
    guard let written = WrittenTime(text) else { return nil }
    let moment =
      written.milliseconds
      ?? CivilTime.offsets.milliseconds(wall: written.wallMilliseconds, zone: zone)
    return moment.map { .moment(Date(milliseconds: $0)) }
  }
}
