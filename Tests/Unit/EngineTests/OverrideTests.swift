import Families
import Membership
import Records
import Replication
import SQLite
import Shells
import Sodium
import Storage
import Testing
import Wire

@testable import Engine

/// Alice mirrors bob, whose change set arrives later.
@Suite struct OverrideTests {
  private final class Shell: QuietShell {
    var events: [String] = []
    var reports: [String] = []

    func note(_ event: ReplicatorEvent) {
      guard case .override(let event) = event else { return }
      switch event {
      case .began: events.append("began")
      case .ready: events.append("ready")
      case .written(_, let sets): events.append("written \(sets.count)")
      case .finished: events.append("finished")
      case .dropped: events.append("dropped")
      }
    }
    func perform(_ effect: DiskEffect) { if case .report(let error) = effect { reports.append("\(error)") } }
  }

  private static let now = Now(wall: Family.start, steady: 0)

  private let family: Family
  private let store: Store
  private let shell = Shell()
  /// Bob's change, which is not here yet.
  private let theirs: [VerifiedChangeSet]
  private let request: OverrideRequest

  init() throws {
    family = try Family(founder: "alice")
    store = try Store.inMemory()
    let statements = try [family.genesis, family.certificate(for: "bob")]
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Bytes16(1, 1).bytes)
    _ = try Self.write("alice", record(1), in: store, family)
    let other = try Store.inMemory()
    theirs = try Self.write("bob", record(2), in: other, family)
    request = OverrideRequest(
      verb: "mirror", operation: OperationID(Bytes16(9, 9)), peer: DeviceKey(Family.key("bob")),
      asked: Family.start,
      revert: Revert(wanted: other.heads(.records), present: store.heads(.records)))
  }

  private static func write(
    _ name: String, _ record: RecordKey, in store: Store, _ family: Family
  ) throws -> [VerifiedChangeSet] {
    let key = Family.key(name)
    let log = LogKey(device: DeviceKey(key), incarnation: Incarnation(Bytes16(1, 1)), lane: .records)
    var author = Author(
      position: try store.authorPosition(circle: family.circle, log: log), key: key, seed: Family.seed)
    let operation = OperationDraft(id: OperationID(record.id.raw), verb: "test")
    let sets = try author.write([insert(record)], operation: operation, wall: Family.start)
    _ = try store.commit(sets, horizon: Clock(milliseconds: Family.start))
    return sets
  }

  private func open(preference: Bool = true) throws -> Replicator {
    let replicator = try Replicator(
      store: store, circle: try Circle(store: store), signing: Family.key("alice"), preference: preference,
      localPremium: .none, place: AnyIncarnation(), now: Family.start, seed: 1, random16: { Bytes16(4, 4) })
    replicator.shell = shell
    return replicator
  }

  private func receiveTheirs() throws {
    _ = try store.commit(theirs, horizon: Clock(milliseconds: Family.start))
  }

  private func isAlive(_ number: UInt64) throws -> Bool { try store.record(record(number))?.life == true }

  @Test func `an override is applied at the end of the turn in which its last missing set arrives`() throws {
    let alice = try open()
    try alice.begin(request)
    alice.finishOverride(now: Self.now)
    #expect(try alice.missing(request) == 1)
    #expect(shell.events == ["began"])
    try receiveTheirs()
    alice.handle(.timer(.settle), now: Self.now)
    #expect(shell.events == ["began", "ready", "written 1", "finished"])
    #expect(try !isAlive(1) && isAlive(2))
    #expect(try alice.override.latest?.result.get().operation == request.operation)
    #expect(alice.override.trace?.request.operation == request.operation)
    #expect(try store.meta(MetaKey.pendingOverride) == nil)
  }

  @Test func `a pending override is resumed at the next start, and dropped if sync is off`() throws {
    try open().begin(request)
    try receiveTheirs()
    let again = try open()
    #expect(again.override.pending?.operation == request.operation)
    again.handle(.started, now: Self.now)
    #expect(try !isAlive(1))
    try open().begin(request)
    #expect(try open(preference: false).override.pending == nil)
    #expect(try open().override.pending == nil)
  }

  @Test func `a pending override has the same scope after a restart`() throws {
    let trip = RecordKey(kind: KindNumbers.trip, id: record(1).id)
    let scope = Revert.Scope(kind: KindNumbers.lodging, trip: trip)
    let narrow = OverrideRequest(
      verb: "mirror", operation: request.operation, peer: request.peer, asked: request.asked,
      revert: Revert(wanted: request.revert.wanted, present: request.revert.present, scope: scope))
    try open().begin(narrow)
    #expect(try open().override.pending?.revert == narrow.revert)
  }

  @Test func `a device that may no longer write neither applies nor starts an override`() throws {
    try open().begin(request)
    try receiveTheirs()
    try store.setMeta(MetaKey.spent, DeviceKey(Family.key("alice")).bytes)
    let alice = try open()
    alice.handle(.started, now: Self.now)
    #expect(try isAlive(1))
    #expect(alice.override.pending?.operation == request.operation)
    #expect(shell.reports == [])
    #expect(throws: WriteRefusal.incarnationsSpent) { try alice.begin(request) }
  }

  @Test func `an override waits while the disk is full, and none starts on a full disk`() throws {
    let alice = try open()
    try alice.begin(request)
    alice.storeFailed(SQLiteError.noRoom)
    try receiveTheirs()
    alice.handle(.started, now: Self.now)
    #expect(shell.events == ["began"])
    #expect(throws: WriteRefusal.cannotStore) { try alice.begin(request) }
    #expect(throws: WriteRefusal.cannotStore) {
      try alice.write(OperationDraft(id: request.operation, verb: "test"), [insert(record(3))], now: Self.now)
    }
    alice.handle(.looked(hasRoom: true), now: Self.now)
    #expect(shell.events == ["began", "ready", "written 1", "finished"])
  }

  @Test func `no override is applied on a disk that has failed`() throws {
    let alice = try open()
    try alice.begin(request)
    try receiveTheirs()
    alice.storeFailed(SQLiteError.failed)
    alice.handle(.started, now: Self.now)
    alice.handle(.looked(hasRoom: true), now: Self.now)
    #expect(try isAlive(1))
    #expect(shell.events == ["began"])
  }

  @Test func `an override that is dropped is not applied, and does not come back`() throws {
    let alice = try open()
    try alice.begin(request)
    try alice.dropOverride()
    #expect(shell.events == ["began", "dropped"])
    try receiveTheirs()
    alice.handle(.started, now: Self.now)
    #expect(try isAlive(1))
    #expect(try open().override.pending == nil)
  }

  @Test func `changes written before the last run ended are not written twice`() throws {
    try receiveTheirs()
    let alice = try open()
    try alice.begin(request)
    alice.finishOverride(now: Self.now)
    // The run ends between the write and the note that it is done.
    try store.setMeta(MetaKey.pendingOverride, request.encoded)
    shell.events = []
    let again = try open()
    again.handle(.started, now: Self.now)
    #expect(shell.events == ["ready", "written 0", "finished"])
    #expect(try again.override.latest?.result.get().operation == request.operation)
  }
}
