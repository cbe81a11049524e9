import Membership
import Records
import Replication
import Storage
import Testing
import Wire

/// What a device does that learns something while its disk is full.
@Suite struct FullDiskTests {
  /// A shell that says whether there is room, and nothing else.
  private final class Shell: ReplicatorShell {
    var canStore = true
    var laidOut = 0

    func send(_ message: [UInt8], to link: LinkID) {}
    func close(_ link: LinkID, _ cause: CloseCause) {}
    func isCongested(_ link: LinkID) -> Bool { false }
    func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {}
    func note(_ event: ReplicaEvent) {}
    func note(_ event: ReplicatorEvent) { if case .laidOutAnew = event { laidOut += 1 } }
    func replied(_ link: LinkID, _ reply: Reply) -> Input? { nil }
    func noting(_ report: CommitReport) throws {}
    func didCommit(_ report: CommitReport) {}
    func storeFailed(_ error: any Error) { Issue.record(error) }
  }

  private struct AnyPlace: IncarnationPlace {
    func names(_ incarnation: Incarnation) -> Bool { true }
    func write(_ incarnation: Incarnation) throws {}
  }

  private static let now = Now(wall: World.start, steady: 0)

  /// Alice, whose store holds one set of Bob's.
  private func alice(_ family: Family) throws -> (Replicator, LogHead) {
    let statements = [family.genesis, try family.certificate(for: "bob")]
    let store = try Store.inMemory()
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Incarnation(Bytes16(1, 1)).bytes)
    let log = LogKey(
      device: DeviceKey(Family.key("bob")), incarnation: Incarnation(Bytes16(2, 2)), lane: .records)
    var author = Author(
      position: try store.authorPosition(circle: family.circle, log: log), key: Family.key("bob"))
    let sets = try author.write(
      [insert(record(1))], operation: OperationDraft(id: OperationID(Bytes16(3, 3)), verb: "test"),
      wall: World.start)
    _ = try store.commit(sets, horizon: Clock(milliseconds: World.start))
    let replicator = try Replicator(
      store: store, circle: try Circle(statements: statements, developmentIssuer: nil),
      signing: Family.key("alice"), preference: false, localPremium: .none, place: AnyPlace(),
      now: World.start, seed: 1, random16: { Bytes16(4, 4) })
    return (replicator, try #require(store.heads(.records).first))
  }

  /// A store is laid out by the statements in it: who is killed on a full disk finds what fits together.
  @Test func `a cut that comes while the disk is full takes effect when there is room`() throws {
    let family = try Family(founder: "alice")
    let (replicator, head) = try alice(family)
    let shell = Shell()
    replicator.shell = shell
    replicator.handle(.started, now: Self.now)
    shell.canStore = false
    replicator.handle(.statementsAdded([try family.revocation(of: "bob").bytes]), now: Self.now)
    #expect(replicator.store.heads(.records) == [head])
    #expect(shell.laidOut == 0)
    shell.canStore = true
    replicator.roomAgain(now: Self.now)
    #expect(replicator.store.heads(.records).isEmpty)
    #expect(shell.laidOut == 1)
  }
}
