import Families
import Membership
import RecordTables
import Records
import Replication
import Shells
import Storage
import Testing
import Wire

@testable import Engine

/// How the statements of the circle, its quotas and the time affect what a device writes and folds.
@Suite struct OwnCircleTests {
  private final class Shell: QuietShell {}

  private let family: Family
  private let shell = Shell()
  private let now = Now(wall: Family.start + 1_000, steady: 0)

  init() throws { family = try Family(founder: "alice") }

  private func operation(_ number: UInt64) -> OperationDraft {
    OperationDraft(id: OperationID(Bytes16(9, number)), verb: "test")
  }

  private func opened(_ store: Store, quotas: DeviceQuotas = .standard) throws -> Replicator {
    try Replicator(
      store: store, circle: try Circle(store: store, quotas: quotas), signing: Family.key("alice"),
      preference: false, localPremium: .none, place: AnyIncarnation(), now: now.wall, seed: 1,
      random16: { Bytes16(4, 4) })
  }

  // MARK: Incarnations

  /// Another copy of Alice's data has ended logs of which this one has no set.
  @Test func `a device goes on in an incarnation with a number that none of its ended logs has`() throws {
    let (store, alice) = try startedAlice(in: family, with: [], shell, at: now)
    try #require(alice.incarnation.number == 1)
    let other = Incarnation(random: Bytes16(7, 7), number: 2)
    let cuts = try [alice.incarnation, other].map { incarnation in
      let log = LogKey(device: alice.device, incarnation: incarnation, lane: .records)
      return try Statement(
        signing: LogCut(circle: family.circle, log: log, tip: nil, issued: 5), with: Family.key("alice"))
    }
    alice.handle(.statementsAdded(cuts.map(\.bytes)), now: now)
    #expect(alice.incarnation.number == 3 && !alice.isSpent)
    try alice.write(operation(1), [insert(record(1))], now: now)
    #expect(store.heads(.records).map(\.log.incarnation) == [alice.incarnation])
    #expect(store.heads(.records).map(\.foldedSequence) == [1])
  }

  // MARK: Revocations

  @Test func `who knows of a revocation is still known after a restart`() throws {
    let (store, alice) = try startedAlice(in: family, with: ["bob", "carol"], shell, at: now)
    let carol = DeviceKey(Family.key("carol"))
    let revocation = try family.revocation(of: "bob")
    alice.handle(.statementsAdded([revocation.bytes]), now: now)
    let introduction = try #require(alice.circle.introduction(of: carol, wallMilliseconds: now.wall)?.encoded)
    let remote = Family.transport(of: "carol")
    alice.handle(.opened(LinkID(1), remote: remote, introduction: introduction), now: now)
    #expect(alice.replica.acknowledgedRevocations.isEmpty)
    alice.handle(.received(LinkID(1), .statementIDs([revocation.id], reply: false)), now: now)
    let expected = [revocation.id: Set([carol])]
    #expect(alice.replica.acknowledgedRevocations == expected)
    #expect(try opened(store).replica.acknowledgedRevocations == expected)
  }

  // MARK: Quotas

  /// Alice may write 4,000 bytes of records under her first incarnation, which has half of the quota.
  private func limited() throws -> (Store, Replicator) {
    let store = try Store.inMemory()
    try store.saveStatements([(family.genesis.id, family.genesis.bytes)])
    try store.setMeta(MetaKey.incarnation, Bytes16(1, 1).bytes)
    let alice = try opened(store, quotas: DeviceQuotas(settings: 100_000, records: 8_000))
    alice.shell = shell
    alice.handle(.started, now: now)
    return (store, alice)
  }

  private let large = String(repeating: "x", count: 5_000)

  @Test func `an operation that exceeds the quota of one lane changes neither`() throws {
    let (store, alice) = try limited()
    let drafts = [insert(setting(1)), insert(record(1), large)]
    #expect(throws: ChangeSetError.beyondQuota(.records)) {
      try alice.write(operation(1), drafts, now: now)
    }
    #expect(store.changeSetCount(.settings) == 0 && store.changeSetCount(.records) == 0)
    #expect(store.heads(.settings).isEmpty && store.heads(.records).isEmpty)
    try alice.write(operation(2), [insert(setting(1)), insert(record(1))], now: now)
    #expect(store.heads(.settings).map(\.sequence) == [1] && store.heads(.records).map(\.sequence) == [1])
  }

  @Test func `a preview tells whether an operation fits into the quota, and writes nothing`() throws {
    let (store, alice) = try limited()
    func contents(_ text: String) throws -> OperationContents {
      try OperationContents(operation(1), [insert(record(1), text)], seed: Family.seed)
    }
    #expect(throws: ChangeSetError.beyondQuota(.records)) {
      try alice.checkQuota(try contents(large), now: now)
    }
    let fitting = String(large.prefix(2_000))
    try alice.checkQuota(try contents(fitting), now: now)
    #expect(store.changeSetCount(.records) == 0)
    // What is written meanwhile counts.
    try alice.write(operation(2), [insert(record(2), fitting)], now: now)
    #expect(throws: ChangeSetError.beyondQuota(.records)) {
      try alice.checkQuota(try contents(fitting), now: now)
    }
    #expect(store.changeSetCount(.records) == 1)
  }

  // MARK: Time

  @Test func `a command folds a parked set once it is due, and not before`() throws {
    let (store, alice) = try startedAlice(in: family, with: ["bob"], shell, at: now)
    let log = LogKey(
      device: DeviceKey(Family.key("bob")), incarnation: Incarnation(Bytes16(5, 5)), lane: .records)
    var bob = Author(
      position: try store.authorPosition(circle: family.circle, log: log), key: Family.key("bob"),
      seed: Family.seed)
    let date = now.wall + 2 * Limits.clockDriftMilliseconds
    let sets = try bob.write([insert(record(1))], operation: operation(1), wall: date)
    let report = try store.commit(sets, horizon: Replicator.horizon(now.wall))
    try #require(report.placements == [.place(folds: false)])
    func foldDue(after wait: Moment) throws -> Bool {
      try alice.foldDue(now: Now(wall: now.wall + wait, steady: wait))
    }
    #expect(try !foldDue(after: Limits.clockDriftMilliseconds - 1))
    #expect(store.heads(.records).map(\.foldedSequence) == [0])
    #expect(try foldDue(after: Limits.clockDriftMilliseconds))
    #expect(store.heads(.records).map(\.foldedSequence) == [1])
    #expect(try !foldDue(after: Limits.clockDriftMilliseconds + 1), "nothing is left")
  }
}
