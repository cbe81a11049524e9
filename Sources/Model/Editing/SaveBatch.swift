import Platform
import Home
import Reasons
import RecordTables
import Records
package import Replication
package import Storage
import Wire

extension Changes {
  /// Changes that have been checked but not yet written.
  package struct Prepared {
    package let change: PreparedChange
    /// The new record keys of categories whose id changed when they were saved, by their previous record keys.
    private let keys: [RecordKey: RecordKey]
    private let store: Store

    fileprivate init(_ verb: String, _ batch: SaveBatch) {
      change = PreparedChange(verb: verb, entries: batch.drafts, leastClock: batch.leastClock)
      (keys, store) = (batch.keys, batch.store)
    }

    /// Returns a saved record as the store holds it now, or the record itself if the store does not have it.
    package func stored<Owner: Record>(_ record: Owner) throws -> Owner {
      try store.record(keys[record.key] ?? record.key).map { Owner($0) } ?? record
    }
  }

  /// Checks all changes and turns them into the entries of one operation.
  ///
  /// - Parameter verb: the name of the operation in the history, 1 to 32 bytes long.
  package func prepared(_ verb: String, in store: Store, now: Moment) throws -> Prepared {
    guard (1...ChangeSetBody.verbBytesMax).contains(verb.utf8.count) else {
      throw WaymarkError.badValue("label", verb, allowed: "use 1 to \(ChangeSetBody.verbBytesMax) bytes")
    }
    var batch = SaveBatch(store: store, now: now)
    for step in steps {
      switch step {
      case .save(let record): try batch.save(record)
      case .update(let kind, let id, let edit): try batch.save(edit(try store.editable(kind, id)))
      case .delete(let key, let force): try batch.delete(key, force: force)
      case .restore(let key): try batch.restore(key)
      }
    }
    try batch.checkParents()
    return Prepared(verb, batch)
  }
}

extension Store {
  /// Returns the record that an update edits. The profile always exists, even if it was never written.
  package func editable<Owner>(_ id: Identifier<Owner>) throws -> Owner {
    Owner(try editable(Owner.kind, RecordID(id)))
  }

  fileprivate func editable(_ kind: Kind, _ id: RecordID) throws -> RecordRow {
    try checkKnown(kind)
    if kind.number == FixedRecords.profile.kind { return try heldProfile() }
    guard let row = try visible(kind, id) else {
      throw WaymarkError.notFound(kind.noun, id.uuid)
    }
    return row
  }
}

/// Checks changed records and turns them into the entries of one operation.
private struct SaveBatch {
  let store: Store
  let now: Moment
  private(set) var drafts: [EntryDraft] = []
  private(set) var leastClock = Clock.zero
  /// The records that this operation writes; they may refer to one another.
  private var written: Set<RecordKey> = []
  /// The new record keys of categories whose id was derived from their name when they were saved, by their previous
  /// record keys.
  private(set) var keys: [RecordKey: RecordKey] = [:]
  private var parents: [(child: Kind, key: RecordKey)] = []

  init(store: Store, now: Moment) {
    self.store = store
    self.now = now
  }

  mutating func save(_ record: SavedRecord) throws {
    try store.checkKnown(record.kind)
    let record = try named(record)
    let key = RecordKey(kind: record.kind.number, id: record.id)
    guard written.insert(key).inserted else {
      throw WaymarkError.usage("The \(record.kind.noun) \(key.id.uuid) is saved twice in one change.")
    }
    let held = try store.record(key)
    if record.kind.number == FixedRecords.profile.kind { return try save(profile: record, held) }
    // Saving restores a deleted record, but of an erased one only the edited fields would come back.
    if let held, !held.isAlive, !record.isNew { try store.checkNotErased(held) }
    let fields = try fields(record, held)
    if let parent = record.kind.parent, let value = fields.first(where: { $0.field == parent })?.value,
      let key = record.kind.parentKey(value.encoded[...])
    {
      parents.append((record.kind, key))
    }
    guard held?.isAlive != true || !fields.isEmpty else { return }
    drafts += EntryDraft.putting(key, fields, on: held)
  }

  /// Gives a new category that has no `key` one that is derived from its name, and an id that is derived from that
  /// key.
  private mutating func named(_ record: SavedRecord) throws -> SavedRecord {
    let key = RecordKey(kind: record.kind.number, id: record.id)
    let field = Kind.category.number("key")
    guard record.kind == Kind.category, (record.changes[field] ?? .null).isEmpty,
      try store.record(key) == nil
    else { return record }
    let name = record.changes[Kind.category.number("name")]?.asText ?? ""
    let text = try store.categoryKey(named: name) ?? record.id.uuid
    let id = RecordID(kind: record.kind, key: text)
    keys[key] = RecordKey(kind: record.kind.number, id: id)
    return SavedRecord(
      record.kind, id, record.changes.merging([field: .text(text)]) { _, new in new }, isNew: record.isNew)
  }

  private func fields(
    _ record: SavedRecord, _ held: RecordRow?
  ) throws -> [(field: FieldNumber, value: Value)] {
    var values = record.changes
    if held == nil {
      // A new habit is binary by default, but numeric if it has a unit or a target.
      if record.kind == Kind.habit, values[Kind.habit.number("kind")] == HabitKind.binary.value {
        values[Kind.habit.number("kind")] = nil
      }
      for (field, value) in record.kind.defaults(now: now, for: values) where (values[field] ?? .null).isEmpty
      {
        values[field] = value
      }
    }
    let fields = values.filter { held == nil ? Self.hasValue($0.value) : !isSame($0.value, held?[$0.key]) }
      .sorted { $0.key < $1.key }.map { (field: $0.key, value: $0.value) }
    try RecordEditing(store: store, kind: record.kind, held: held, now: now, ownZone: "UTC")
      .check(fields, isNew: held == nil)
    if held == nil, record.kind.number == KindNumbers.category {
      // A category's id must be derived from its `key`, so that the same key denotes the same category on every
      // device.
      let key = values[Kind.category.number("key")]?.asText ?? ""
      guard RecordID(kind: record.kind, key: key) == record.id else {
        throw WaymarkError.badValue("id", record.id.uuid, allowed: "a category's id is derived from its key")
      }
    }
    return fields
  }

  /// Reports whether a value is written in a new record. An empty list is a valid value in exported files; other
  /// empty values are not written.
  private static func hasValue(_ value: Value) -> Bool { !value.isEmpty || value == .array([]) }

  /// Adds the entry that writes the profile, which is always written as a whole.
  private mutating func save(profile: SavedRecord, _ held: RecordRow?) throws {
    guard let held else { return }
    let time = Fields.wholeRecordUpdatedAt
    let changed = try fields(profile, held).filter { $0.field != time }
    guard !changed.isEmpty else { return }
    let write = ProfileWrite(
      held: held, heldAt: try store.timeOfChange(of: held.key) ?? 0, changed: changed, now: now)
    drafts.append(write.draft)
    leastClock = max(leastClock, write.leastClock)
  }

  mutating func delete(_ key: RecordKey, force: Bool) throws {
    guard key.kind != FixedRecords.profile.kind else {
      throw WaymarkError.usage("The profile can't be deleted. Save it with empty fields instead.")
    }
    guard let held = try store.record(key), held.isAlive else { return }
    if key.kind == FixedRecords.organization { try store.checkDeletable(organization: held, force: force) }
    drafts.append(EntryDraft(.delete, key))
  }

  mutating func restore(_ key: RecordKey) throws {
    guard let held = try store.record(key), !held.isAlive else { return }
    try store.checkNotErased(held)
    drafts.append(EntryDraft(.restore, key))
  }

  /// Checks that the parents of all saved records exist, because a record without its parent would not be visible.
  func checkParents() throws {
    for (child, key) in parents where !written.contains(key) {
      guard try store.record(key)?.isAlive != true else { continue }
      let kind = store.schema.kind(key.kind)?.noun ?? "record"
      throw WaymarkError.missing(
        "The \(kind) that the \(child.noun) belongs to does not exist: \(key.id.uuid).",
        next: "save the \(kind) first, or in the same change")
    }
  }
}
