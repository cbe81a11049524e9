package import LogStorage
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
      if run.key?.kind != entry.key.kind { close(&run) }
      run.count(entry.key, entry.type)
      guard records.count < 2, !Self.hidden.contains(entry.key.kind) else { return }
      records.insert(entry.key)
      if entry.type != .insert { fields.formUnion(body.cells[entry.cells].map(\.field)) }
    }
    close(&run)
    guard records.count == 1, let only = records.first else { return }
    single = only
    guard only.kind.mergeClass == .fieldByField else { return }
    let kind = store.schema.kind(only.kind)
    fieldNames = fields.sorted().map { kind?.field($0)?.name ?? "field \($0)" }
  }

  init(_ drafts: [EntryDraft]) {
    var run = Run()
    for draft in drafts {
      if run.key?.kind != draft.key.kind { close(&run) }
      run.count(draft.key, draft.type)
    }
    close(&run)
  }

  /// Counts consecutive entries of one kind, so that large operations need no dictionary lookup for each entry.
  private struct Run {
    var key: RecordKey?
    var count = Count()
    /// The type of the latest entry.
    var type = EntryType.put

    mutating func count(_ record: RecordKey, _ type: EntryType) {
      let earlier = key == record ? self.type : nil
      (key, self.type) = (record, type)
      // The entries of one record are adjacent and count as one change: the one to its life, if there is one.
      if earlier == .insert {
        // An insert next to an erase writes an existing record again, to keep some of its values.
        if type == .erase { (count.added, count.changed) = (count.added - 1, count.changed + 1) }
        return
      }
      if earlier != nil { count.changed -= 1 }
      switch type {
      case .put: count.changed += 1
      case .insert: count.added += 1
      case .erase where record.kind.mergeClass == .wholeRecord: count.changed += 1
      case .delete, .erase: count.deleted += 1
      case .restore: count.restored += 1
      }
    }
  }

  private mutating func close(_ run: inout Run) {
    if let kind = run.key?.kind { counts[kind, default: Count()].add(run.count) }
    run = Run()
  }

  /// The counts, ordered by kind number; kinds without a change are left out.
  func recordCounts(_ schema: Schema) -> [RecordCounts] {
    counts.sorted { $0.key < $1.key }.filter { $0.value.total > 0 }.map { number, count in
      RecordCounts(
        kind: schema.name(number), added: count.added, changed: count.changed, deleted: count.deleted,
        restored: count.restored)
    }
  }

  /// The kinds whose records users see only as parts of other records.
  private static let hidden: Set<KindNumber> = [KindNumbers.address]
}
