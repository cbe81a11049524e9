import RecordTables
import Storage
import Testing
import WaymarkCare

@testable import NodeRuntime
@testable import Waymark

struct CheckpointingTests {
  private func step(
    _ checkpointing: Checkpointing = Checkpointing(), after report: CommitReport? = CommitReport(),
    pages: Int, lacksIndex: Bool = false, diskBytes: UInt64 = 1 << 40
  ) -> Checkpointing.Step? {
    checkpointing.step(after: report, pages: pages, lacksIndex: lacksIndex, diskBytes: diskBytes)
  }

  @Test func `a short log is checkpointed only when the node starts serving, or an index is missing`() {
    #expect(step(pages: 600) == nil)
    #expect(step(after: nil, pages: 0)?.wait == 500)
    #expect(step(pages: 0, lacksIndex: true)?.wait == 500)
  }

  @Test func `few changes are checkpointed after a short pause, and do not postpone a pending timer`() {
    #expect(step(pages: 601)?.wait == 20)
    let waiting = step(Checkpointing(isDue: true), pages: 601)
    #expect(waiting != nil && waiting?.wait == nil)
    #expect(step(Checkpointing(isDue: true), after: nil, pages: 601)?.wait == 500)
  }

  @Test func `a log that is large for its disk is checkpointed without delay`() {
    #expect(step(pages: 32_768)?.isOverdue == false)
    #expect(step(pages: 32_769)?.isOverdue == true)
    // An eighth of 64 MiB is 2048 pages.
    #expect(step(pages: 2_048, diskBytes: 64 << 20)?.isOverdue == false)
    #expect(step(pages: 2_049, diskBytes: 64 << 20)?.isOverdue == true)
  }
}
