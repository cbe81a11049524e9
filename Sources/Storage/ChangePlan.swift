// Protocol/merge.md, "Operations and undo"

import Records
package import Replication
import Wire

/// The entries that bring records from their present state to a wanted one, for undo and for overrides.
package struct ChangePlan: Sendable {
  package private(set) var drafts: [EntryDraft] = []
  /// The lowest clock that the first set may have. Merging caps a whole record's time of change at the clock of its
  /// set, so with a lower clock, the change would count as earlier than it states.
  package private(set) var leastClock = Clock.zero
  private let now: Moment

  package init(now: Moment) { self.now = now }

  /// Adds the entries of a plan for other records.
  package mutating func add(_ other: ChangePlan) {
    drafts += other.drafts
    leastClock = max(leastClock, other.leastClock)
  }

  /// Adds the deletion of a record that is alive.
  package mutating func delete(_ record: RecordKey) { drafts.append(EntryDraft(.delete, record)) }

  /// Adds the entries for one record; call it at most once per record. Returns false if the record is already in the
  /// wanted state.
  ///
  /// Fixed cells are never changed. An absent field and a null field count as equal.
  @discardableResult
  package mutating func bring(
    _ record: RecordKey, from held: RecordState, to wanted: WantedRecord
  ) throws -> Bool {
    if record.kind.mergeClass == .wholeRecord {
      return try bringWhole(record, from: held, wanted.contents)
    }
    let before = drafts.count
    let fields = Set(held.cells.keys).union(wanted.contents.keys)
      .filter { $0 != Fields.life && !FixedRecords.isFixed(record, $0) }
    let changed = try fields.sorted().compactMap { field -> (field: FieldNumber, value: Value)? in
      let content = wanted.contents[field] ?? Self.null
      guard content != held.cells[field]?.content ?? Self.null else { return nil }
      return (field, try Value(encoded: content[...]))
    }
    let isFixed = FixedRecords.isFixed(record, Fields.life)
    // A record that was never inserted gets an insert; any other gets a restore.
    if held.life == nil, wanted.isAlive, !isFixed {
      drafts.append(EntryDraft(.insert, record, changed))
      return true
    }
    if !changed.isEmpty { drafts.append(EntryDraft(.put, record, changed)) }
    if !isFixed, held.life != wanted.life, held.life == true || wanted.life != nil {
      drafts.append(EntryDraft(wanted.isAlive ? .restore : .delete, record))
    }
    return drafts.count > before
  }

  private mutating func bringWhole(
    _ record: RecordKey, from held: RecordState, _ wanted: [FieldNumber: [UInt8]]
  ) throws -> Bool {
    var fields = Self.filled(wanted)
    guard fields != Self.filled(held.contents) else { return false }
    let updatedAt = max(now, held.timeOfChange.map { $0 + 1 } ?? now)
    fields[Fields.wholeRecordUpdatedAt] = Value.integer(updatedAt).encoded
    let values = try fields.map { (field: $0.key, value: try Value(encoded: $0.value[...])) }
    drafts.append(EntryDraft(.put, record, values))
    leastClock = max(leastClock, Clock(milliseconds: updatedAt))
    return true
  }

  /// Returns the fields of a whole record, without its time of change and without nulls.
  private static func filled(_ contents: [FieldNumber: [UInt8]]) -> [FieldNumber: [UInt8]] {
    contents.filter { $0.key != Fields.wholeRecordUpdatedAt && $0.value != null }
  }

  private static let null = Value.null.encoded
}

/// The wanted state of a record: its life and its fields. Fields that are left out are to be emptied.
package struct WantedRecord: Hashable, Sendable {
  /// Whether the record is to be alive. False puts it in the trash, even if it was never inserted; nil ends its life if it
  /// has one.
  package var life: Bool?
  /// The wanted content of each field, as canonical CBOR.
  package var contents: [FieldNumber: [UInt8]]

  package init(isAlive: Bool, contents: [FieldNumber: [UInt8]]) {
    life = isAlive ? true : nil
    self.contents = contents
  }

  /// Creates the wanted state from a state that the record had at some time.
  package init(_ state: RecordState) {
    life = state.life
    contents = state.contents
  }

  package var isAlive: Bool { life == true }
}
