import Model
import Records
import Replication
package import Storage
import Wire

/// What an operation did: the counts by kind and, if it wrote a single record, that record.
package struct OperationContent {
  /// The numbers of records of one kind that were added, changed, deleted and restored.
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
  /// The record that the operation wrote; nil unless it wrote exactly one.
  private(set) var single: RecordKey?
  /// The names of the fields that were written, if the operation wrote only part of a single record; otherwise empty.
  private(set) var fieldNames: [String] = []

  package init(_ operation: Operation, _ store: Store) throws {
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

  /// Counts consecutive entries of one kind, so that large operations need no dictionary lookup for each entry.
  private struct Run {
    var key: RecordKey?
    var count = Count()

    mutating func count(_ record: RecordKey, _ type: EntryType, isInsert: Bool) {
      // A life entry directly follows the put of the same record, and the two count as one change.
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

  /// The counts, ordered by kind number; kinds without a change are left out.
  var recordCounts: [RecordCounts] {
    counts.sorted { $0.key < $1.key }.filter { $0.value.total > 0 }.map { number, count in
      RecordCounts(
        kind: RecordKind(number), added: count.added, changed: count.changed, deleted: count.deleted,
        restored: count.restored)
    }
  }

  /// The kinds whose records users see only as parts of other records.
  private static let hidden: Set<KindNumber> = [KindNumbers.content, KindNumbers.address]
}
