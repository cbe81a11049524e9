import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// What the options of a revocation do, and what is said before it.
struct RevocationOptionTests {
  /// Alice founds the circle; Bob is an admin, and Carol a member whom Alice has invited.
  private func threeDevices() async throws -> (circle: TestCircle, bob: DeviceKey, carol: DeviceKey) {
    let circle = try await TestCircle("alice", premium: .nobody, isSyncing: false, storage: .directories)
    try await circle.add("bob", isAdmin: true)
    try await circle.add("carol")
    try await circle.settle()
    let bob = try await circle["bob"].status().device
    let carol = try await circle["carol"].status().device
    return (circle, bob, carol)
  }

  @Test(arguments: [false, true])
  func `whom a revoked device had revoked comes back only on request`(isUndoing: Bool) async throws {
    let (circle, bob, carol) = try await threeDevices()
    let alice = circle["alice"]
    try await circle["bob"].revoke([carol])
    try await circle.settle()
    #expect(try await alice.members().filter(\.isRevoked).map(\.name) == ["carol"])
    let preview = try await alice.revocationPreview(of: [bob], undoingRevocations: isUndoing)
    #expect(preview.revoked.first?.hadRevoked.map(\.device) == [carol])
    let note =
      isUndoing
      ? "revoked by bob and readmitted: carol"
      : "revoked by bob and staying revoked (--undo-revocations readmits them): carol"
    #expect(preview.notes.contains(note), "\(preview.notes)")
    #expect(try await alice.members().filter(\.isRevoked).map(\.name) == ["carol"])
    try await alice.revoke([bob], undoingRevocations: isUndoing)
    let revoked = try await alice.members().filter(\.isRevoked).map(\.name)
    #expect(revoked == (isUndoing ? ["bob"] : ["bob", "carol"]))
    await circle.close()
  }

  @Test func `a device that revokes the one that revoked it is a member again`() async throws {
    let (circle, bob, carol) = try await threeDevices()
    let (alice, root) = (circle["alice"], URL(filePath: circle["alice"].home.rootKey))
    try await circle["bob"].revoke([carol])
    try await circle.settle()
    #expect(try await circle["carol"].status().notices.contains { $0.reason == .revoked })
    let preview = try await circle["carol"].revocationPreview(of: [bob], rootKey: root)
    #expect(preview.warnings.contains("bob had revoked this device: revoking bob undoes that"))
    try await circle["carol"].revoke([bob], rootKey: root)
    #expect(try await circle["carol"].members().filter(\.isRevoked).map(\.name) == ["bob"])
    #expect(try await circle["carol"].status().notices.allSatisfy { $0.reason != .revoked })
    try await circle.settle()
    #expect(try await alice.members().filter(\.isRevoked).map(\.name) == ["bob"])
    await circle.close()
  }

  @Test func `a revocation after which the circle has no admin says so`() async throws {
    let circle = try await TestCircle(
      "alice", "bob", premium: .nobody, isSyncing: false, storage: .directories)
    let (alice, bob) = (circle["alice"], circle["bob"])
    let founder = try await alice.status().device
    let member = try await bob.status().device
    #expect(try await refusal { _ = try await bob.revocationPreview(of: [founder]) } == "not_admin")
    let root = URL(filePath: alice.home.rootKey)
    let last = try await bob.revocationPreview(of: [founder], rootKey: root)
    #expect(last.byName == "the root key")
    #expect(last.warnings.contains { $0.hasPrefix("the circle will have no admin left") })
    let other = try await alice.revocationPreview(of: [member])
    #expect(!other.warnings.contains { $0.hasPrefix("the circle will have no admin left") })
    #expect(try await alice.members().allSatisfy { !$0.isRevoked })
    await circle.close()
  }

  @Test func `the command that confirms a revocation repeats every option`() async throws {
    let (circle, _, _) = try await threeDevices()
    let alice = circle["alice"]
    let root = alice.home.rootKey
    let all: JSON = [
      "device": ["bob", "carol"], "withInvited": true, "undoRevocations": true, "discard": true,
      "rootKey": .string(root),
    ]
    let full = await #expect(throws: WaymarkError.self) { try await alice.run("revoke", all) }
    #expect(full?.code == .needsYes)
    #expect(
      full?.next?.description
        == "waymark revoke bob carol --with-invited --undo-revocations --discard --root-key \(root) --yes")
    #expect(
      full?.message.description.hasPrefix("Revoke bob, carol and discard everything that they wrote") == true)
    #expect(full?.candidates.contains { $0.hasSuffix("  bob  admin") } == true)
    #expect(full?.candidates.contains { $0.hasSuffix("  carol  member") } == true)
    let plain = await #expect(throws: WaymarkError.self) {
      try await alice.run("revoke", ["device": ["carol"]])
    }
    #expect(plain?.next?.description == "waymark revoke carol --yes")
    #expect(plain?.message.description.hasPrefix("Revoke carol? It can't rejoin with the same keys.") == true)
    #expect(try await alice.members().allSatisfy { !$0.isRevoked })
    await circle.close()
  }
}
