import Engine
import Membership
import Reasons
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import SQLite
@testable import Waymark

/// What a node says of its peers and of itself while its disk is full.
struct FullDiskStateTests {
  @Test func `a full disk explains why a connected peer is not in sync, and nothing else`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", premium: .nobody)
    let alice = circle["alice"]
    await circle.disconnect("alice", "carol")
    try await eventually("Alice misses Carol") {
      try await circle.clock.quiet()
      return await alice.withCore { $0.replica.identifiedSessions(with: nil).count == 1 }
    }
    let before = try await alice.peersOnFullDisk(afterWriting: false)
    #expect(before.map(\.name) == ["bob", "carol"])
    #expect(before.map(\.state) == [.inSync, .offline])
    #expect(before.allSatisfy { $0.reason != .diskFull })
    let after = try await alice.peersOnFullDisk(afterWriting: true)
    #expect(after.map(\.name) == ["bob", "carol"])
    let (bob, carol) = (try #require(after.first), try #require(after.last))
    #expect(bob.state != .inSync && bob.reason == .diskFull, "\(bob.state), \(bob.reason)")
    #expect(carol.state == .offline && carol.reason != .diskFull)
    await circle.close()
  }

  @Test func `a status says that the disk is full`() async throws {
    let node = try Node.inMemory(name: "alice", clock: VirtualClock())
    func isTold() async throws -> Bool {
      try await node.status().notices.contains { $0.reason == .diskFull }
    }
    #expect(try await !isTold())
    await node.fillDisk()
    #expect(try await isTold())
    await node.close()
  }
}

extension Node {
  /// Lets a transaction fail because the disk is full.
  fileprivate func fillDisk() {
    core.replicator.storeFailed(SQLiteError(code: 13, message: "database or disk is full", sql: nil))
  }

  /// The other devices as they are when the disk has just become full, before any of them answers.
  fileprivate func peersOnFullDisk(afterWriting: Bool) throws -> [NodeRuntime.Peer] {
    if afterWriting { _ = try core.setSetting("colorScheme", to: .text("dark")) }
    fillDisk()
    return try core.inspection().peers()
  }
}
