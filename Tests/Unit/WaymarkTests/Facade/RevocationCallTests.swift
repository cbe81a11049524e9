import Foundation
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Which devices a revocation means, and what it says of those that have not received it.
struct RevocationCallTests {
  /// Alice founds the circle, and Bob, an admin, has invited Carol.
  private func invited() async throws -> (circle: TestCircle, bob: DeviceKey, carol: DeviceKey) {
    let circle = try await TestCircle("alice", premium: .nobody, isSyncing: false, storage: .directories)
    try await circle.add("bob", isAdmin: true)
    try await circle.settle()
    try await circle.add("carol", invitedBy: "bob")
    try await circle.settle()
    let members = try await circle["alice"].members()
    let devices = Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.device) })
    return (circle, try #require(devices["bob"]), try #require(devices["carol"]))
  }

  @Test func `a request is refused as a whole if it is contradictory or names no device`() async throws {
    let (circle, bob, _) = try await invited()
    let alice = circle["alice"]
    #expect(try await refusal { try await alice.revoke([]) } == "usage")
    #expect(
      try await refusal { try await alice.revoke([bob], discarding: true, beforeErase: true) } == "usage")
    // Bob has erased nothing that this device still keeps.
    #expect(try await refusal { try await alice.revoke([bob], beforeErase: true) } == "not_found")
    let own = try await alice.status().device
    #expect(try await refusal { try await alice.revoke([bob, own]) } == "own_device")
    #expect(try await alice.members().allSatisfy { !$0.isRevoked })
    await circle.close()
  }

  @Test func `a device that is named twice is revoked once, and those that it invited only on request`()
    async throws
  {
    let (circle, bob, carol) = try await invited()
    let alice = circle["alice"]
    let preview = try await alice.revocationPreview(of: [bob, bob])
    #expect(preview.isPreview && !preview.isDone && preview.revoked.map(\.device) == [bob])
    #expect(preview.revoked.first?.role == .admin && preview.revoked.first?.statement == nil)
    #expect(preview.revoked.first?.invited.map(\.device) == [carol])
    #expect(
      preview.notes.contains("invited by bob and not revoked (--with-invited revokes them too): carol"))
    let both = try await alice.revocationPreview(of: [bob], withInvited: true)
    #expect(both.revoked.map(\.device) == [bob, carol] && both.already.isEmpty)
    #expect(!both.notes.contains { $0.hasPrefix("invited by bob") })
    // Named as well as invited, she is still one device.
    let named = try await alice.revocationPreview(of: [carol, bob], withInvited: true)
    #expect(named.revoked.map(\.device) == [carol, bob])
    #expect(try await alice.members().allSatisfy { !$0.isRevoked })
    try await alice.revoke([bob], withInvited: true)
    #expect(try await alice.members().map(\.isRevoked) == [false, true, true])
    await circle.close()
  }

  @Test func `devices that were revoked before are told apart, and the root key revokes them once more`()
    async throws
  {
    let (circle, bob, carol) = try await invited()
    let alice = circle["alice"]
    for other in ["alice", "bob"] { await circle.disconnect(other, "carol") }
    try await circle.settle()
    let first = try await alice.revoke([bob])
    #expect(first.isDone && first.revoked.map(\.device) == [bob] && first.byName == "this device")
    #expect(first.revoked.first?.notHeard.map(\.device) == [carol])
    #expect(first.text.description.contains("carol receives the revocation when connected"))
    let again = try await alice.revoke([bob])
    #expect(!again.isDone && again.revoked.isEmpty && again.already.map(\.device) == [bob])
    #expect(again.already.first?.revocations.map(\.byName) == ["alice"] && again.next == nil)
    let root = URL(filePath: alice.home.rootKey)
    let byRoot = try await alice.revoke([bob], rootKey: root)
    #expect(byRoot.isDone && byRoot.already.isEmpty && byRoot.byName == "the root key")
    let over = try await alice.revoke([bob, carol], rootKey: root)
    #expect(over.already.map(\.device) == [bob] && over.revoked.map(\.device) == [carol] && over.isDone)
    #expect(try await alice.members().map(\.isRevoked) == [false, true, true])
    await circle.close()
  }
}
