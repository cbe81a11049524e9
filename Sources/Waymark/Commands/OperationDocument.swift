import Records
import Replication
import Storage
import Wire

/// Writes operations as documents: who did what, when, and whether it was undone.
struct OperationDocument {
  let store: Store
  let own: DeviceKey
  let deviceName: (DeviceKey) -> String

  /// Everything about an operation.
  func members(_ operation: Operation) throws -> [JSON.Member] {
    let content = try OperationContent(operation, store)
    let single = try content.single.map(reference)
    return members(of: operation.key, verb: operation.verb, at: operation.clock)
      + [
        .init("undoes", .text(operation.undone?.description)),
        .init("undoneBy", .text(try operation.undo(in: store)?.key.id.description)),
        .init("counts", content.json), .init("record", single ?? .null),
        .init("fields", .array(content.fieldNames.map(JSON.string))),
      ]
  }

  /// Which operation, what it was, who did it, and when.
  func members(of key: OperationKey, verb: String, at clock: Clock) -> [JSON.Member] {
    [
      .init("id", .string(key.id.description)), .init("verb", .string(verb)),
      .init("time", timeJSON(clock.milliseconds)), .init("device", .string(key.device.description)),
      .init("deviceName", .string(deviceName(key.device))), .init("own", .bool(key.device == own)),
    ]
  }

  /// A record by kind, id and name; the name also of one that is deleted.
  func reference(_ key: RecordKey) throws -> JSON {
    let kind = Registry.kind(key.kind)
    return [
      "kind": .string(kind?.name ?? "kind \(key.kind.rawValue)"), "id": .string(key.id.uuid),
      "name": .text(try title(key)),
    ]
  }

  /// What people call a record, whether they can see it or not.
  func title(_ key: RecordKey) throws -> String? {
    guard let kind = Registry.kind(key.kind), let record = try store.record(key) else { return nil }
    if kind.number == KindNumbers.setting { return record.text(kind.number("key")) }
    guard kind.number == KindNumbers.log else { return kind.title(of: record) }
    let habit = record[kind.number("habitID")]?.asRecordID
      .map { RecordKey(kind: KindNumbers.habit, id: $0) }
    let parts = [try habit.flatMap(title), record[kind.number("date")]?.part(2).asText]
    return parts.compactMap(\.self).joined(separator: " ")
  }
}

/// What an operation did, in numbers, or to which record.
struct OperationContent {
  /// How many records of one kind were written, and how.
  struct Count: Hashable {
    var added = 0
    var changed = 0
    var deleted = 0
    var restored = 0

    var total: Int { added + changed + deleted + restored }
  }

  private(set) var counts: [KindNumber: Count] = [:]
  /// The only record, if there is one only.
  private(set) var single: RecordKey?
  /// What of the only record was written, if that is not all of it.
  private(set) var fieldNames: [String] = []

  init(_ operation: Operation, _ store: Store) throws {
    var last: RecordKey?
    var records: Set<RecordKey> = []
    var fields: Set<FieldNumber> = []
    try store.forEachEntry(of: operation.sets) { entry, body, _ in
      let numbers = body.cells[entry.cells].map(\.field)
      count(entry.key, entry.type, isInsert: numbers.first == Fields.life, follows: last == entry.key)
      last = entry.key
      guard !Self.hidden.contains(entry.key.kind), records.count < 2 else { return }
      records.insert(entry.key)
      if numbers.first != Fields.life { fields.formUnion(numbers) }
    }
    guard records.count == 1, let only = records.first else { return }
    single = only
    guard only.kind.mergeClass == .fieldByField else { return }
    let kind = Registry.kind(only.kind)
    fieldNames = fields.sorted().map { kind?.field($0)?.name ?? "field \($0)" }
  }

  init(_ drafts: [EntryDraft]) {
    var last: RecordKey?
    for draft in drafts {
      let isInsert = draft.fields.first?.field == Fields.life
      count(draft.key, draft.type, isInsert: isInsert, follows: last == draft.key)
      last = draft.key
    }
  }

  private mutating func count(_ record: RecordKey, _ type: EntryType, isInsert: Bool, follows: Bool) {
    var count = counts[record.kind] ?? Count()
    // A life entry stands behind the put of the same record: both are one change.
    if follows { count.changed -= 1 }
    switch type {
    case .put where isInsert: count.added += 1
    case .put: count.changed += 1
    case .delete: count.deleted += 1
    case .restore: count.restored += 1
    }
    counts[record.kind] = count
  }

  /// One object a kind, with how many records were added, changed, deleted, restored.
  var json: JSON {
    .array(
      counts.sorted { $0.key < $1.key }.filter { $0.value.total > 0 }.map { number, count in
        let kind = Registry.kind(number)
        return [
          "kind": .string(kind?.name ?? "kind \(number.rawValue)"),
          "added": .integer(count.added), "changed": .integer(count.changed),
          "deleted": .integer(count.deleted), "restored": .integer(count.restored),
        ]
      })
  }

  /// Records that people know only as parts of others.
  private static let hidden: Set<KindNumber> = [KindNumbers.content, KindNumbers.address]
}
