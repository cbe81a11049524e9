import Foundation
import JSONDocument
import Membership
import Model
import Sodium
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// What a circle holds of entitlements and issuers, as applications and commands show it.
struct EntitlementCallTests {
  private static let hour: Int64 = 3_600_000

  /// A moment, in hours after the morning.
  private static func date(_ hours: Int64) -> Date { Date(milliseconds: TestNode.morning + hours * hour) }

  @Test func `an entitlement is valid from its first millisecond until the last before its end`() async throws
  {
    let now = Wall(TestNode.morning)
    let alice = try await TestNode.founder("alice", wall: { now.value })
    let node = alice.node
    let key = URL(filePath: alice.home.path + "/shop")
    try Issuer.create(at: key)
    try await node.trustIssuer(at: key.appendingPathExtension("pub"))
    let circle = try await node.status().circle
    let other = DeviceKey(Bytes32(7, 7, 7, 7))
    // The later one, for another device, is installed first.
    let later = try Issuer.entitlement(
      keyFile: key, circle: circle, devices: [other], from: Self.date(3), until: Self.date(9),
      issued: Self.date(0))
    let file = URL(filePath: alice.home.path + "/later")
    try later.write(to: file)
    for isNew in [true, false] {
      let installed = try await alice.run("entitlement.install", ["file": .string(file.path)])
      #expect(installed["added"] == .bool(isNew) && installed["entitlement"]?["here"] == false)
    }
    try await node.install(
      entitlement: try Issuer.entitlement(
        keyFile: key, circle: circle, from: Self.date(1), until: Self.date(2), issued: Self.date(0)))
    let held = try await node.entitlements()
    #expect(held.map(\.notBefore) == [Self.date(1), Self.date(3)] && held.map(\.here) == [true, false])
    #expect(held.map(\.devices) == [nil, [other]] && held.allSatisfy { $0.plan == "premium" })
    let moments: [(Int64, EntitlementSummary.State, isPremium: Bool)] = [
      (Self.hour - 1, .notYet, false), (Self.hour, .valid, true), (2 * Self.hour - 1, .valid, true),
      (2 * Self.hour, .expired, false),
    ]
    for (time, state, isPremium) in moments {
      now.value = TestNode.morning + time
      #expect(try await node.entitlements().map(\.state) == [state, .notYet], "\(time)")
      #expect(try await node.syncState().premium.isActive == isPremium, "\(time)")
    }
    // An entitlement for another device gives this one nothing.
    now.value = TestNode.morning + 3 * Self.hour
    #expect(try await node.entitlements().map(\.state) == [.expired, .valid])
    #expect(try await !node.syncState().premium.isActive)
    await alice.close()
  }

  @Test func `an issuer is listed with what still counts of its entitlements, and withdrawn ones come last`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let keys = ["one", "two"].map { URL(filePath: alice.home.path + "/" + $0) }
    let circle = try await node.status().circle
    for key in keys {
      try Issuer.create(at: key)
      try await node.trustIssuer(at: key.appendingPathExtension("pub"))
      // Trusting it again changes nothing.
      try await node.trustIssuer(at: key.appendingPathExtension("pub"))
      for end in [9, 5] as [Int64] {
        try await node.install(
          entitlement: try Issuer.entitlement(
            keyFile: key, circle: circle, until: Self.date(end), issued: Self.date(0)))
      }
    }
    var issuers = await node.issuers
    #expect(issuers.map(\.entitlements) == [2, 2] && issuers.map(\.until) == [Self.date(9), Self.date(9)])
    #expect(
      issuers.map(\.withdrawn) == [false, false] && issuers.map(\.sources) == [["issuer"], ["issuer"]])
    // The one that lasts longest is removed from the issuer that is listed first.
    let first = issuers[0].issuer
    let longest = try #require(
      try await node.entitlements().first { $0.issuer == first && $0.notAfter == Self.date(9) })
    try await node.removeEntitlement(longest.id)
    issuers = await node.issuers
    #expect(issuers.map(\.entitlements) == [1, 2] && issuers.map(\.until) == [Self.date(5), Self.date(9)])
    #expect(try await node.entitlements().filter { $0.state == .withdrawn }.map(\.id) == [longest.id])
    try await node.untrustIssuer(first)
    issuers = await node.issuers
    #expect(issuers.map(\.withdrawn) == [false, true] && issuers.last?.issuer == first)
    #expect(issuers.map(\.entitlements) == [2, 0] && issuers.map(\.until) == [Self.date(9), nil])
    #expect(issuers.last?.sources == [])
    #expect(try await node.syncState().premium.validUntil == Self.date(9))
    await alice.close()
  }

  @Test func `more entitlements are removed in one call than one statement can name`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let (key, circle) = (try SigningKey(), await node.circle.id)
    let statements = try (0...Int64(Limits.withdrawnMax)).map { number in
      try Statement(
        signing: Entitlement(
          circle: circle, issuer: DeviceKey(key), devices: nil, plan: "premium",
          issuedAt: TestNode.morning, notBefore: TestNode.morning,
          notAfter: TestNode.morning + Self.hour + number, serial: random16(), source: "test"), with: key)
    }
    try await node.trust(DeviceKey(key))
    await node.add(statements)
    #expect(try await node.syncState().premium.isActive)
    let ids = statements.map(\.id.description)
    // One that is named twice is withdrawn once.
    let done = try await node.withdraw(ids + [ids[0]])
    #expect(done.withdrawn && done.entitlements.count == ids.count && !done.premium.isActive)
    #expect(try await node.entitlements().allSatisfy { $0.state == .withdrawn })
    #expect(try await node.withdraw(ids).withdrawn == false)
    await alice.close()
  }

  @Test(arguments: [(-1, false), (0, false), (1, true)])
  func `a mock purchase ends in the future`(milliseconds: Int, isAllowed: Bool) async throws {
    let end = TestNode.morning + Int64(milliseconds)
    let refused = try await refusal {
      try MockPurchase.check(end, typed: "then", now: TestNode.morning)
    }
    #expect(refused == (isAllowed ? nil : "bad_value"))
  }
}

extension Node {
  fileprivate func trust(_ issuer: DeviceKey) throws {
    try PremiumOperations(core).trust(issuer, rootKey: nil, passphrase: nil)
  }

  fileprivate func withdraw(_ ids: [String]) throws -> WithdrawalSummary {
    var request = WithdrawalRequest(.entitlements(ids))
    request.isConfirmed = true
    return try WithdrawalOperation(core).withdraw(request)
  }
}
