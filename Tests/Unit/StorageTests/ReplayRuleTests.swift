import LogStorage
import Membership
import Records
import Replication
import Testing
import Wire

@testable import Storage
@testable import Verification

/// What a verification says about a log whose sets can't have arrived as they are numbered.
@Suite struct ReplayRuleTests {
  private let alice: Device
  private let mallory: Device
  private let rome = trip(1)

  init() throws {
    alice = try Device("alice")
    mallory = try Device("mallory")
    try alice.write(at: 10, insert(rome, [1: .text("Rome")]))
    try alice.write(at: 20, edit(rome, [1: .text("Roma")]))
    try alice.write(at: 30, edit(rome, [1: .text("Rom")]))
  }

  /// The report about sets that a store holds under ascending numbers and has folded, and the store of the replay.
  private func replay(
    _ sets: [VerifiedChangeSet], _ cuts: @escaping (LogKey) -> LogEnd? = { _ in nil }
  ) throws -> (report: DeepReport, store: Store) {
    var replay = LogReplay(into: try Store.inMemory())
    var report = DeepReport()
    try replay.begin([], cuts)
    let rows = sets.enumerated().map { index, set in
      LogReplay.Row(number: Int64(index) + 1, isFolded: true, set: set)
    }
    try replay.append(rows, &report)
    try replay.finish(&report)
    return (report, replay.store)
  }

  /// A set of a device that states about its log, its time and what it has seen whatever it likes.
  private func set(
    of device: Device, after last: VerifiedChangeSet?, moreBytes: UInt64 = 0, at wall: Moment,
    seen: [VerifiedChangeSet] = []
  ) throws -> VerifiedChangeSet {
    let unseen = seen.map { set in
      Dependency(
        device: set.header.log.device, incarnation: set.header.log.incarnation, sequence: set.header.sequence,
        id: set.id)
    }
    var author = Author(
      position: AuthorPosition(
        circle: Device.circle, log: device.log, sequence: last?.header.sequence ?? 0, id: last?.id,
        clock: .zero, logBytes: (last?.logBytes ?? 0) + moreBytes, unseen: unseen),
      key: device.key, seed: device.nextSeed)
    let operation = OperationDraft(id: OperationID(Bytes16(9, UInt64(wall))), verb: "test")
    let sets = try author.write([insert(trip(2), [1: .text("Oslo")])], operation: operation, wall: wall)
    return try #require(sets.first)
  }

  private func findings(_ report: DeepReport) -> [String] {
    report.findings.map { "\($0.location.rawValue): \($0.text)" }
  }

  @Test func `a whole log has no findings, and sets twice or without their predecessors are named`() throws {
    let sets = alice.known
    let whole = try replay(sets)
    #expect(whole.report.isClean)
    #expect(try whole.store.text(rome, 1) == "Rom")
    #expect(
      try findings(replay([sets[0], sets[1], sets[1], sets[2]]).report)
        == ["log: change set 3 is stored twice"])
    #expect(
      try findings(replay([sets[0], sets[2]]).report)
        == ["log: change set 2 depends on a missing change set"])
    #expect(
      try findings(replay([sets[1], sets[0]]).report)
        == ["log: change set 1 depends on a missing change set"])
  }

  @Test func `a set that states another size or an earlier time than its predecessor is named`() throws {
    let first = alice.known[0]
    let good = try set(of: alice, after: first, at: 11)
    #expect(try replay([first, good]).report.isClean)
    let larger = try set(of: alice, after: first, moreBytes: 1, at: 11)
    let earlier = try set(of: alice, after: first, at: 9)
    let same = try set(of: alice, after: first, at: 10)
    for wrong in [larger, earlier, same] {
      #expect(
        try findings(replay([first, wrong]).report) == ["log: change set 2 contradicts its predecessor"])
    }
  }

  @Test func `a missing dependency is a loss unless a cut excludes it`() throws {
    let seen = try set(of: mallory, after: nil, at: 40, seen: [alice.known[2]])
    #expect(
      try findings(replay([seen]).report) == ["log: change set 1 depends on a missing change set"])
    let log = alice.log
    let cut = try replay([seen]) { $0 == log ? LogEnd(.cut([[]])) : nil }
    #expect(findings(cut.report) == [])
    #expect(try cut.store.text(trip(2), 1) == "Oslo", "it is folded without the dependency")
    // It is the log of the dependency that must be cut.
    let own = mallory.log
    let other = try replay([seen]) { $0 == own ? LogEnd(.cut([[seen.id]])) : nil }
    #expect(!other.report.isLogWhole)
  }

  @Test func `a set that is dated before what it has seen is named, and its data is whole`() throws {
    let first = alice.known[0]
    for wall in [9, 10] as [Moment] {
      let dated = try set(of: mallory, after: nil, at: wall, seen: [first])
      try #require(dated.header.clock <= first.header.clock)
      let report = try replay([first, dated]).report
      #expect(findings(report) == ["index: the clock of change set 2 is not later than a dependency's"])
      #expect(report.isRestorable && report.isLogWhole)
    }
    let later = try set(of: mallory, after: nil, at: 11, seen: [first])
    #expect(try replay([first, later]).report.isClean)
  }
}
