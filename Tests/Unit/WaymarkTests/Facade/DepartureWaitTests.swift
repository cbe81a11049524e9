import NodeOperations
import Reasons
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// What a device that leaves tells, and how many of the others are connected.
struct DepartureWaitTests {
  @Test func `a device that leaves waits until a connected admin has completed it`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", premium: .nobody)
    let bob = circle["bob"]
    let summary = try await circle.during { try await bob.leave(isConfirmed: true) }
    #expect(summary.hasLeft && summary.next == nil)
    #expect(summary.told.map(\.name).sorted() == ["alice", "carol"])
    #expect(summary.text.description.hasPrefix("This device has left the circle."))
    await circle.close()
  }

  @Test func `a device that has asked to leave names the admins that complete it, and no other member`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", "carol", premium: .nobody)
    let bob = circle["bob"]
    await circle.partition(["alice", "carol"], ["bob"])
    try await circle.settle()
    let summary = try await circle.during { try await bob.leave(isConfirmed: true) }
    #expect(!summary.hasLeft && summary.told.isEmpty)
    let notice = try #require(try await bob.status().notices.first { $0.reason == .leaving })
    #expect(notice.text.description.contains("(alice)"), "\(notice.text)")
    #expect(notice.next?.description.hasSuffix(", on alice") == true, "\(notice.next?.description ?? "")")
    await circle.close()
  }

  @Test func `of the other devices those are counted that are connected`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", premium: .nobody)
    let alice = circle["alice"]
    let whole = await alice.company
    #expect(whole.connected == 2 && whole.others == 2)
    await circle.disconnect("alice", "carol")
    try await eventually("Alice misses Carol") {
      try await circle.clock.quiet()
      return await alice.withCore { $0.replica.identifiedSessions(with: nil).count == 1 }
    }
    let rest = await alice.company
    #expect(rest.connected == 1 && rest.others == 2)
    await circle.close()
  }

  @Test func `only the device that is the only admin and has the root key is warned`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody, storage: .directories)
    let bob = try await circle["bob"].status().device
    func warned() async throws -> [String] {
      var names: [String] = []
      for name in circle.names {
        let notices = try await circle[name].status().notices
        if notices.contains(where: { $0.reason == .singleAdmin }) { names.append(name) }
      }
      return names
    }
    #expect(try await warned() == ["alice"])
    try await circle["alice"].promote(bob)
    try await circle.settle()
    #expect(try await warned() == [])
    await circle.close()
  }
}
