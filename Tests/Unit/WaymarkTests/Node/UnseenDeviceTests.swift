import Foundation
import Reasons
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// The notice about devices that have not been seen for long.
struct UnseenDeviceTests {
  private func notice(_ node: Node) async throws -> NodeStatus.Notice? {
    try await node.status().notices.first { $0.reason == .notSeen }
  }

  /// Disconnects Alice from Bob, and waits until she has noticed.
  private func part(_ circle: TestCircle) async throws {
    await circle.disconnect("alice", "bob")
    try await eventually("Alice misses Bob") {
      try await circle.clock.quiet()
      return await circle["alice"].withCore { $0.replica.identifiedSessions(with: nil).isEmpty }
    }
  }

  private static let fortnight: TimeInterval = 14 * 86_400

  @Test func `a device counts as unseen after two weeks, unless it is paused`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    let bob = try await circle["bob"].status().device
    try await part(circle)
    let seen = try #require(try await alice.peers().first?.lastSeen)
    try await circle.clock.sleep(until: seen.addingTimeInterval(Self.fortnight))
    #expect(try await notice(alice) == nil)
    try await circle.clock.advance(by: .milliseconds(1))
    let found = try #require(try await notice(alice))
    #expect(found.device == bob)
    #expect(found.text.description.hasPrefix("bob has not been seen for 14 days"))
    guard case .unseen(_, let devices) = found.details else {
      Issue.record("\(found.details)")
      return
    }
    #expect(devices.map(\.device) == [bob] && devices.first?.since == seen)
    try await alice.pause(bob)
    #expect(try await notice(alice) == nil)
    try await alice.resume(bob)
    #expect(try await notice(alice) != nil)
    await circle.connect("alice", "bob")
    try await circle.settle()
    #expect(try await notice(alice) == nil)
    await circle.close()
  }

  @Test func `right after the start nothing is said, because no device is connected yet`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody, storage: .directories)
    try await part(circle)
    try await circle.clock.sleep(for: .seconds(20 * 86_400))
    #expect(try await notice(circle["alice"]) != nil)
    try await circle.reopen("alice")
    let start = try #require(try await circle["alice"].status().servingSince)
    #expect(try await notice(circle["alice"]) == nil)
    try await circle.clock.advance(to: start.addingTimeInterval(59.999))
    #expect(try await notice(circle["alice"]) == nil)
    try await circle.clock.advance(to: start.addingTimeInterval(60))
    #expect(try await notice(circle["alice"]) != nil)
    await circle.close()
  }
}
