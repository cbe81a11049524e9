import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `habit tick|untick|set`: entries of a day.
extension Node {
  /// Adds an entry: two devices that each add one make two.
  func tickHabit(_ request: CommandRequest) throws -> JSON {
    let day = try habitDay(request)
    let value = try number(request.text("value")) ?? 1
    guard !day.isBinary || value == 1 else { throw Self.doneOrNot(request.text("value") ?? "") }
    let key = RecordKey(kind: KindNumbers.log, id: newRecordID())
    _ = try write(request.command, EntryDraft.putting(key, day.fields(value), on: nil))
    return try day.document(request, store)
  }

  /// Deletes the entries of the day that are seen here.
  func untickHabit(_ request: CommandRequest) throws -> JSON {
    let day = try habitDay(request)
    let entries = try day.entries(store)
    if !entries.isEmpty { _ = try write(request.command, entries.map { EntryDraft(.delete, $0.key) }) }
    return try day.document(request, store)
  }

  /// Makes a day have a value: in one entry, whatever there was.
  func setHabit(_ request: CommandRequest) throws -> JSON {
    let day = try habitDay(request)
    let typed = try request.required("value", "a value")
    let entries = try day.entries(store)
    let drafts: [EntryDraft]
    if day.isBinary {
      switch typed.lowercased() {
      case "1", "true", "yes", "on", "done": drafts = try day.setting(1, entries, store, newID: newRecordID)
      case "0", "false", "no", "off": drafts = entries.map { EntryDraft(.delete, $0.key) }
      default: throw Self.doneOrNot(typed)
      }
    } else {
      guard let value = try number(typed) else {
        throw WaymarkError.badValue("the value", typed, allowed: "it is a number")
      }
      drafts = try day.setting(value, entries, store, newID: newRecordID)
    }
    if !drafts.isEmpty { _ = try write(request.command, drafts) }
    return try day.document(request, store)
  }

  private static func doneOrNot(_ typed: String) -> WaymarkError {
    .badValue("the value", typed, allowed: "this habit is done or not: 1 or 0")
  }

  private func habitDay(_ request: CommandRequest) throws -> EntryDay {
    let habit = try names.resolve(Registry.habit, request.required("id", "the name or id of a habit"))
    let zone = ownZone(request)
    guard CivilTime.isZone(zone) else {
      throw WaymarkError.badValue("--zone", zone, allowed: "it is a time zone such as Europe/Rome")
    }
    guard let moment = HabitDay.moment(request.text("date"), zone: zone, now: wall()) else {
      throw WaymarkError.badValue(
        "--date", request.text("date") ?? "", allowed: "write a day (2026-05-03) or a time (2026-05-03T15:00)"
      )
    }
    return EntryDay(habit: habit, moment: moment, zone: zone)
  }

  private func number(_ text: String?) throws -> Double? {
    guard let text, !text.isEmpty else { return nil }
    let field = Registry.log.number("value")
    guard let number = Double(text), number.isFinite else {
      throw WaymarkError.badValue("the value", text, allowed: "it is a number")
    }
    let value = number == 0 ? 0 : number
    do {
      try Registry.log.validate(
        RecordDraft(Registry.log, RecordID(.zero), [field: .float(value)]), isNew: false)
    } catch {
      throw WaymarkError(refused: error, kind: Registry.log)
    }
    return value
  }
}

/// One day of one habit, and what is entered for it.
struct EntryDay {
  let habit: RecordRow
  let moment: Moment
  let zone: String

  private static let kind = Registry.log
  private static let valueField = kind.number("value")
  private static let dateField = kind.number("date")

  var day: String { CivilTime.day(moment, zone: zone) }

  var isBinary: Bool { habit.text(Registry.habit.number("kind")) != "numeric" }

  func fields(_ value: Double) -> [(field: FieldNumber, value: Value)] {
    [
      (Self.kind.number("habitID"), .bytes(habit.key.id.bytes)),
      (Self.dateField, HabitDay.value(moment, zone: zone)), (Self.valueField, .float(value)),
    ]
  }

  /// The visible entries of the day, by id.
  func entries(_ store: Store) throws -> [RecordRow] {
    try store.children(of: habit.key, Self.kind.number)
      .filter { $0[Self.dateField]?.part(2).asText == day }.sorted { $0.key < $1.key }
  }

  /// Writes the value on the lowest entry seen, else on the one that derives from habit and day, and deletes
  /// the others seen.
  ///
  /// - Parameter newID: names the entry where the one that derives has been moved to another day.
  func setting(
    _ value: Double, _ entries: [RecordRow], _ store: Store, newID: () -> RecordID
  ) throws -> [EntryDraft] {
    guard let first = entries.first else {
      let key = RecordKey(kind: KindNumbers.log, id: HabitDay.entryID(habit: habit.key.id, day: day))
      let held = try store.record(key)
      guard held?.isAlive != true else {
        return EntryDraft.putting(RecordKey(kind: key.kind, id: newID()), fields(value), on: nil)
      }
      return EntryDraft.putting(key, fields(value), on: held)
    }
    let changed = first[Self.valueField] == .float(value) ? [] : [(Self.valueField, Value.float(value))]
    let put = EntryDraft.putting(first.key, changed.map { (field: $0.0, value: $0.1) }, on: first)
    return put + entries.dropFirst().map { EntryDraft(.delete, $0.key) }
  }

  /// The day as it is now.
  func document(_ request: CommandRequest, _ store: Store) throws -> JSON {
    let entries = try entries(store)
    var sum = DecimalSum()
    for entry in entries { sum.add(entry[Self.valueField]?.asFloat ?? 1) }
    return Waymark.document(
      request.command,
      [
        .init("habit", .string(habit.key.id.uuid)),
        .init("name", .text(habit.text(Registry.habit.number("name")))), .init("day", .string(day)),
        .init("done", .bool(!entries.isEmpty)), .init("value", isBinary ? .null : .float(sum.value)),
        .init("entries", .array(entries.map { .string($0.key.id.uuid) })),
      ])
  }
}
