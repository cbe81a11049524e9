import Engine
import Foundation
import Model
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// Notices and waits of a node of which there are several at a time: each ends by its own cause, and can begin again.
struct NodeResetTests {
  private struct Odd: Error, CustomStringConvertible {
    let description = "odd"
  }

  @Test func `a notice is shown once, ends with its own cause only, and returns when it happens again`()
    async throws
  {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    let (bob, carol) = (DeviceKey(Bytes32(0, 0, 0, 1)), DeviceKey(Bytes32(0, 0, 0, 2)))
    let carols = NodeNotice.digestMismatch(device: carol, .records)
    let bobs = [
      NodeNotice.digestMismatch(device: bob, .records), NodeNotice.digestMismatch(device: bob, .settings),
    ]
    let failed = NodeNotice.storeFailed("odd")
    for round in 1...2 {
      for device in [bob, bob, carol] { await node.note(.digestMismatch(device, .records)) }
      await node.note(.digestMismatch(bob, .settings))
      for _ in 0..<2 { await node.fail(Odd()) }
      let all = await node.shownNotices
      #expect(all.count == 4, "round \(round)")
      #expect(Set(all) == Set(bobs + [carols, failed]), "round \(round)")
      // In sync with one device: what differs from the other one stays.
      await node.note(.inSync(bob))
      #expect(await Set(node.shownNotices) == [carols, failed], "round \(round)")
      // A change that was stored ends the notice about one that was not.
      _ = try await node.save(Trip(name: "Rome"))
      #expect(await node.shownNotices == [carols], "round \(round)")
    }
    await node.note(.inSync(carol))
    #expect(await node.shownNotices.isEmpty)
    await node.close()
  }

  @Test func `of several waits each ends by its own time limit, cancellation or condition`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    let met = Counter()
    /// Begins to wait, and returns once the wait is registered.
    func begin(_ what: String, _ milliseconds: Int64, isMet: @escaping @Sendable () -> Bool) async throws
      -> Task<Bool, any Error>
    {
      let evaluations = Counter()
      let task = Task {
        try await node.isMet(within: milliseconds) {
          evaluations.add()
          return isMet()
        }
      }
      try await eventually("the \(what) wait has begun") { evaluations.count > 0 }
      // It is registered by the same job that has evaluated its condition.
      _ = await node.shownNotices
      return task
    }
    let lasting = try await begin("lasting", 60_000) { met.count > 0 }
    let short = try await begin("short", 1_000) { false }
    let cancelled = try await begin("cancelled", 60_000) { false }
    try await clock.advance(by: .milliseconds(1_000))
    let isShortMet = try await within("the end of the short wait") { try await short.value }
    #expect(!isShortMet)
    cancelled.cancel()
    let isCancelledMet = try await within("the end of the cancelled wait") { try await cancelled.value }
    #expect(!isCancelledMet)
    // A turn after which the condition does not hold yet ends nothing.
    await node.evaluate()
    met.add()
    await node.evaluate()
    let isLastingMet = try await within("the end of the lasting wait") { try await lasting.value }
    #expect(isLastingMet)
    // The time limits of waits that have ended pass while another one lasts.
    let late = try await begin("late", 600_000) { met.count > 1 }
    try await clock.advance(by: .seconds(61))
    met.add()
    await node.evaluate()
    let isLateMet = try await within("the end of the late wait") { try await late.value }
    #expect(isLateMet)
    await node.close()
  }
}

extension Node {
  fileprivate var shownNotices: [NodeNotice] { core.shell.notices }

  fileprivate func note(_ event: ReplicaEvent) { core.shell.note(event) }

  /// Lets a transaction fail, through no fault of the disk.
  fileprivate func fail(_ error: any Error) { core.replicator.storeFailed(error) }

  fileprivate func isMet(within milliseconds: Int64, _ isMet: @escaping @Sendable () -> Bool) async throws
    -> Bool
  {
    try await core.wait(milliseconds: milliseconds) { _ in isMet() }
  }

  fileprivate func evaluate() { core.evaluateWaiters() }
}
