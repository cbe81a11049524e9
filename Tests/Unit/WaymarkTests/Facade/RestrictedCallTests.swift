import Foundation
import JSONDocument
import Membership
import NodeOperations
import Reasons
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// Calls of devices that are no admins, no members any more, or connected to no device that could answer.
struct RestrictedCallTests {
  @Test func `a device that is no admin grants itself room with the root key, and not without it`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", premium: .nobody, storage: .directories)
    let bob = circle["bob"]
    let device = try await bob.status().device
    let root = URL(filePath: circle["alice"].home.rootKey)
    #expect(try await refusal { try await bob.grant(2 << 30, to: device) } == "not_admin")
    let granted = try await bob.grant(2 << 30, to: device, rootKey: root)
    #expect(granted.device == device && granted.quota == 2 << 30 && granted.previous == 1 << 30)
    await circle.close()
  }

  @Test func `a revoked device is told so when it wants to sync at once`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let bob = circle["bob"]
    try await bob.syncNow()
    let device = try await bob.status().device
    try await circle["alice"].revoke([device])
    try await circle.settle()
    #expect(try await bob.status().notices.contains { $0.reason == .revoked })
    #expect(try await refusal { try await bob.syncNow() } == "revoked")
    await circle.close()
  }

  @Test func `a device that leaves does not wait for one that is no admin`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", premium: .nobody)
    let bob = circle["bob"]
    await circle.partition(["alice"], ["bob", "carol"])
    try await circle.settle()
    let before = circle.clock.wall()
    let summary = try await circle.during { try await bob.leave(isConfirmed: true) }
    #expect(summary.told.map(\.name) == ["carol"] && !summary.hasLeft)
    #expect(circle.clock.wall() - before < 5_000)
    await circle.close()
  }

  @Test func `an override needs a device that is connected and syncs records`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol")
    let (alice, bob) = (circle["alice"], circle["bob"])
    _ = try await alice.save(Trip(name: "Rome"))
    try await circle.settle()
    let device = try await bob.status().device
    for name in ["bob", "carol"] { try await circle[name].turnSyncOff() }
    try await circle.settle()
    func refused(_ body: @escaping @Sendable () async throws -> Void) async -> Reason? {
      let error = await #expect(throws: WaymarkError.self) { try await circle.during(body) }
      return error?.reason
    }
    #expect(await refused { _ = try await alice.overrideCirclePreview() } == .peerSyncOff)
    #expect(await refused { _ = try await alice.mirrorPreview(of: device) } == .peerSyncOff)
    await circle.partition(["alice"], ["bob", "carol"])
    try await circle.settle()
    #expect(await refused { _ = try await alice.overrideCirclePreview() } == .noPeer)
    #expect(await refused { try await alice.overrideCircle() } == .noPeer)
    await circle.close()
  }
}
