import Membership
import Records
import Replication
import Storage
import Testing
import Wire

/// What a replicator makes of cuts that begin and end, and of a disk that is full meanwhile.
@Suite struct ReplicatorTests {
  /// A shell that says whether there is room, and nothing else.
  private final class Shell: ReplicatorShell {
    var canStore = true
    var laidOut = 0
    /// How many sets a piece has.
    var pieceMax = Int.max
    var goOns = 0

    func send(_ message: [UInt8], to link: LinkID) {}
    func close(_ link: LinkID, _ cause: CloseCause) {}
    func isCongested(_ link: LinkID) -> Bool { false }
    func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {}
    func beginPiece() -> () -> Bool {
      var left = pieceMax
      return {
        left -= 1
        return left <= 0
      }
    }
    func goOnSoon() { goOns += 1 }
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

  private static let own = Incarnation(Bytes16(1, 1))

  private func store(_ family: Family) throws -> Store {
    let store = try Store.inMemory()
    let statements = [family.genesis, try family.certificate(for: "bob")]
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Self.own.bytes)
    return store
  }

  private func write(
    _ name: String, _ incarnation: Incarnation, in store: Store, _ family: Family
  ) throws -> [VerifiedChangeSet] {
    let key = Family.key(name)
    let log = LogKey(device: DeviceKey(key), incarnation: incarnation, lane: .records)
    var author = Author(position: try store.authorPosition(circle: family.circle, log: log), key: key)
    let operation = OperationDraft(id: OperationID(incarnation.raw), verb: "test")
    let sets = try author.write([insert(record(1))], operation: operation, wall: World.start)
    _ = try store.commit(sets, horizon: Clock(milliseconds: World.start))
    return sets
  }

  private func alice(_ store: Store) throws -> Replicator {
    try Replicator(
      store: store, circle: try Circle(store: store), signing: Family.key("alice"), preference: false,
      localPremium: .none, place: AnyPlace(), now: World.start, seed: 1, random16: { Bytes16(4, 4) })
  }

  /// A store is laid out by the statements in it: who is killed on a full disk finds what fits together.
  @Test func `a cut that comes while the disk is full takes effect when there is room`() throws {
    let family = try Family(founder: "alice")
    let store = try store(family)
    _ = try write("bob", Incarnation(Bytes16(2, 2)), in: store, family)
    let heads = store.heads(.records)
    let replicator = try alice(store)
    let shell = Shell()
    replicator.shell = shell
    replicator.handle(.started, now: Self.now)
    shell.canStore = false
    replicator.handle(.statementsAdded([try family.revocation(of: "bob").bytes]), now: Self.now)
    #expect(store.heads(.records) == heads && heads.count == 1)
    #expect(shell.laidOut == 0)
    // Nor does it by the way, where own sets are written again.
    let own = LogKey(device: DeviceKey(Family.key("alice")), incarnation: Self.own, lane: .records)
    #expect(throws: WritingAgainError.diskIsFull) {
      try replicator.restamp([EndedLog(log: own, tip: nil)], now: Self.now)
    }
    #expect(store.heads(.records) == heads && shell.laidOut == 0)
    shell.canStore = true
    replicator.roomAgain(now: Self.now)
    #expect(store.heads(.records).isEmpty)
    #expect(shell.laidOut == 1)
  }

  /// The end of a cut takes away the ground of an own set until that is here again. Whoever has the set would see
  /// another one in its place.
  @Test func `a log whose newest sets have lost their ground is written on by nobody`() throws {
    let family = try Family(founder: "alice")
    let whole = try store(family)
    let sets = try write("bob", Incarnation(Bytes16(2, 2)), in: whole, family)
    let seen = try write("alice", Self.own, in: whole, family)
    let log = sets[0].header.log
    let store = try store(family)
    _ = try store.admit(by: { $0 == log ? .cut([[]]) : .open }, horizon: Clock(milliseconds: World.start))
    #expect(try store.commit(seen, horizon: Clock(raw: .max)).placements == [.place(folds: true)])
    #expect(try !store.hasAside(DeviceKey(Family.key("alice")), Self.own))
    let replicator = try alice(store)
    #expect(store.heads(.records).isEmpty)
    #expect(replicator.incarnation != Self.own)
    // What was taken away comes back with it.
    _ = try store.commit(sets, horizon: Clock(milliseconds: World.start + 1_000))
    #expect(Set(store.heads(.records).map(\.id)) == [sets[0].id, seen[0].id])
    #expect(store.heads(.records).allSatisfy { $0.parked == 0 })
  }

  // MARK: Pieces

  private func settings(of name: String, _ numbers: Range<UInt64>, _ circle: CircleID) throws
    -> [VerifiedChangeSet]
  {
    let key = Family.key(name)
    let log = LogKey(device: DeviceKey(key), incarnation: Incarnation(Bytes16(5, 5)), lane: .settings)
    let position = AuthorPosition(
      circle: circle, log: log, sequence: 0, id: nil, clock: .zero, unseen: [])
    var author = Author(position: position, key: key)
    return try numbers.flatMap { number in
      let operation = OperationDraft(id: OperationID(Bytes16(number, 1)), verb: "test")
      return try author.write(
        [insert(setting(number))], operation: operation, wall: World.start)
    }
  }

  @Test func `sets of one peer are stored in pieces, and another's come in between`() throws {
    let world = try World(["alice", "bob", "mallory"])
    let store = try Store.inMemory()
    try store.saveStatements(([world.family.genesis] + world.statements).map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Self.own.bytes)
    let replicator = try alice(store)
    let shell = Shell()
    replicator.shell = shell
    replicator.handle(.started, now: Self.now)
    for (number, name) in [(1, "bob"), (2, "mallory")] as [(UInt64, String)] {
      let introduction = try #require(world[name].replica.ownIntroduction(now: World.start))
      replicator.handle(
        .opened(LinkID(number), remote: world[name].transport, introduction: introduction), now: Self.now)
    }
    let flood = try settings(of: "mallory", 0..<50, world.family.circle)
    let honest = try settings(of: "bob", 100..<101, world.family.circle)
    shell.pieceMax = 10
    replicator.handle(.received(LinkID(2), .sets(.settings, flood)), now: Self.now)
    #expect(store.changeSetCount(.settings) == 10)
    #expect(replicator.isWaiting(LinkID(2)) && !replicator.isWaiting(LinkID(1)))
    #expect(shell.goOns == 1)
    replicator.handle(.received(LinkID(1), .sets(.settings, honest)), now: Self.now)
    // Bob's one set does not wait for the rest.
    #expect(store.heads(.settings).contains { $0.log.device == world["bob"].key })
    #expect(!replicator.isWaiting(LinkID(1)))
    #expect(store.changeSetCount(.settings) == 20)
    for _ in 0..<4 where replicator.isWaiting(LinkID(2)) { replicator.goOn(now: Self.now) }
    #expect(store.changeSetCount(.settings) == 51)
    #expect(!replicator.isWaiting(LinkID(2)))
    let goOns = shell.goOns
    replicator.goOn(now: Self.now)
    #expect(shell.goOns == goOns)
  }
}
