import Testing
import WaymarkCare
import WaymarkTesting

@testable import NodeRuntime
@testable import Waymark

/// Waits on a node that closes.
struct EndedWaitTests {
  @Test func `a wait that a closing node has ended is not ended again`() async throws {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    let (isMet, left) = await node.endedWait()
    #expect(!isMet && left == 0)
    await node.close()
  }
}

extension Node {
  /// Ends a wait as a closing node does. Returns its result, and how many waits could be ended afterwards.
  fileprivate func endedWait() async -> (isMet: Bool, left: Int) {
    var waiters = Waiters()
    let id = waiters.newID()
    let isMet: Bool = await withCheckedContinuation { continuation in
      waiters.add(id, { _ in true }, continuation)
      waiters.endAll()
    }
    return (isMet, waiters.release(core).count)
  }
}
