import RecordTables
import Records
import Storage
import Testing

@testable import NodeRuntime

/// When the write-ahead log is checkpointed: the limits that a number of changes sets.
struct CheckpointLimitTests {
  private func step(
    _ entries: Int, pages: Int = 601, lacksIndex: Bool = false, isErasing: Bool = false, isDue: Bool = false
  ) -> Checkpointing.Step? {
    var report = CommitReport()
    report.entries[Kind.trip.number] = CommitReport.EntryCounts(edits: entries)
    return Checkpointing(isDue: isDue).step(
      after: report, pages: pages, lacksIndex: lacksIndex, isErasing: isErasing, diskBytes: 1 << 40)
  }

  @Test func `erased values leave a log however short it is`() {
    #expect(step(1, pages: 0) == nil)
    let erasing = step(1, pages: 0, isErasing: true)
    #expect(erasing?.wait == 20 && erasing?.isOverdue == false)
  }

  @Test func `edits by hand are checkpointed soon, an import after a quiet moment that it puts off itself`() {
    #expect(step(19)?.wait == 20)
    #expect(step(20)?.wait == 500)
    #expect(step(1, lacksIndex: true)?.wait == 500, "an index is not built between two edits")
    let small = step(499, isDue: true)
    #expect(small != nil && small?.wait == nil)
    #expect(step(500, isDue: true)?.wait == 500)
  }
}
