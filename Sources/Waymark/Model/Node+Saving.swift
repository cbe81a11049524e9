public import Foundation
import Records
import Replication
import Storage
public import Wire

extension Node {
  /// Writes several changes as one operation.
  ///
  /// All of it is on the disk when this returns, or nothing; it reaches other devices at once if sync is on. Many records
  /// in one change cost little more than one. To change one of them again, read it first, watch it, or use
  /// ``Changes/update(_:_:_:)``: the value that was passed still counts from its own read. ``save(_:_:_:)`` gives values back to go
  /// on with.
  ///
  /// - Parameters:
  ///   - label: what the history calls it; 1 to 32 bytes.
  ///   - body: says what to change.
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if everything was so already.
  /// - Throws: ``WaymarkError``: `bad_value` names the field and what is allowed, `not_found` what is missing, `in_use`
  ///   an organization with users. Nothing is written then.
  @discardableResult
  public nonisolated func change(
    _ label: String = "app.change", _ body: (inout Changes) throws -> Void
  ) async throws -> OperationID? {
    var changes = Changes()
    try body(&changes)
    return try await apply(changes, label)
  }

  /// Makes a record, or writes what was changed since it was read; a deleted one comes back.
  ///
  /// A field is written if the value differs from what it was when the value was read, and from what the store holds now.
  /// Fields that the person left alone keep what others have written to them since. A record that was made here writes
  /// all fields that are not empty.
  ///
  /// - Returns: the record as the store has it now. Edit and save this one the next time: the value that was passed still
  ///   counts from its own read, so that a field which is set back to what it was then would not be written. Where there
  ///   is no value to keep, ``update(_:_:_:)`` reads, edits and saves at once.
  /// - Throws: ``WaymarkError``; see ``change(_:_:)``.
  public func save<Owner: Record>(_ record: Owner) throws -> Owner {
    var changes = Changes()
    changes.save(record)
    return try sayingWhy {
      let isNew = try store.record(record.key) == nil
      let keys = try applied(changes, "\(Owner.kind.name).\(isNew ? "add" : "edit")").keys
      return try stored(record, keys)
    }
  }

  /// Reads a record, edits it and saves what the edit has changed, in one transaction: nothing is written in between.
  ///
  /// ```swift
  /// try await node.update(Trip.self, id) { $0.name = "Roma" }
  /// ```
  ///
  /// - Parameters:
  ///   - type: the kind of record.
  ///   - id: which one; ``Profile/only`` for the profile.
  ///   - edit: changes what the store holds now.
  /// - Returns: the record as the store has it now.
  /// - Throws: ``WaymarkError`` with the code `not_found` if people can't see such a record; else see
  ///   ``change(_:_:)``. What `edit` throws; nothing is written then.
  @discardableResult
  public func update<Owner: Record>(
    _ type: Owner.Type, _ id: UUID, _ edit: @Sendable (inout Owner) throws -> Void
  ) throws -> Owner {
    var record = Owner(try sayingWhy { try editable(type.kind, RecordID(id)) })
    try edit(&record)
    return try save(record)
  }

  /// The record that an update edits; the profile also where it was never written.
  private func editable(_ kind: Kind, _ id: RecordID) throws -> RecordRow {
    if kind.number == FixedRecords.profile.kind { return try store.heldProfile() }
    guard let row = try store.visible(kind, id) else { throw WaymarkError.notFound(kind.name, id.uuid) }
    return row
  }

  /// Makes or changes several records of one kind as one operation.
  ///
  /// - Returns: the records as the store has them now: edit and save these the next time.
  /// - Throws: ``WaymarkError``; see ``change(_:_:)``.
  public func save<Owner: Record>(_ records: [Owner]) throws -> [Owner] {
    var changes = Changes()
    changes.save(records)
    return try sayingWhy {
      let keys = try applied(changes, "\(Owner.kind.name).save").keys
      return try records.map { try stored($0, keys) }
    }
  }

  /// Makes or changes records of several kinds as one operation.
  ///
  /// ```swift
  /// let rome = Trip(name: "Rome")
  /// var (trip, hotel) = try await node.save(rome, Lodging(name: "Casa Rosa", tripID: rome.id))
  /// ```
  ///
  /// - Returns: the records as the store has them now, in the same order: edit and save these the next time.
  /// - Throws: ``WaymarkError``; see ``change(_:_:)``.
  public func save<First: Record, Second: Record, each Other: Record>(
    _ first: First, _ second: Second, _ others: repeat each Other
  ) throws -> sending (First, Second, repeat each Other) {
    var changes = Changes()
    changes.save(first)
    changes.save(second)
    repeat changes.save(each others)
    let keys = try applied(changes, "app.change").keys
    do {
      return (try stored(first, keys), try stored(second, keys), repeat try stored(each others, keys))
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }

  private func stored<Owner: Record>(_ record: Owner, _ keys: [RecordKey: RecordKey]) throws -> Owner {
    try store.record(keys[record.key] ?? record.key).map { Owner($0) } ?? record
  }

  /// Deletes a record; what belongs to it is hidden with it, and comes back with it.
  ///
  /// - Parameters:
  ///   - record: of which only the id counts.
  ///   - force: also an organization that is in use; its users read as None then.
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if there was no such record.
  @discardableResult
  public func delete<Owner: Record>(_ record: Owner, force: Bool = false) throws -> OperationID? {
    var changes = Changes()
    changes.delete(record, force: force)
    return try apply(changes, "\(Owner.kind.name).delete")
  }

  /// Deletes several records of one kind as one operation.
  ///
  /// - Parameters:
  ///   - records: of which only the ids count.
  ///   - force: also organizations that are in use; their users read as None then.
  /// - Returns: the id of the operation, for ``Node/undo(_:isForced:)``; nil if there were no such records.
  @discardableResult
  public func delete<Owner: Record>(_ records: [Owner], force: Bool = false) throws -> OperationID? {
    var changes = Changes()
    for record in records { changes.delete(record, force: force) }
    return try apply(changes, "\(Owner.kind.name).delete")
  }

  /// Brings a deleted record back.
  ///
  /// - Returns: the record; nil if there never was one, or while what it belongs to is deleted.
  @discardableResult
  public func restore<Owner: Record>(_ type: Owner.Type, _ id: UUID) throws -> Owner? {
    var changes = Changes()
    changes.restore(type, id)
    _ = try apply(changes, "\(Owner.kind.name).restore")
    return try record(type, id)
  }

  func apply(_ changes: Changes, _ label: String) throws -> OperationID? {
    try applied(changes, label).operation
  }

  /// - Returns: the operation, and the keys of records that got another one when they were saved.
  private func applied(
    _ changes: Changes, _ label: String
  ) throws -> (operation: OperationID?, keys: [RecordKey: RecordKey]) {
    guard (1...ChangeSetBody.verbBytesMax).contains(label.utf8.count) else {
      throw WaymarkError.badValue("label", label, allowed: "it has 1 to \(ChangeSetBody.verbBytesMax) bytes")
    }
    return try sayingWhy {
      var saving = Saving(store: store, now: wall())
      for step in changes.steps {
        switch step {
        case .save(let record): try saving.save(record)
        case .update(let kind, let id, let edit): try saving.save(edit(try editable(kind, id)))
        case .delete(let key, let force):
          try saving.delete(key, force: force)
        case .restore(let key): try saving.restore(key)
        }
      }
      try saving.checkParents()
      guard !saving.drafts.isEmpty else { return (nil, saving.keys) }
      return (try write(label, saving.drafts, leastClock: saving.leastClock), saving.keys)
    }
  }
}

/// Turns changed records into the entries of one operation, after all checks.
private struct Saving {
  let store: Store
  let now: Moment
  private(set) var drafts: [EntryDraft] = []
  private(set) var leastClock = Clock.zero
  /// What is written here: it may refer to one another.
  private var written: Set<RecordKey> = []
  /// The keys of categories that were named when they were saved, by those that they came with.
  private(set) var keys: [RecordKey: RecordKey] = [:]
  private var parents: [(child: Kind, key: RecordKey)] = []

  init(store: Store, now: Moment) {
    self.store = store
    self.now = now
  }

  mutating func save(_ record: SavedRecord) throws {
    let record = try named(record)
    let key = RecordKey(kind: record.kind.number, id: record.id)
    guard written.insert(key).inserted else {
      throw WaymarkError.usage("The \(record.kind.name) \(key.id.uuid) is saved twice in one change.")
    }
    let held = try store.record(key)
    if record.kind.number == FixedRecords.profile.kind { return try save(profile: record, held) }
    let fields = try fields(record, held)
    if let parent = record.kind.parent, let value = fields.first(where: { $0.field == parent })?.value,
      let key = record.kind.parentKey(value.encoded[...])
    {
      parents.append((record.kind, key))
    }
    guard held?.isAlive != true || !fields.isEmpty else { return }
    drafts += EntryDraft.putting(key, fields, on: held)
  }

  /// A new category without a key gets one from its name, and its id follows from that.
  private mutating func named(_ record: SavedRecord) throws -> SavedRecord {
    let key = RecordKey(kind: record.kind.number, id: record.id)
    let field = Registry.category.number("key")
    guard record.kind == Registry.category, (record.changes[field] ?? .null).isEmpty,
      try store.record(key) == nil
    else { return record }
    let name = record.changes[Registry.category.number("name")]?.asText ?? ""
    let text = try store.categoryKey(named: name) ?? record.id.uuid
    let id = RecordID(kind: record.kind, key: text)
    keys[key] = RecordKey(kind: record.kind.number, id: id)
    return SavedRecord(
      record.kind, id, record.changes.merging([field: .text(text)]) { _, new in new })
  }

  private func fields(
    _ record: SavedRecord, _ held: RecordRow?
  ) throws -> [(field: FieldNumber, value: Value)] {
    var values = record.changes
    if held == nil {
      // A new habit is binary until someone says otherwise, which a unit or a target does.
      if record.kind == Registry.habit, values[Registry.habit.number("kind")] == HabitKind.binary.value {
        values[Registry.habit.number("kind")] = nil
      }
      for (field, value) in record.kind.defaults(now: now, for: values) where (values[field] ?? .null).isEmpty
      {
        values[field] = value
      }
    }
    let fields = values.filter { held == nil ? Self.says($0.value) : !isSame($0.value, held?[$0.key]) }
      .sorted { $0.key < $1.key }.map { (field: $0.key, value: $0.value) }
    try RecordEditing(store: store, kind: record.kind, held: held, now: now, ownZone: "UTC")
      .check(fields, isNew: held == nil)
    if held == nil, record.kind.number == KindNumbers.category {
      // What names it decides its id.
      let key = values[Registry.category.number("key")]?.asText ?? ""
      guard RecordID(kind: record.kind, key: key) == record.id else {
        throw WaymarkError.badValue("id", record.id.uuid, allowed: "a category's id follows from its key")
      }
    }
    return fields
  }

  /// An empty list is a value that files have; whatever else is empty need not be written.
  private static func says(_ value: Value) -> Bool { !value.isEmpty || value == .array([]) }

  /// The profile is written as a whole.
  private mutating func save(profile: SavedRecord, _ held: RecordRow?) throws {
    guard let held else { return }
    let time = Fields.wholeRecordUpdatedAt
    let changed = try fields(profile, held).filter { $0.field != time }
    guard !changed.isEmpty else { return }
    let write = ProfileWrite(held: held, heldAt: try store.profileTime(held), changed: changed, now: now)
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
    drafts.append(EntryDraft(.restore, key))
  }

  /// What belongs to something that is not there would never be seen.
  func checkParents() throws {
    for (child, key) in parents where !written.contains(key) {
      guard try store.record(key)?.isAlive != true else { continue }
      let kind = Registry.kind(key.kind)?.name ?? "record"
      throw WaymarkError.failed(
        "not_found", "A \(child.name) belongs to a \(kind) that is not there: \(key.id.uuid).",
        next: "save the \(kind) first, or in the same change")
    }
  }
}

extension Store {
  /// The one profile.
  func heldProfile() throws -> RecordRow {
    guard let profile = try record(FixedRecords.profile) else {
      throw WaymarkError.failed("store", "The store has lost its profile record.", next: "waymark status")
    }
    return profile
  }
}
