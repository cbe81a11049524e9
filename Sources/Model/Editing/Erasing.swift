// Protocol/merge.md, "Erase"
//
// An erase removes the values of records from every device. The user names records; others go with them:
//
//     erase trip Rome
//      ├ lodging Casa           belongs to the trip, so it goes too, even if it was deleted before
//      │   └ attachment         belongs to the lodging
//      └ organization           stays: the lodging refers to it but is not part of it
//
// An organization's address goes with it, unless the history of any other record refers to it. Files need no entry: a
// file that no record names is freed.
//
// To erase a single field, the record is erased and the values of its other fields are written again in the same set.
// So the earlier history of the whole record goes, and no device ever shows the record without its other values:
//
//     erase notes of trip Rome     insert trip [name "Rome", start …], erase trip        if the trip is alive
//                                  put trip [name "Rome", start …], erase trip           if it is deleted
//
// The profile always exists. It is written without any value but its time of change, next to the erase.

import Home
import LogStorage
package import Reasons
import Records
package import Replication
package import Storage
package import Wire

/// The entries that erase records, and the records whose values they erase.
package struct ErasePlan {
  /// A record whose values are erased.
  package struct Target {
    package let key: RecordKey
    package let name: String?
    /// Whether the record is deleted, or hidden because a record that it belongs to is deleted.
    package let isDeleted: Bool
    /// The record with which this one is erased, because it belongs to it; nil if the user named this one.
    package let with: RecordKey?
  }

  /// The records, the named ones first. Addresses are not listed.
  package fileprivate(set) var targets: [Target] = []
  /// The field to erase; nil to erase whole records.
  package fileprivate(set) var field: String?
  /// The records whose values are erased, including addresses.
  package fileprivate(set) var keys: Set<RecordKey> = []
  package fileprivate(set) var change: PreparedChange

  package var isEmpty: Bool { change.isEmpty }
}

/// Plans erases.
package struct Eraser {
  private let store: Store
  private let now: Moment
  private let deviceName: (DeviceKey) -> String

  package init(store: Store, now: Moment, deviceName: @escaping (DeviceKey) -> String) {
    self.store = store
    self.now = now
    self.deviceName = deviceName
  }

  // MARK: Records

  /// Plans to erase the records that names or ids mean, visible or not, and the records that belong to them.
  ///
  /// - Parameter force: whether to erase organizations and categories that are in use.
  package func records(named names: [String], force: Bool) throws -> ErasePlan {
    var resolver = NameResolver(store: store)
    resolver.matchesInside = false
    return try records(try names.map { try resolver.anyRecord($0).key }, force: force)
  }

  /// Plans to erase records, visible or not, and the records that belong to them.
  package func records(_ keys: [RecordKey], force: Bool) throws -> ErasePlan {
    let rows = try keys.map(row)
    for row in rows { try checkErasable(row) }
    let plan = try plan("erase", rows)
    if !force { for row in rows where row.isVisible { try checkUnused(row, plan.keys) } }
    guard let first = rows.first, plan.isEmpty else { return plan }
    // Nothing is left of any of the records.
    try store.checkNotErased(first, deviceName)
    return plan
  }

  private func row(_ key: RecordKey) throws -> RecordRow {
    guard let row = try store.record(key) else {
      throw WaymarkError.notFound(.init(word: store.schema.name(key.kind).rawValue), key.id.uuid)
    }
    return row
  }

  private func checkErasable(_ row: RecordRow) throws {
    guard row.key != FixedRecords.none else {
      throw WaymarkError.usage("The organization None means “no organization” and can't be erased.")
    }
    guard !row.isUntouchedSeed else {
      throw WaymarkError.usage("The profile was never filled in, so there is nothing to erase.")
    }
  }

  /// Plans to erase the records, their descendants, and the addresses that only these refer to.
  ///
  /// - Parameter addresses: further addresses to erase if no other record refers to them.
  private func plan(_ verb: String, _ rows: [RecordRow], addresses: Set<RecordKey> = []) throws -> ErasePlan {
    var seen: Set<RecordKey> = []
    var targets: [ErasePlan.Target] = []
    var waiting: [(row: RecordRow, with: RecordKey?)] = []
    for row in rows where seen.insert(row.key).inserted { waiting.append((row, nil)) }
    var next = 0
    while next < waiting.count {
      let (row, parent) = waiting[next]
      next += 1
      // An erased record may still have children, which another device added without having received the erase.
      if try store.completeErasure(of: row) == nil { targets.append(try target(row, with: parent)) }
      for child in try store.allChildren(of: row.key) where seen.insert(child).inserted {
        guard let childRow = try store.record(child) else { continue }
        waiting.append((childRow, row.key))
      }
    }
    let keys = Set(targets.map(\.key))
    let owned = addresses.union(try keys.flatMap { try self.addresses(of: $0) })
    let all = keys.union(try unreferenced(owned, but: keys))
    var entries: [EntryDraft] = []
    var leastClock = Clock.zero
    for key in all.sorted() {
      if key == FixedRecords.profile, let held = try store.record(key) {
        let write = try emptied(held)
        entries.append(write.draft)
        leastClock = write.leastClock
      }
      entries.append(EntryDraft(.erase, key))
    }
    return ErasePlan(
      targets: targets, keys: all,
      change: PreparedChange(verb: verb, entries: entries, leastClock: leastClock))
  }

  private func target(_ row: RecordRow, with parent: RecordKey?) throws -> ErasePlan.Target {
    ErasePlan.Target(
      key: row.key, name: try store.title(row.key), isDeleted: !row.isVisible, with: parent)
  }

  /// Returns the write of a profile without any value but its time of change.
  private func emptied(_ held: RecordRow) throws -> ProfileWrite {
    try profile(held, without: held.allFields.keys.filter { $0 != Fields.life })
  }

  private func profile(_ held: RecordRow, without fields: [FieldNumber]) throws -> ProfileWrite {
    ProfileWrite(
      held: held, heldAt: try store.timeOfChange(of: held.key) ?? 0,
      changed: fields.map { (field: $0, value: Value.null) }, now: now)
  }

  // MARK: One field

  /// Plans to erase a field of a record, visible or not, and all earlier values of its other fields. The present values
  /// of the other fields stay.
  ///
  /// - Parameter name: the name of the field, or of a part of it, as in `add` and `edit`.
  package func field(_ name: String, ofRecordNamed record: String) throws -> ErasePlan {
    var resolver = NameResolver(store: store)
    resolver.matchesInside = false
    return try field(name, of: try resolver.anyRecord(record).key)
  }

  /// Plans to erase a field of a record; see `field(_:ofRecordNamed:)`.
  package func field(_ name: String, of key: RecordKey) throws -> ErasePlan {
    let named = try row(key)
    try checkErasable(named)
    let (row, kind) = try holder(of: name, named)
    guard let field = kind.field(named: name) else {
      let error = UnknownField(kind: kind.name, name: name, allowed: kind.assignableNames)
      throw WaymarkError(
        exitCode: ExitCode.usage, code: .unknownField, message: "\(sentence: error.clause).",
        next: kind.fieldHelp)
    }
    try store.checkNotErased(row, deviceName)
    try checkOptional(field, name, row, kind)
    try checkConflicts(row, besides: field.number)
    let kept = row.allFields.filter { number, value in
      number != Fields.life && number != field.number && value != .null
    }
    let (entries, leastClock) = try rewrite(row, without: field.number, kept)
    let owned = try addresses(of: row.key).subtracting(kept.compactMap { kind.address(in: $0.key, $0.value) })
    let unreferenced = try unreferenced(owned, but: [row.key])
    return ErasePlan(
      targets: [try target(row, with: nil)], field: name, keys: unreferenced.union([row.key]),
      change: PreparedChange(
        verb: "erase.field", entries: entries + unreferenced.sorted().map { EntryDraft(.erase, $0) },
        leastClock: leastClock))
  }

  /// Returns the record that has a field: the given one, or its address, which is typed as part of it.
  private func holder(of name: String, _ row: RecordRow) throws -> (RecordRow, Kind) {
    guard let kind = store.schema.kind(row.key.kind) else {
      throw WaymarkError.usage("This version does not know the fields of \(store.schema.name(row.key.kind)).")
    }
    guard let reference = kind.addressField, kind.field(named: name) == nil,
      Kind.address.field(named: name) != nil,
      let id = row[reference.number]?.asRecordID,
      let address = try store.record(RecordKey(kind: KindNumbers.address, id: id))
    else { return (row, kind) }
    return (address, Kind.address)
  }

  private func rewrite(
    _ row: RecordRow, without field: FieldNumber, _ kept: [FieldNumber: Value]
  ) throws -> (entries: [EntryDraft], leastClock: Clock) {
    let erase = EntryDraft(.erase, row.key)
    if row.key.kind.mergeClass == .wholeRecord {
      let write = try profile(row, without: [field])
      return ([write.draft, erase], write.leastClock)
    }
    let fields = kept.sorted { $0.key < $1.key }.map { (field: $0.key, value: $0.value) }
    if row.isAlive { return ([EntryDraft(.insert, row.key, fields), erase], .zero) }
    return ((fields.isEmpty ? [] : [EntryDraft(.put, row.key, fields)]) + [erase], .zero)
  }

  private func checkOptional(_ field: Field, _ name: String, _ row: RecordRow, _ kind: Kind) throws {
    guard kind.mergeClass == .fieldByField || field.number != Fields.wholeRecordUpdatedAt else {
      throw WaymarkError.usage("`\(name)` is set automatically and can't be erased.")
    }
    guard field.rule.isRequired else { return }
    let record =
      kind == Kind.profile
      ? "profile set" : "\(kind.name) edit \(shellWord(try store.title(row.key) ?? row.key.id.uuid))"
    throw WaymarkError.usage(
      "Every \(kind.noun) needs `\(name)`, so it can't be erased. To erase only earlier values, change it and "
        + "then erase another field: that also erases all earlier values of the \(kind.noun).",
      next: .waymark("\(record) \(name)=VALUE"))
  }

  /// Throws an error if a conflict about another field would lose its values.
  private func checkConflicts(_ row: RecordRow, besides field: FieldNumber) throws {
    let lost = try store.conflicts().contains { conflict in
      conflict.record == row.key && (conflict.reason != .field || conflict.field != field)
    }
    guard lost else { return }
    let kind = LocalizableText(kind: store.schema.name(row.key.kind).rawValue)
    let name = try store.title(row.key).map { " “\(shortened($0))”" } ?? ""
    throw WaymarkError.failed(
      .conflicts,
      "The \(kind)\(name) has an unresolved conflict, whose values would be erased too. Resolve it first.",
      next: .waymark("conflicts"))
  }

  // MARK: The trash

  /// Plans to erase everything in the trash, and the records that belong to it.
  ///
  /// - Parameter age: how long ago a record must have been deleted, by the clock of the device that deleted it; nil for
  ///   any time.
  package func trash(olderThan age: Int64?) throws -> ErasePlan {
    let trash = Trash(store: store)
    let newest = age.map { now - $0 }
    func isOld(_ deletion: Deletion) -> Bool {
      newest.map { deletion.author.origin.stamp.clock.milliseconds <= $0 } ?? true
    }
    var rows: [RecordRow] = []
    var addresses: Set<RecordKey> = []
    for kind in Trash(store: store).kinds {
      // What is hidden with a deleted record is found as one of its descendants.
      for (row, deletion) in try trash.records(kind) where deletion.record == row.key && isOld(deletion) {
        if kind == Kind.address { addresses.insert(row.key) } else { rows.append(row) }
      }
    }
    return try plan("trash.empty", rows, addresses: addresses)
  }

  // MARK: Records in use

  /// Throws an error if visible records that are not erased as well refer to an organization or a category.
  private func checkUnused(_ row: RecordRow, _ erased: Set<RecordKey>) throws {
    let users = try users(of: row.key).filter { !erased.contains($0.key) }
    guard !users.isEmpty, let kind = store.schema.kind(row.key.kind) else { return }
    let name = kind.title(of: row) ?? row.key.id.uuid
    let instead: LocalizableText =
      kind == Kind.organization ? "their organization becomes None" : "they have no category"
    throw WaymarkError(
      exitCode: ExitCode.needsYes, code: .inUse,
      message: "“\(shortened(name))” is used by \(plural(users.count, "record")). If it is erased anyway, "
        + "\(instead).",
      next: .waymark("erase \(shellWord(name)) --force"),
      candidates: NameResolver.shown(
        users.map { user in
          let kind = store.schema.kind(user.key.kind)
          return "\(kind?.name ?? "record") \(kind?.title(of: user) ?? user.key.id.uuid)"
        }))
  }

  private func users(of key: RecordKey) throws -> [RecordRow] {
    var users: [RecordRow] = []
    for kind in store.schema.kinds {
      let fields = kind.fields.filter { $0.type.usedKind == key.kind }
      guard !fields.isEmpty else { continue }
      try store.forEach(RecordQuery(kind.number)) { row in
        if fields.contains(where: { $0.type.used(in: row[$0.number]) == key }) { users.append(row) }
      }
    }
    return users
  }

  // MARK: Addresses

  /// Returns the addresses that any write of a record refers to, past or present.
  private func addresses(of key: RecordKey) throws -> Set<RecordKey> {
    guard let kind = store.schema.kind(key.kind), kind.hasAddress, let row = try store.record(key) else {
      return []
    }
    var found = Set(row.fields.compactMap { kind.address(in: $0.key, $0.value) })
    let numbers = try store.writeNumbers(of: key)
    // A single write holds just the present values.
    guard numbers.count > 1 else { return found }
    for number in numbers {
      guard let write = try store.intactWrite(of: key, in: number) else { continue }
      for (field, content) in write.cells where kind.field(field)?.type.isAddress == true {
        if let address = kind.address(in: field, try Value(encoded: content[...])) { found.insert(address) }
      }
    }
    return found
  }

  /// Returns those of some addresses to which no other record refers, past or present.
  ///
  /// - Parameter erased: the records whose references don't count.
  private func unreferenced(_ addresses: Set<RecordKey>, but erased: Set<RecordKey>) throws -> Set<RecordKey>
  {
    var left = addresses
    for kind in store.schema.kinds where kind.hasAddress && !left.isEmpty {
      try NameResolver(store: store, scope: .all).forEach(kind) { row in
        guard !left.isEmpty, !erased.contains(row.key) else { return }
        left.subtract(try self.addresses(of: row.key))
      }
    }
    return try left.filter { address in
      guard let row = try store.record(address) else { return false }
      return try store.completeErasure(of: row) == nil
    }
  }
}

extension Store {
  /// Throws an error with the code `erased` if nothing is left of a record because it was erased, or if nothing will be
  /// left because the record's deletion is a held erase.
  func checkNotErased(_ row: RecordRow, _ deviceName: ((DeviceKey) -> String)? = nil) throws {
    if let held = try heldErase(of: row.key), held.erasure.number == (try lifeAuthor(of: row)?.origin.number)
    {
      throw erasedError(row.key, held.erasure, deviceName)
    }
    guard let erasure = try completeErasure(of: row) else { return }
    throw erasedError(row.key, erasure, deviceName)
  }

  /// Returns the error for a record that can't be restored, nor its erase be undone.
  package func erasedError(
    _ record: RecordKey, _ erasure: Erasure, _ deviceName: ((DeviceKey) -> String)?
  ) -> WaymarkError {
    let by = deviceName.map { " by \($0(erasure.device))" } ?? ""
    let kind = schema.name(record.kind)
    let when = CivilTime.sentenceText(erasure.clock.milliseconds)
    if let held = (try? heldErase(of: record)) ?? nil, held.erasure.number == erasure.number {
      let name = deviceName.map { $0(erasure.device) }
      return WaymarkError.failed(
        .erased,
        "This \(kind) was erased on \(when)\(by). Its values are kept here until \(CivilTime.sentenceText(held.due)), but "
          + "only revoking that device, and dropping its erase, brings them back.",
        next: .waymark("revoke \(name.map(shellWord) ?? "DEVICE") --before-erase"))
    }
    return WaymarkError.failed(
      .erased,
      "The values of this \(kind) were erased on \(when)\(by). Nothing of it can be restored.",
      next: .waymark("history \(record.id.uuid)"))
  }
}

extension Kind {
  /// Whether records of this kind can refer to an address.
  fileprivate var hasAddress: Bool { fields.contains { $0.type.isAddress } }

  /// Returns the address that a value of a field refers to.
  fileprivate func address(in field: FieldNumber, _ value: Value) -> RecordKey? {
    guard self.field(field)?.type.isAddress == true else { return nil }
    return value.asRecordID.map { RecordKey(kind: KindNumbers.address, id: $0) }
  }
}

extension FieldType {
  /// Whether the field refers to an address.
  fileprivate var isAddress: Bool { self == .reference(KindNumbers.address) }
}
