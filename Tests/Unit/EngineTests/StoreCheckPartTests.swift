import Families
import Replication
import Shells
import Storage
import Testing
import Wire

@testable import Engine

/// How the background check of the store goes on, part by part.
@Suite struct StoreCheckPartTests {
  private final class Shell: QuietShell {}

  private static let hour: Moment = 3_600_000
  private let shell = Shell()

  @Test(
    arguments: [
      (nil, 60_000), (0, 3_600_000), (1_800_000, 1_800_000), (3_540_000, 60_000), (3_600_000, 60_000),
      (90_000_000, 60_000), (-86_400_000, 3_600_000),
    ] as [(Moment?, Moment)])
  func `a part is due an hour after the one before, whatever the clock says, but not in the first minute`(
    ago: Moment?, wait: Moment
  ) {
    var check = StoreCheck()
    check.checkedAt = ago.map { Family.start - $0 }
    #expect(check.wait(now: Family.start) == wait)
  }

  @Test func `a part is checked in stretches while nothing is written, and begins where the last one ended`()
    throws
  {
    let now = Now(wall: Family.start + 1_000, steady: 0)
    let (store, alice) = try startedAlice(in: try Family(founder: "alice"), with: [], shell, at: now)
    for number in 1...100 as ClosedRange<UInt64> {
      let operation = OperationDraft(id: OperationID(Bytes16(9, number)), verb: "test")
      try alice.write(operation, [insert(setting(number))], now: now)
    }
    func check(isQuiet: Bool = true, at now: Now) -> [Int64?] {
      let wait = alice.continueStoreCheck(isQuiet: isQuiet, now: now)
      return [wait, alice.storeCheck.last]
    }
    #expect(check(isQuiet: false, at: now) == [1_000, 0])
    #expect(check(at: now) == [50, 32])
    #expect(check(isQuiet: false, at: now) == [1_000, 32])
    #expect(try store.meta(MetaKey.storeCheck) == nil, "the part is not complete")
    #expect(check(at: now) == [Self.hour, 64])
    let kept = StoreCheck(bytes: try store.meta(MetaKey.storeCheck))
    #expect(kept.last == 64 && kept.checkedAt == now.wall && kept.completedAt == nil)

    let later = Now(wall: now.wall + Self.hour, steady: Self.hour)
    #expect(check(at: later) == [50, 96])
    #expect(check(at: later) == [50, 100])
    #expect(check(at: later) == [Self.hour, 0])
    #expect(StoreCheck(bytes: try store.meta(MetaKey.storeCheck)).completedAt == later.wall)
    // The next pass begins from the front.
    let last = Now(wall: later.wall + Self.hour, steady: 2 * Self.hour)
    #expect(check(at: last) == [50, 32])
    #expect(alice.storeCheck.completedAt == later.wall)
  }
}
