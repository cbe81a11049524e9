import Testing
import Wire

@testable import Replication

/// What a device remembers of its peers to limit the work that they cause.
@Suite struct RateLimitTests {
  private func id(_ number: UInt64) -> ChangeSetID { ChangeSetID(Bytes32(0, 0, 0, number)) }

  private func head(_ number: UInt64, of log: LogKey) -> LogHead {
    LogHead(log: log, sequence: number, id: id(number), foldedSequence: 0)
  }

  /// 256 points a second are a quarter of a point in a millisecond.
  @Test func `a budget refills by fractions of a point, and refused attempts cost nothing`() {
    var allowance = Allowance()
    let all = allowance.take(10, of: 10, at: 0)
    let attempts = (1...8).map { allowance.take(1, of: 10, at: $0) }
    #expect(all)
    #expect(attempts == [false, false, false, true, false, false, false, true])
  }

  @Test func `a budget is never more than full, and nothing larger fits into it`() {
    var allowance = Allowance()
    let all = allowance.take(10, of: 10, at: 1)
    let early = allowance.take(1, of: 10, at: 0)
    let afterYears = allowance.take(10, of: 10, at: 100_000_000_000)
    let more = allowance.take(1, of: 10, at: 100_000_000_000)
    let larger = allowance.take(11, of: 10, at: 200_000_000_000)
    let half = allowance.take(5, of: 10, at: 200_000_000_000)
    let rest = allowance.take(5, of: 10, at: 200_000_000_000)
    #expect(all && !early && afterYears && !more && !larger && half && rest)
  }

  @Test func `the newest sixteen sets beyond a quota are remembered until the quota changes`() {
    let (alice, bob) = (Device.alice.log(), Device.bob.log(.settings))
    var full = FullLogs()
    for number in 1...17 as ClosedRange<UInt64> { full.drop(id(number), alice, quota: 100) }
    full.drop(id(1), bob, quota: 50)
    #expect(!full.hasDropped(head(1, of: alice)))
    for number in 2...17 as ClosedRange<UInt64> { #expect(full.hasDropped(head(number, of: alice))) }
    #expect(full.hasDropped(head(1, of: bob)) && !full.hasDropped(head(2, of: bob)))
    #expect(full.authors(.records) == [alice.device] && full.authors(.settings) == [bob.device])

    let unchanged = full.forget { $0 == alice ? 100 : 50 }
    #expect(unchanged.isEmpty && full.contains(alice) && full.contains(bob))
    // Another set was dropped by the present quota, so nothing has to be compared again.
    full.drop(id(18), alice, quota: 200)
    let noted = full.forget { $0 == alice ? 200 : 50 }
    #expect(noted.isEmpty)
    let changed = full.forget { $0 == alice ? 200 : 51 }
    #expect(changed == [bob] && full.contains(alice) && !full.contains(bob))
  }

  @Test func `the number of full logs is limited, and another set of a known one forgets none`() {
    func log(_ number: Int) -> LogKey {
      LogKey(
        device: Device.alice.key, incarnation: Incarnation(Bytes16(1, UInt64(number))), lane: .records)
    }
    var full = FullLogs()
    for number in 0..<Limits.overQuotaLogsMax { full.drop(id(1), log(number), quota: 1) }
    full.drop(id(2), log(0), quota: 1)
    #expect((0..<Limits.overQuotaLogsMax).allSatisfy { full.contains(log($0)) })
    full.drop(id(1), log(Limits.overQuotaLogsMax), quota: 1)
    #expect(full.contains(log(Limits.overQuotaLogsMax)) && !full.contains(log(1)))
  }

  // MARK: Missing values

  private func missing(_ number: Int64) -> MissingSlots {
    MissingSlots(
      number: number,
      set: SetSlots(
        log: Device.alice.log(), sequence: UInt64(number), id: id(UInt64(number)), slots: [0]),
      valuesBytes: 100)
  }

  private static let hour: Moment = 3_600_000

  @Test func `a device is asked for the values of a set once an hour, whatever it answers`() {
    var wants = ValueWants()
    let (alice, bob) = (Device.alice.key, Device.bob.key)
    wants.noteAsked(alice, for: [id(1), id(2)], 1_000)
    for set in [id(1), id(2)] {
      #expect(!wants.mayAsk(alice, for: set, 1_000))
      #expect(!wants.mayAsk(alice, for: set, 1_000 + Self.hour - 1))
      #expect(wants.mayAsk(alice, for: set, 1_000 + Self.hour))
      #expect(wants.mayAsk(bob, for: set, 1_000))
    }
    #expect(wants.mayAsk(alice, for: id(3), 1_000))
    wants.noteAsked(alice, for: [id(3)], 2_000)
    #expect(!wants.mayAsk(alice, for: id(1), 2_000), "asking for another set forgets none")
  }

  @Test func `missing values are read in windows, and from the beginning again after an hour`() {
    var wants = ValueWants()
    wants.changed(isAny: true)
    #expect(wants.isAny && wants.isStale)
    let first = wants.read(0)
    #expect(first == 0 && !wants.isStale && wants.isReading)
    let most = Int64(Limits.valuesWantedMax)
    wants.filled((1...most).map(missing))
    #expect(wants.window.count == Int(most) && !wants.isReading && !wants.isStale)
    wants.advance(10)
    #expect(wants.isStale)
    let second = wants.read(20)
    #expect(second == most)
    wants.filled([missing(most + 5)])
    wants.advance(Self.hour - 1)
    #expect(!wants.isStale, "the first sets were requested less than an hour ago")
    wants.advance(Self.hour)
    #expect(wants.isStale)
    let again = wants.read(Self.hour)
    #expect(again == 0)
  }

  @Test func `a window after the end of the list, or a list without sets, begins from the front`() {
    var wants = ValueWants()
    wants.changed(isAny: true)
    _ = wants.read(0)
    wants.filled((1...Int64(Limits.valuesWantedMax)).map(missing))
    wants.advance(1)
    _ = wants.read(2)
    wants.filled([])
    #expect(wants.isStale && !wants.isReading)
    let start = wants.read(3)
    #expect(start == 0)
    wants.filled([missing(1)])
    wants.changed(isAny: false)
    #expect(!wants.isAny && !wants.isStale && wants.window.isEmpty)
    wants.advance(Self.hour * 2)
    #expect(!wants.isStale)
  }
}
