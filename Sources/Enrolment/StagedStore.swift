import Backups
import Home
package import Membership
import Records
import Replication
package import Storage
import Wire

/// A store that is built in the staging folder of a home and replaces the present store when it is complete.
///
/// Until then, the present store and its keys stay unchanged, even if the work is interrupted.
struct StagedStore {
  /// The staging folder, as a home.
  let home: Home
  private let present: Home
  private let identity: Identity
  private let wall: @Sendable () -> Moment
  private let lock: HomeLock

  /// Empties the staging folder and saves the new store's keys there.
  init(
    _ present: Home, _ identity: Identity, _ wall: @escaping @Sendable () -> Moment, under lock: HomeLock
  ) throws {
    self.present = present
    self.identity = identity
    self.wall = wall
    self.lock = lock
    home = present.moved(to: present.staging)
    try home.discard()
    try home.prepare()
    try identity.save(in: home)
  }

  /// Puts the complete store in place. The old store and keys are moved to a folder among the backups.
  func replacePresent(isSameCircle: Bool) throws {
    try present.replace(
      Replacement(
        aside: try present.automaticBackup(before: "join", at: wall(), suffix: ""), isSameCircle: isSameCircle
      ), at: wall(), under: lock)
  }

  /// Copies the present store, gives the copy new keys, which the circle has admitted, and puts the copy in place.
  ///
  /// A revocation excludes sets that the old device wrote before it received the revocation. The content of these sets
  /// is re-authored with the new keys, so that nothing that the device's owner wrote is lost.
  ///
  /// - Parameter joinedWith: the ticket that the device joined with; nil if there was none.
  /// - Returns: the number of records that were re-authored.
  func replaceKeys(
    of old: DeviceKey?, statements: [Statement], joinedWith: TicketID? = nil
  ) throws -> Int {
    try present.copyStore(to: home, under: lock)
    try NewStore.make(home, statements, joinedWith: joinedWith)
    _ = try Store(path: home.store).takeFiles(from: [present.files], now: wall())
    let written = try old.map { try Store(path: home.store).states(writtenBy: $0) } ?? [:]
    var rewritten = 0
    if !written.isEmpty {
      try withReplica { replica in
        // Authors only what differs from the former state.
        let plan = try replica.store.plan(written, now: wall())
        try replica.write("join", plan.drafts, leastClock: plan.leastClock)
        rewritten = Set(plan.drafts.map(\.key)).count
      }
    }
    try replacePresent(isSameCircle: true)
    return rewritten
  }

  /// Brings the files that drafts name from the present store, before the drafts are written.
  func takeFiles(namedBy drafts: [EntryDraft]) throws {
    try Store(path: home.store).takeFiles(namedBy: drafts, from: [present.files], now: wall())
  }

  /// Opens the new store, so that `body` can write to it before it is put in place.
  func withReplica(_ body: (OfflineReplica) throws -> Void) throws {
    let replica = try OfflineReplica(home, identity, try Store(path: home.store), wall)
    defer { replica.close() }
    try body(replica)
  }
}

/// Writes the initial content of every store: the statements of its circle, and a new incarnation.
package enum NewStore {
  /// Creates the store of a device whose keys are already saved, or gives a copied store a new incarnation.
  ///
  /// - Parameter apps: apps whose kinds of records the store is to know.
  static func make(
    _ home: Home, _ statements: [Statement], joinedWith: TicketID? = nil, adding apps: [KnownApp] = []
  ) throws {
    let store = try Store(path: home.store, adding: apps)
    home.protectStore()
    try fill(store, statements)
    try store.setMeta(MetaKey.joinedWith, joinedWith?.bytes)
  }

  package static func fill(_ store: Store, _ statements: [Statement]) throws {
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Incarnation(random: random16(), number: 1).bytes)
  }
}

extension JoinPreview {
  /// Counts the records that a join would carry over from a store, by kind.
  init(of store: Store) throws {
    let drafts = try store.visibleDrafts()
    counts = store.schema.kinds.map { kind in
      Count(
        kind: RecordKind(rawValue: kind.name), count: drafts.filter { $0.key.kind == kind.number }.count,
        plural: kind.plural)
    }.filter { $0.count > 0 }
  }
}

extension Store {
  /// Returns every visible record and setting as an insert for another circle. Seeds that were never changed are left
  /// out.
  func visibleDrafts() throws -> [EntryDraft] {
    var drafts: [EntryDraft] = []
    for kind in schema.kinds {
      try forEach(RecordQuery(kind.number)) { row in
        guard !row.isUntouchedSeed else { return }
        let fields = row.fields.filter { !FixedRecords.isFixed(row.key, $0.key) }
          .map { (field: $0.key, value: $0.value) }
        if !FixedRecords.isFixed(row.key, Fields.life) {
          drafts.append(EntryDraft(.insert, row.key, fields))
        } else if !fields.isEmpty {
          drafts.append(EntryDraft(.put, row.key, fields))
        }
      }
    }
    return drafts
  }
}
