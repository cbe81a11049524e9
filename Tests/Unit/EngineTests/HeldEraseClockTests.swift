import Families
import Membership
import Records
import Replication
import Shells
import Storage
import Testing
import Wire

import RecordTables
@testable import Engine

/// When held erases are applied, if the wall clock jumps.
@Suite struct HeldEraseClockTests {
  private final class Shell: QuietShell {
    /// The wait of the newest timer for held erases.
    var wait: Moment?

    func schedule(_ timer: ReplicaTimer, after milliseconds: Moment) {
      if timer == .unpark { wait = milliseconds }
    }
  }

  private static let minute: Moment = 60_000
  private static let day: Moment = 86_400_000

  private let store: Store
  private let shell = Shell()
  private let replicator: Replicator

  /// Alice holds a mass erase by Bob.
  init() throws {
    let family = try Family(founder: "alice")
    store = try Store.inMemory()
    let statements = [family.genesis, try family.certificate(for: "bob")]
    try store.saveStatements(statements.map { ($0.id, $0.bytes) })
    try store.setMeta(MetaKey.incarnation, Bytes16(1, 1).bytes)
    replicator = try Replicator(
      store: store, circle: try Circle(store: store), signing: Family.key("alice"), preference: false,
      localPremium: .none, place: AnyIncarnation(), now: Family.start, seed: 1, random16: { Bytes16(4, 4) })
    let log = LogKey(
      device: DeviceKey(Family.key("bob")), incarnation: Incarnation(Bytes16(5, 5)), lane: .records)
    var author = Author(
      position: try store.authorPosition(circle: family.circle, log: log), key: Family.key("bob"),
      seed: Family.seed)
    let records = (1...24).map { record(UInt64($0)) }
    for drafts in [records.map { insert($0) }, records.map { EntryDraft(.erase, $0, []) }] {
      let operation = OperationDraft(
        id: OperationID(Bytes16(9, UInt64(drafts[0].fields.count))), verb: "test")
      _ = try store.commit(
        author.write(drafts, operation: operation, wall: Family.start),
        horizon: Clock(milliseconds: Family.start + Self.minute),
        holding: EraseHolding(device: DeviceKey(Family.key("alice")), now: Family.start))
    }
    replicator.shell = shell
    replicator.handle(.started, now: Now(wall: Family.start, steady: 0))
  }

  private func fire(wall: Moment, steady: Moment) throws -> Bool {
    replicator.handle(.timer(.unpark), now: Now(wall: Family.start + wall, steady: steady))
    return try store.nextHeldErase == nil
  }

  @Test func `a held erase is applied after seven days`() throws {
    #expect(try store.nextHeldErase == Family.start + 7 * Self.day)
    #expect(try !fire(wall: 6 * Self.day, steady: 6 * Self.day))
    #expect(try fire(wall: 7 * Self.day, steady: 7 * Self.day))
  }

  @Test func `a wall clock that is ahead for a moment applies no held erase`() throws {
    #expect(try !fire(wall: 400 * Self.day, steady: Self.minute))
    #expect(shell.wait == Self.minute)
    #expect(try !fire(wall: 400 * Self.day, steady: 2 * Self.minute))
    #expect(try !replicator.foldDue(now: Now(wall: Family.start + 400 * Self.day, steady: 3 * Self.minute)))
    #expect(try !fire(wall: 12 * Self.minute, steady: 12 * Self.minute))
    #expect(try !fire(wall: 6 * Self.day, steady: 6 * Self.day))
    #expect(try fire(wall: 7 * Self.day, steady: 7 * Self.day))
  }

  @Test func `a wall clock that stays ahead counts after ten minutes`() throws {
    #expect(try !fire(wall: 400 * Self.day, steady: Self.minute))
    #expect(try fire(wall: 400 * Self.day, steady: 11 * Self.minute))
  }
}
