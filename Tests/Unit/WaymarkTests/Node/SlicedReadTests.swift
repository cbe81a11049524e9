import Enrolment
import Synchronization
import Testing
import Transport

@testable import NodeRuntime
@testable import Waymark
@testable import WaymarkTesting

/// Long reads yield between slices. Work that kept numbers of change sets starts over once these are invalid.
struct SlicedReadTests {
  @Test func `a read starts over when the store was opened again meanwhile, three times at most`()
    async throws
  {
    let clock = VirtualClock()
    let node = try Node(
      CircleCreation(name: "alice", now: clock.wall()),
      in: NodeEnvironment(
        clock: HurriedClock(clock),
        transport: InMemoryTransport(network: InMemoryNetwork(clock: clock), machine: 1)))
    #expect(try await node.attempts(interrupted: 0) == 1)
    #expect(try await node.attempts(interrupted: 2) == 3)
    #expect(try await refusal { _ = try await node.attempts(interrupted: 3) } == "busy")
    await node.close()
    #expect(try await refusal { _ = try await node.attempts(interrupted: 0) } == "closed")
  }
}

extension Node {
  /// Runs a read in slices, of which the first attempts are interrupted, and returns the number of attempts.
  fileprivate func attempts(interrupted count: Int) async throws -> Int {
    var attempts = 0
    return try await core.inSlices { pace in
      attempts += 1
      if attempts <= count { core.openings += 1 }
      try await pace.step()
      return attempts
    }
  }
}

/// A clock by which a slice is over whenever it is read.
private final class HurriedClock: NodeClock {
  private let clock: VirtualClock
  private let readings = Mutex<Int64>(0)

  init(_ clock: VirtualClock) { self.clock = clock }

  func wall() -> Int64 { clock.wall() }

  func steady() -> Int64 {
    readings.withLock { readings in
      readings += 1
      return clock.steady() + readings * 1_000
    }
  }

  func after(
    milliseconds: Int64, on executor: QueueExecutor, _ body: @escaping @Sendable () -> Void
  ) -> any NodeTimer {
    clock.after(milliseconds: milliseconds, on: executor, body)
  }
}
