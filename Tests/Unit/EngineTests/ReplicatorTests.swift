import Engine
import Families
import Membership
import RecordTables
import Records
import Replication
import SQLite
import Shells
import Storage
import Testing
import Wire

/// How a replicator handles cuts that begin and end while its disk is full.
@Suite struct ReplicatorTests {
  /// A shell that records the messages sent.
  private final class Shell: QuietShell {
    /// Notes that still fit on a full disk.
    var reserve = 0
    var rebuilds = 0
    var sent: [[UInt8]] = []
    /// How many sets a piece has.
    var pieceMax = Int.max
    var goOns = 0

    func send(_ message: [UInt8], to link: LinkID, as sendClass: SendClass) { sent.append(message) }
    var timers: [ReplicaTimer: Moment] = [:]
    func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
      if timer == .applyCuts { timers[timer] = milliseconds }
    }
    func beginPiece() -> () -> Bool {
      var left = pieceMax
      return {
        left -= 1
        return left <= 0
      }
    }
    /// How long each rebuild takes, in milliseconds.
    var rebuildTakes: Moment = 0
    func beginMeasuring() -> () -> Moment { { self.rebuildTakes } }
    func goOnSoon() { goOns += 1 }
    func note(_ event: ReplicatorEvent) { if case .logsRebuilt = event { rebuilds += 1 } }
    func perform(_ effect: DiskEffect) { if case .report(let error) = effect { Issue.record(error) } }
    func freeReserve() -> Bool {
      reserve -= 1
      return reserve >= 0
    }
  }

  private static let now = Now(wall: Family.start, steady: 0)

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
    var author = Author(
      position: try store.authorPosition(circle: family.circle, log: log), key: key, seed: Family.seed)
    let operation = OperationDraft(id: OperationID(incarnation.raw), verb: "test")
    let sets = try author.write([insert(record(1))], operation: operation, wall: Family.start)
    _ = try store.commit(sets, horizon: Clock(milliseconds: Family.start))
    return sets
  }

  private func alice(_ store: Store) throws -> Replicator {
    try Replicator(
      store: store, circle: try Circle(store: store), signing: Family.key("alice"), preference: false,
      localPremium: .none, place: AnyIncarnation(), now: Family.start, seed: 1, random16: { Bytes16(4, 4) })
  }

  @Test func `each log of a device counts its own bytes`() throws {
    let family = try Family(founder: "alice")
    let store = try store(family)
    let first = try (1...3 as ClosedRange<UInt64>).map { number in
      try write("alice", Self.incarnation(number), in: store, family)[0]
    }
    #expect(first.map(\.header.log.incarnation.number) == [1, 2, 3])
    #expect(first.allSatisfy { $0.header.logBytes == 0 })
    let second = try write("alice", Self.incarnation(2), in: store, family)[0]
    #expect(second.header.logBytes == first[1].logBytes)
    #expect(try write("bob", Self.incarnation(16), in: store, family)[0].header.logBytes == 0)
  }

  private static func incarnation(_ number: UInt64) -> Incarnation {
    Incarnation(random: Bytes16(1, number), number: Int(number))
  }

  /// A store's logs are rebuilt by the statements in it: after a kill on a full disk both are consistent.
  @Test func `a cut that arrives while the disk is full takes effect when there is room`() throws {
    let family = try Family(founder: "alice")
    let store = try store(family)
    _ = try write("bob", Incarnation(Bytes16(2, 2)), in: store, family)
    let heads = store.heads(.records)
    let replicator = try alice(store)
    let shell = Shell()
    replicator.shell = shell
    replicator.handle(.started, now: Self.now)
    replicator.storeFailed(SQLiteError.noRoom)
    replicator.handle(.statementsAdded([try family.revocation(of: "bob").bytes]), now: Self.now)
    #expect(store.heads(.records) == heads && heads.count == 1)
    #expect(shell.rebuilds == 0)
    // Nor does it take effect by the way when own sets are re-authored.
    let own = LogKey(device: DeviceKey(Family.key("alice")), incarnation: Self.own, lane: .records)
    #expect(throws: ReauthoringError.diskIsFull) {
      try replicator.restamp([EndedLog(log: own, tip: nil)], now: Self.now)
    }
    #expect(store.heads(.records) == heads && shell.rebuilds == 0)
    replicator.handle(.looked(hasRoom: true), now: Self.now)
    #expect(store.heads(.records).isEmpty)
    #expect(shell.rebuilds == 1)
  }

  /// The end of a cut removes the ancestors of an own set until they are received again. A peer that has the set
  /// would see another one in its position.
  @Test func `a log whose newest sets have lost their ancestors is not extended`() throws {
    let family = try Family(founder: "alice")
    let whole = try store(family)
    let sets = try write("bob", Incarnation(Bytes16(2, 2)), in: whole, family)
    let seen = try write("alice", Self.own, in: whole, family)
    let log = sets[0].header.log
    let store = try store(family)
    _ = try store.admit(by: { $0 == log ? .cut([[]]) : .open }, horizon: Clock(milliseconds: Family.start))
    #expect(try store.commit(seen, horizon: Clock(raw: .max)).placements == [.place(folds: true)])
    #expect(try !store.hasQuarantined(DeviceKey(Family.key("alice")), Self.own))
    let replicator = try alice(store)
    #expect(store.heads(.records).isEmpty)
    #expect(replicator.incarnation != Self.own)
    // What was removed comes back with it.
    _ = try store.commit(sets, horizon: Clock(milliseconds: Family.start + 1_000))
    #expect(Set(store.heads(.records).map(\.id)) == [sets[0].id, seen[0].id])
    #expect(store.heads(.records).allSatisfy { $0.parked == 0 })
  }

  // MARK: A start on a full disk

  /// A replicator with its shell.
  private struct Node {
    let replicator: Replicator
    let shell = Shell()

    init(_ name: String, _ store: Store, _ family: Family) throws {
      if try store.meta(MetaKey.incarnation) == nil {
        try store.setMeta(MetaKey.incarnation, Bytes16(2, 2).bytes)
      }
      replicator = try Replicator(
        store: store, circle: try Circle(store: store), signing: Family.key(name), preference: false,
        localPremium: .none, place: AnyIncarnation(), now: Family.start, seed: 1, random16: { Bytes16(4, 4) })
      replicator.shell = shell
    }

    var heads: [LogHead] { replicator.store.heads(.settings) }

    func write(_ number: UInt64, at steady: Moment) throws {
      let operation = OperationDraft(id: OperationID(Bytes16(7, number)), verb: "test")
      let now = Now(wall: Family.start + steady, steady: steady)
      try replicator.write(operation, [insert(setting(number))], now: now)
    }
  }

  private static let link = LinkID(1)

  private func connect(_ alice: Node, _ bob: Node, at steady: Moment) throws {
    let now = Now(wall: Family.start + steady, steady: steady)
    let circle = alice.replicator.circle
    let introduction = circle.dialledIntroduction(of: alice.replicator.device, wallMilliseconds: now.wall)
    let shown = try #require(introduction?.encoded)
    bob.replicator.handle(
      .opened(Self.link, remote: Family.transport(of: "alice"), introduction: shown), now: now)
    alice.replicator.handle(
      .opened(Self.link, remote: Family.transport(of: "bob"), introduction: nil), now: now)
    try exchange(alice, bob, at: steady)
  }

  /// Delivers the messages of both until neither sends any more.
  private func exchange(_ alice: Node, _ bob: Node, at steady: Moment) throws {
    let now = Now(wall: Family.start + steady, steady: steady)
    while !alice.shell.sent.isEmpty || !bob.shell.sent.isEmpty {
      for (from, to) in [(alice, bob), (bob, alice)] {
        let messages = from.shell.sent
        from.shell.sent = []
        for message in messages {
          to.replicator.handle(.received(Self.link, try Message(decoding: message)), now: now)
        }
      }
    }
  }

  private func look(_ node: Node, at steady: Moment) {
    node.replicator.handle(
      .timer(.ownLogs(.settings)), now: Now(wall: Family.start + steady, steady: steady))
  }

  @Test(arguments: [0, 1])
  func `changes written before the disk was full reach a peer if there is room for a note`(
    _ reserve: Int
  ) throws {
    let family = try Family(founder: "alice")
    let (alice, bob) = (try Node("alice", store(family), family), try Node("bob", store(family), family))
    alice.shell.reserve = reserve
    try alice.write(1, at: 0)
    try connect(alice, bob, at: 10)
    alice.replicator.storeFailed(SQLiteError.noRoom)
    #expect(bob.heads.isEmpty)
    look(alice, at: 100)
    try exchange(alice, bob, at: 100)
    #expect(bob.heads.count == reserve)
    #expect(alice.replicator.withholds(.settings) == (reserve == 0))
    // If it is killed now, it knows that its set may have been sent.
    let again = try Node("alice", alice.replicator.store, family)
    #expect(again.replicator.withholds(.settings) == (reserve == 0))
    guard reserve == 0 else { return }
    alice.replicator.handle(
      .looked(hasRoom: true), now: Now(wall: Family.start + 200, steady: 200))
    look(alice, at: 300)
    try exchange(alice, bob, at: 300)
    #expect(bob.heads.count == 1)
    #expect(!alice.replicator.withholds(.settings))
  }

  @Test func `on a full disk no lane is released while a peer has more of our own log`() throws {
    let family = try Family(founder: "alice")
    let (copy, bob) = (try Node("alice", store(family), family), try Node("bob", store(family), family))
    try copy.write(1, at: 0)
    try copy.write(2, at: 1)
    try connect(copy, bob, at: 10)
    look(copy, at: 100)
    try exchange(copy, bob, at: 100)
    #expect(bob.heads.map(\.sequence) == [2])
    bob.replicator.handle(.closed(Self.link), now: Now(wall: Family.start + 200, steady: 200))

    let alice = try Node("alice", store(family), family)
    alice.shell.reserve = 1
    try alice.write(3, at: 300)
    alice.replicator.storeFailed(SQLiteError.noRoom)
    try connect(alice, bob, at: 310)
    for steady in [400, 10_000, 70_000, 200_000] as [Moment] {
      look(alice, at: steady)
      try exchange(alice, bob, at: steady)
    }
    #expect(bob.heads.map(\.sequence) == [2])
    #expect(alice.shell.reserve == 1)
    #expect(alice.replicator.withholds(.settings))
    alice.replicator.handle(
      .looked(hasRoom: true), now: Now(wall: Family.start + 200_100, steady: 200_100))
    for steady in [200_100, 200_200, 270_000] as [Moment] {
      look(alice, at: steady)
      try exchange(alice, bob, at: steady)
    }
    // It yielded: the change is in another log, and none has forked.
    #expect(bob.heads.map(\.sequence).sorted() == [1, 2])
    #expect(Set(bob.heads.map(\.log.incarnation)).count == 2)
    #expect(alice.heads == bob.heads)
  }

  // MARK: An observed expiry

  private func premium(of node: Node, wall: Moment) -> GateReason? {
    node.replicator.replica.ownGate(now: wall).premiumReason
  }

  /// Alice with an entitlement that ends after ten minutes.
  private func subscriber(_ family: Family) throws -> Node {
    let store = try store(family)
    let entitlement = try family.entitlement(for: "alice", 0..<(Family.start + 600_000))
    try store.saveStatements([(entitlement.id, entitlement.bytes)])
    let alice = try Node("alice", store, family)
    alice.replicator.handle(.started, now: Self.now)
    return alice
  }

  private func tick(_ node: Node, wall: Moment, steady: Moment) {
    node.replicator.handle(.timer(.gate), now: Now(wall: Family.start + wall, steady: steady))
  }

  @Test func `observed expiry of premium outlasts a clock that is set back, and a restart`() throws {
    let family = try Family(founder: "alice")
    let alice = try subscriber(family)
    tick(alice, wall: 599_000, steady: 599_000)
    #expect(premium(of: alice, wall: Family.start + 599_000) == nil)
    tick(alice, wall: 622_000, steady: 622_000)
    tick(alice, wall: 322_000, steady: 622_100)
    #expect(premium(of: alice, wall: Family.start + 322_000) == .entitlementExpired)
    let again = try Node("alice", alice.replicator.store, family)
    #expect(premium(of: again, wall: Family.start) == .entitlementExpired)
    // A new entitlement counts at once.
    let renewed = try family.entitlement(for: "alice", 0..<(Family.start + 900_000), serial: 1)
    again.replicator.handle(.statementsAdded([renewed.bytes]), now: Self.now)
    #expect(premium(of: again, wall: Family.start) == nil)
  }

  @Test func `an expiry caused by a clock jump is not stored, and restamp forgets one that was observed`()
    throws
  {
    let family = try Family(founder: "alice")
    let alice = try subscriber(family)
    tick(alice, wall: 1_000, steady: 1_000)
    tick(alice, wall: 31_536_000_000, steady: 2_000)
    #expect(premium(of: alice, wall: Family.start + 31_536_000_000) == .entitlementExpired)
    tick(alice, wall: 3_000, steady: 3_000)
    #expect(premium(of: alice, wall: Family.start + 3_000) == nil)
    tick(alice, wall: 598_000, steady: 598_000)
    tick(alice, wall: 601_000, steady: 601_000)
    #expect(premium(of: alice, wall: Family.start) == .entitlementExpired)
    try alice.replicator.restamp([], now: Now(wall: Family.start, steady: 602_000))
    #expect(premium(of: alice, wall: Family.start) == nil)
    #expect(try premium(of: Node("alice", alice.replicator.store, family), wall: Family.start) == nil)
  }

  @Test func `an expiry observed while the disk was full is stored once there is room`() throws {
    let family = try Family(founder: "alice")
    let alice = try subscriber(family)
    alice.replicator.storeFailed(SQLiteError.noRoom)
    tick(alice, wall: 599_000, steady: 599_000)
    tick(alice, wall: 622_000, steady: 622_000)
    try alice.replicator.store.setMeta(MetaKey.gateFloor, nil)
    alice.replicator.handle(.looked(hasRoom: true), now: Now(wall: Family.start, steady: 623_000))
    #expect(
      try premium(of: Node("alice", alice.replicator.store, family), wall: Family.start)
        == .entitlementExpired
    )
  }

  @Test func `a statement that could not be deleted on a full disk is gone once another one can be stored`()
    throws
  {
    let family = try Family(founder: "alice")
    let alice = try subscriber(family)
    func addresses(_ clock: UInt64) throws -> Membership.Statement {
      let bob = Family.key("bob")
      return try Membership.Statement(
        signing: AddressStatement(
          circle: family.circle, device: DeviceKey(bob), clock: clock, addresses: ["10.0.0.\(clock):7433"]),
        with: bob)
    }
    let (old, new) = (try addresses(1), try addresses(2))
    func add(_ statement: Membership.Statement) {
      alice.replicator.handle(.statementsAdded([statement.bytes]), now: Now(wall: Family.start, steady: 0))
    }
    add(old)
    alice.replicator.storeFailed(SQLiteError.noRoom)
    add(new)
    // As if there had been no room to replace the old one.
    try alice.replicator.store.saveStatements([(old.id, old.bytes)], removed: [new.id])
    add(try addresses(3))
    let stored = try alice.replicator.store.statements().map { try Statement($0).id }
    #expect(Set(stored) == Set(alice.replicator.circle.ids))
  }

  // MARK: Branches

  private func flooded(_ shell: Shell) throws -> (Replicator, Family) {
    let family = try Family(founder: "alice")
    let replicator = try alice(try store(family))
    replicator.shell = shell
    replicator.handle(.started, now: Self.now)
    let introduction = try #require(
      replicator.circle.introduction(of: DeviceKey(Family.key("bob")), wallMilliseconds: Family.start)?
        .encoded)
    replicator.handle(
      .opened(Self.link, remote: Family.transport(of: "bob"), introduction: introduction), now: Self.now)
    return (replicator, family)
  }

  /// Hands over sets from Bob, until all of them have been handled.
  private func deliver(_ sets: [VerifiedChangeSet], to replicator: Replicator, at steady: Moment = 0) {
    let now = Now(wall: Family.start, steady: steady)
    replicator.handle(.received(Self.link, .sets(.settings, sets)), now: now)
    for _ in 0..<sets.count where replicator.isWaiting(Self.link) { replicator.goOn(now: now) }
    #expect(!replicator.isWaiting(Self.link))
  }

  /// Branches of two sets each that follow one set.
  private func branches(
    _ name: String, _ family: Family, _ count: Int, number: Int, after sequence: UInt64
  ) throws -> [VerifiedChangeSet] {
    let key = Family.key(name)
    let log = LogKey(
      device: DeviceKey(key), incarnation: Incarnation(random: Bytes16(8, 8), number: number), lane: .settings
    )
    func author(_ last: VerifiedChangeSet?) -> Author {
      Author(
        position: AuthorPosition(
          circle: family.circle, log: log, sequence: last?.header.sequence ?? 0, id: last?.id,
          clock: last?.header.clock ?? .zero, logBytes: last?.logBytes ?? 0, unseen: []),
        key: key, seed: Family.seed)
    }
    func write(_ author: inout Author, _ number: UInt64) throws -> [VerifiedChangeSet] {
      let operation = OperationDraft(id: OperationID(Bytes16(number, 5)), verb: "test")
      return try author.write([insert(setting(number))], operation: operation, wall: Family.start)
    }
    var trunk: [VerifiedChangeSet] = []
    var first = author(nil)
    for step in 0..<sequence { trunk += try write(&first, step) }
    return try trunk
      + (0..<count).flatMap { branch in
        var author = author(trunk.last)
        return try (0..<2).flatMap { try write(&author, UInt64(1_000 + 2 * branch) + $0) }
      }
  }

  @Test func `forty branches are proven and cut, once sixteen of them are stored`() throws {
    let shell = Shell()
    let (alice, family) = try flooded(shell)
    let sets = try branches("bob", family, 40, number: 3, after: 2)
    deliver(sets, to: alice)
    let proof = try #require(alice.circle.evaluation.branchProofs[sets[0].header.log.tree])
    #expect(proof.line == 2)
    #expect(alice.store.heads(.settings).map(\.sequence) == [2])
    #expect(shell.rebuilds == 1)
  }

  @Test func `cuts that are not urgent wait for ten times the duration of the last rebuild`() throws {
    let shell = Shell()
    shell.rebuildTakes = 500
    let (alice, family) = try flooded(shell)
    func receive(_ number: Int, at steady: Moment) throws {
      deliver(try branches("bob", family, 17, number: number, after: 2), to: alice, at: steady)
    }
    try receive(1, at: 0)
    #expect(shell.rebuilds == 1 && !alice.isRebuildDue)
    try receive(2, at: 100)
    #expect(alice.circle.evaluation.branchProofs.count == 2)
    #expect(shell.rebuilds == 1 && alice.isRebuildDue)
    #expect(shell.timers == [.applyCuts: 5_400])
    alice.handle(.timer(.applyCuts), now: Now(wall: Family.start, steady: 5_499))
    #expect(shell.rebuilds == 1)
    alice.handle(.timer(.applyCuts), now: Now(wall: Family.start, steady: 5_500))
    #expect(shell.rebuilds == 2 && !alice.isRebuildDue)
    #expect(alice.store.heads(.settings).map(\.sequence) == [2, 2])
    // A revocation does not wait, and takes along what does.
    try receive(3, at: 5_600)
    #expect(shell.rebuilds == 2 && alice.isRebuildDue)
    let now = Now(wall: Family.start, steady: 5_700)
    alice.handle(.statementsAdded([try family.revocation(of: "bob").bytes]), now: now)
    #expect(shell.rebuilds == 3 && !alice.isRebuildDue)
    #expect(alice.store.heads(.settings).isEmpty)
  }

  @Test func `a device goes on in another incarnation once too many branches of its logs are proven`() throws
  {
    let shell = Shell()
    let (alice, family) = try flooded(shell)
    let sets = try branches("alice", family, 17, number: alice.incarnation.number, after: 1)
    deliver(sets, to: alice)
    #expect(alice.circle.evaluation.branchProofs.count == 1)
    #expect(alice.incarnation != Self.own && alice.incarnation.number != Self.own.number && !alice.isSpent)
    #expect(shell.rebuilds == 1)
  }

  // MARK: Pieces

  private func settings(of name: String, _ numbers: Range<UInt64>, _ circle: CircleID) throws
    -> [VerifiedChangeSet]
  {
    let key = Family.key(name)
    let log = LogKey(device: DeviceKey(key), incarnation: Incarnation(Bytes16(5, 5)), lane: .settings)
    let position = AuthorPosition(
      circle: circle, log: log, sequence: 0, id: nil, clock: .zero, logBytes: 0, unseen: [])
    var author = Author(position: position, key: key, seed: Family.seed)
    return try numbers.flatMap { number in
      let operation = OperationDraft(id: OperationID(Bytes16(number, 1)), verb: "test")
      return try author.write(
        [insert(setting(number))], operation: operation, wall: Family.start)
    }
  }

  @Test func `sets of one peer are stored in pieces, interleaved with another's`() throws {
    let family = try Family(founder: "alice")
    let store = try Store.inMemory()
    let statements = try [family.genesis] + ["bob", "mallory"].map { try family.certificate(for: $0) }
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Self.own.bytes)
    let replicator = try alice(store)
    let shell = Shell()
    replicator.shell = shell
    replicator.handle(.started, now: Self.now)
    for (number, name) in [(1, "bob"), (2, "mallory")] as [(UInt64, String)] {
      let device = DeviceKey(Family.key(name))
      let introduction = try #require(
        replicator.circle.introduction(of: device, wallMilliseconds: Family.start)?.encoded)
      let remote = Family.transport(of: name)
      replicator.handle(.opened(LinkID(number), remote: remote, introduction: introduction), now: Self.now)
    }
    let flood = try settings(of: "mallory", 0..<50, family.circle)
    let honest = try settings(of: "bob", 100..<101, family.circle)
    shell.pieceMax = 10
    replicator.handle(.received(LinkID(2), .sets(.settings, flood)), now: Self.now)
    #expect(store.changeSetCount(.settings) == 10)
    #expect(replicator.isWaiting(LinkID(2)) && !replicator.isWaiting(LinkID(1)))
    #expect(shell.goOns == 1)
    replicator.handle(.received(LinkID(1), .sets(.settings, honest)), now: Self.now)
    // Bob's one set does not wait for the rest.
    #expect(store.heads(.settings).contains { $0.log.device == DeviceKey(Family.key("bob")) })
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
