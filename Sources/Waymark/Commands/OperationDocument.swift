import JSONDocument
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
  ///
  /// - Parameter content: what it did, where that is known already.
  func members(_ operation: Operation, _ content: OperationContent? = nil) throws -> [JSON.Member] {
    let content = try content ?? OperationContent(operation, store)
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
    [
      "kind": .string(RecordKind(key.kind).rawValue), "id": .string(key.id.uuid),
      "name": .text(try title(key)),
    ]
  }

  /// What people call a record, whether they can see it or not.
  func title(_ key: RecordKey) throws -> String? { try store.title(key) }
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

    mutating func add(_ other: Count) {
      added += other.added
      changed += other.changed
      deleted += other.deleted
      restored += other.restored
    }
  }

  private(set) var counts: [KindNumber: Count] = [:]
  /// The only record, if there is one only.
  private(set) var single: RecordKey?
  /// What of the only record was written, if that is not all of it.
  private(set) var fieldNames: [String] = []

  init(_ operation: Operation, _ store: Store) throws {
    var run = Run()
    var records: Set<RecordKey> = []
    var fields: Set<FieldNumber> = []
    try store.forEachEntry(of: operation.sets) { entry, body, _ in
      let cells = body.cells[entry.cells]
      let isInsert = cells.first?.field == Fields.life
      if run.key?.kind != entry.key.kind { close(&run) }
      run.count(entry.key, entry.type, isInsert: isInsert)
      guard records.count < 2, !Self.hidden.contains(entry.key.kind) else { return }
      records.insert(entry.key)
      if !isInsert { fields.formUnion(cells.map(\.field)) }
    }
    close(&run)
    guard records.count == 1, let only = records.first else { return }
    single = only
    guard only.kind.mergeClass == .fieldByField else { return }
    let kind = Registry.kind(only.kind)
    fieldNames = fields.sorted().map { kind?.field($0)?.name ?? "field \($0)" }
  }

  init(_ drafts: [EntryDraft]) {
    var run = Run()
    for draft in drafts {
      if run.key?.kind != draft.key.kind { close(&run) }
      run.count(draft.key, draft.type, isInsert: draft.fields.first?.field == Fields.life)
    }
    close(&run)
  }

  /// Entries of one kind that follow one another: a hundred thousand are counted without a look at a table.
  private struct Run {
    var key: RecordKey?
    var count = Count()

    mutating func count(_ record: RecordKey, _ type: EntryType, isInsert: Bool) {
      // A life entry stands behind the put of the same record: both are one change.
      if key == record { count.changed -= 1 }
      key = record
      switch type {
      case .put where isInsert: count.added += 1
      case .put: count.changed += 1
      case .delete: count.deleted += 1
      case .restore: count.restored += 1
      }
    }
  }

  private mutating func close(_ run: inout Run) {
    if let kind = run.key?.kind { counts[kind, default: Count()].add(run.count) }
    run = Run()
  }

  /// One object a kind, with how many records were added, changed, deleted, restored.
  var json: JSON {
    .array(
      counts.sorted { $0.key < $1.key }.filter { $0.value.total > 0 }.map { number, count in
        [
          "kind": .string(RecordKind(number).rawValue),
          "added": .integer(count.added), "changed": .integer(count.changed),
          "deleted": .integer(count.deleted), "restored": .integer(count.restored),
        ]
      })
  }

  /// Records that people know only as parts of others.
  private static let hidden: Set<KindNumber> = [KindNumbers.content, KindNumbers.address]
}
