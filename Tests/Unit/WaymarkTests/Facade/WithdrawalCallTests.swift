import Control
import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// Issuers and entitlements that are withdrawn: at the command, in the library, and on the other devices.
struct WithdrawalCallTests {
  private static let days: TimeInterval = 86_400
  private static let end = Date(milliseconds: TestNode.morning).addingTimeInterval(100 * days)

  private func failure(_ body: () async throws -> Void) async throws -> WaymarkError? {
    do {
      try await body()
      return nil
    } catch let error as WaymarkError {
      return error
    }
  }

  private func run(_ node: Node, _ command: String, _ arguments: JSON) async throws -> JSON {
    try await node.answer(to: ControlRequest(command: command, arguments: arguments)).get()
  }

  /// A circle that trusts an issuer whose entitlement gives both devices premium, with sync on.
  private func shop() async throws -> (circle: TestCircle, key: URL, issuer: DeviceKey, receipt: Data) {
    let circle = try await TestCircle(
      "alice", "bob", premium: .nobody, isSyncing: false, storage: .directories)
    let alice = circle["alice"]
    let key = URL(filePath: alice.home.path + "/shop")
    let issuer = try Issuer.create(at: key)
    try await alice.trustIssuer(at: key.appendingPathExtension("pub"))
    let receipt = try Issuer.entitlement(
      keyFile: key, circle: try await alice.status().circle, until: Self.end,
      issued: Date(milliseconds: TestNode.morning))
    try await alice.install(entitlement: receipt)
    try await circle.settle()
    for name in circle.names { try await circle.turnSyncOn(name) }
    try await circle.settle()
    return (circle, key, issuer, receipt)
  }

  private func lane(_ circle: TestCircle, _ name: String) async throws -> Bool? {
    try await circle[name].peers().first?.records.isOpen
  }

  @Test func `when Alice untrusts an issuer, Bob's lane closes without a restart`() async throws {
    let (circle, key, issuer, receipt) = try await shop()
    #expect(try await lane(circle, "bob") == true)
    let state = try await circle["alice"].untrustIssuer(issuer)
    #expect(state.obstacle == .entitlementWithdrawn && state.step == .buyPremium && state.preference)
    #expect(state.sentence == "Premium was withdrawn, so records stay on this device.")
    try await circle.settle()
    #expect(try await [lane(circle, "alice"), lane(circle, "bob")] == [false, false])
    let bob = try await circle["bob"].syncState()
    #expect(bob.obstacle == .entitlementWithdrawn)
    #expect(bob.next?.description == "waymark premium self, on alice")
    #expect(try await circle["bob"].entitlements().map(\.state) == [.withdrawn])
    // Nothing brings the trust back, on any device.
    for name in circle.names {
      let again = try #require(
        try await failure { try await circle[name].install(entitlement: receipt) })
      #expect(again.code == .issuerWithdrawn)
      let trust = try await failure {
        try await circle[name].trustIssuer(
          at: key.appendingPathExtension("pub"), rootKey: URL(filePath: circle["alice"].home.rootKey))
      }
      #expect(trust?.code == .issuerWithdrawn)
    }
    // The same issuer with another key is a new issuer.
    let other = URL(filePath: circle["alice"].home.path + "/other")
    try Issuer.create(at: other)
    try await circle["alice"].trustIssuer(at: other.appendingPathExtension("pub"))
    let new = try Issuer.entitlement(
      keyFile: other, circle: try await circle["alice"].status().circle, until: Self.end,
      issued: Date(milliseconds: TestNode.morning))
    try await circle["bob"].install(entitlement: new)
    try await circle.settle()
    #expect(try await [lane(circle, "alice"), lane(circle, "bob")] == [true, true])
    await circle.close()
  }

  @Test func `an issuer removes what it signed on any device, and the root key anything`() async throws {
    let (circle, key, _, receipt) = try await shop()
    let bob = circle["bob"]
    let id = try #require(try await bob.entitlements().first?.id)
    let stranger = URL(filePath: circle["alice"].home.path + "/stranger")
    try Issuer.create(at: stranger)
    let refused = try #require(
      try await failure { try await bob.removeEntitlement(id, issuerKey: stranger) })
    #expect(refused.code == .unknownIssuer)
    #expect(try await failure { try await bob.removeEntitlement(id) }?.reason == .rootKey)
    #expect(try await failure { try await bob.removeEntitlement("00ff00ff") }?.code == .notFound)
    #expect(try await bob.syncState().isActive)
    #expect(try await bob.removeEntitlement(id, issuerKey: key).obstacle == .entitlementWithdrawn)
    try await circle.settle()
    #expect(try await circle["alice"].syncState().obstacle == .entitlementWithdrawn)
    let again = try #require(
      try await failure { try await circle["alice"].install(entitlement: receipt) })
    #expect(again.code == .entitlementWithdrawn)
    // The issuer is still trusted, so another entitlement counts.
    let new = try Issuer.entitlement(
      keyFile: key, circle: try await bob.status().circle, until: Self.end,
      issued: Date(milliseconds: TestNode.morning))
    #expect(try await bob.install(entitlement: new).isActive)
    let second = try #require(try await bob.entitlements().first { $0.state == .valid }?.id)
    try await circle.settle()
    #expect(try await circle["alice"].removeEntitlement(second).obstacle == .entitlementWithdrawn)
    await circle.close()
  }

  @Test func `the commands ask first, take the first digits of ids, and show what was withdrawn`()
    async throws
  {
    let (circle, _, issuer, _) = try await shop()
    let alice = circle["alice"]
    let digits = JSON.string(String(issuer.description.prefix(8)))
    let asked = try #require(
      try await failure { _ = try await run(alice, "issuer.untrust", ["issuer": digits]) })
    #expect(asked.code == .needsYes && asked.exitCode == ExitCode.needsYes)
    #expect(asked.message.description.contains("Its entitlement stops counting."))
    #expect(try await alice.syncState().isActive)
    let id = try #require(try await alice.entitlements().first?.id)
    let removing: JSON = ["ids": [.string(String(id.prefix(8)))]]
    #expect(
      try await failure { _ = try await run(alice, "entitlement.remove", removing) }?.code == .needsYes)
    let removed = try await run(
      alice, "entitlement.remove", ["ids": [.string(String(id.prefix(8)))], "yes": true])
    #expect(removed["withdrawn"] == true && removed["entitlements"]?[0]?["id"] == .string(id))
    #expect(removed["premium"]?["reason"] == "entitlement_withdrawn")
    #expect(try await run(alice, "entitlement.remove", removing)["withdrawn"] == false)
    let untrusted = try await run(alice, "issuer.untrust", ["issuer": digits, "yes": true])
    #expect(untrusted["withdrawn"] == true && untrusted["issuer"] == .string(issuer.description))
    #expect(try await run(alice, "issuer.untrust", ["issuer": digits])["withdrawn"] == false)
    let listed = try await run(alice, "issuer.list", [:])["items"]
    #expect(listed?.array?.first { $0["issuer"] == .string(issuer.description) }?["withdrawn"] == true)
    let shown = try await run(alice, "premium.show", [:])
    #expect(shown["entitlements"]?[0]?["state"] == "withdrawn")
    #expect(shown["issuers"]?.array?.contains(.string(issuer.description)) == false)
    for unknown in ["ffff", "zz", ""] {
      let error = try await failure {
        _ = try await run(alice, "issuer.untrust", ["issuer": .string(unknown), "yes": true])
      }
      #expect(error?.code == .unknownIssuer)
    }
    await circle.close()
  }

  @Test func `own premium that is removed is not renewed, until a person issues it again`() async throws {
    let circle = try await TestCircle("alice", premium: .nobody, isSyncing: false, storage: .directories)
    let alice = circle["alice"]
    let first = try await alice.issueOwnPremium().until
    let id = try #require(try await alice.entitlements().first?.id)
    try await alice.removeEntitlement(id)
    try await circle.clock.sleep(until: first.addingTimeInterval(-20 * Self.days))
    #expect(try await alice.entitlements().count == 1)
    #expect(try await alice.syncState().premium.obstacle == .entitlementWithdrawn)
    let next = try await alice.issueOwnPremium()
    #expect(next.issued && !next.trusted && next.premium.isActive)
    await circle.close()
  }

  @Test func `when the circle withdraws a device's own issuer, only a person makes another key`() async throws
  {
    let circle = try await TestCircle("alice", premium: .nobody, isSyncing: false, storage: .directories)
    let alice = circle["alice"]
    let first = try await alice.issueOwnPremium()
    let issuer = try #require(try await alice.entitlements().first?.issuer)
    let old = try Data(contentsOf: URL(filePath: alice.home.issuerKey))
    try await alice.untrustIssuer(issuer)
    try await circle.clock.sleep(until: first.until.addingTimeInterval(-20 * Self.days))
    #expect(try await alice.entitlements().map(\.state) == [.withdrawn])
    #expect(try Data(contentsOf: URL(filePath: alice.home.issuerKey)) == old)
    let next = try await alice.issueOwnPremium()
    #expect(next.issued && next.trusted && next.premium.isActive)
    #expect(try Data(contentsOf: URL(filePath: alice.home.issuerKey)) != old)
    #expect(await alice.issuers.map(\.withdrawn).filter { $0 }.count == 1)
    await circle.close()
  }

  @Test func `a device whose own issuer was withdrawn does not renew premium with another key by itself`()
    async throws
  {
    let circle = try await TestCircle("alice", premium: .nobody, isSyncing: false, storage: .directories)
    let alice = circle["alice"]
    let first = try await alice.issueOwnPremium().until
    // A second key of the same circle, as another device with the root key would make it.
    try FileManager.default.removeItem(atPath: alice.home.issuerKey)
    let longer = first.addingTimeInterval(Self.days)
    #expect(try await alice.issueOwnPremium(until: longer.milliseconds).trusted)
    let second = try #require(try await alice.entitlements().first { $0.notAfter == longer })
    try await alice.untrustIssuer(second.issuer)
    #expect(try await alice.syncState().premium.validUntil == first)
    try await circle.clock.sleep(until: first.addingTimeInterval(-20 * Self.days))
    #expect(try await alice.entitlements().count == 2)
    let notice = try #require(try await alice.status().notices.first { $0.reason == .premiumEnds })
    #expect(
      notice.text.description.hasSuffix("the circle has withdrawn its trust in the issuer"))
    #expect(notice.next?.description == "waymark premium self")
    #expect(try await alice.issueOwnPremium().trusted)
    #expect(try await !alice.status().notices.contains { $0.reason == .premiumEnds })
    await circle.close()
  }
}
