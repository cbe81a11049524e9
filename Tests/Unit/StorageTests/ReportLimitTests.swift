import LogStorage
import RecordTables
import Replication
import Storage
import Testing
import Wire

/// How much of a batch its report names, and how much it only counts.
struct ReportLimitTests {
  @Test(arguments: [(1, true), (999, true), (1_000, true), (1_001, false), (2_500, false)])
  func `a report names the written records, or none if they are more than a thousand`(
    count: Int, areNamed: Bool
  ) {
    var report = CommitReport()
    let keys = (1...count).map { trip(UInt64($0)) }
    for key in keys { report.changed(key) }
    let expected: Set<RecordKey>? = areNamed ? Set(keys) : nil
    #expect(report.records == expected)
    #expect(report.kinds == [trip(1).kind])
  }

  @Test func `a report names the first sets of a batch, and counts all of them`() throws {
    let alice = try Device("alice")
    for number in UInt64(1)...40 {
      try alice.write(at: Int64(number), insert(trip(number), [1: .text("Trip \(number)")]))
    }
    let bob = try Device("bob")
    let report = try bob.receive(alice.known)
    #expect(report.foldedCount == 40)
    let clocks = try report.foldedNumbers.map { try bob.store.place($0).origin.stamp.clock }
    let first = (1...32).map { Clock(milliseconds: Int64($0)) }
    #expect(clocks == first)
    #expect(report.foldedClocks == [alice.log.device: Clock(milliseconds: 40)])
    #expect(report.entries == [trip(1).kind: CommitReport.EntryCounts(inserts: 40)])
    // A set that is here already is not folded again.
    let again = try bob.receive(alice.known)
    #expect(again.foldedCount == 0 && again.foldedNumbers.isEmpty && !again.foldedAnything)
  }
}
