import Control
import Foundation
import JSONDocument
import Model
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// Premium that a circle issues to itself: at the command, and by the node that renews it.
struct OwnPremiumCallTests {
  private static let days: TimeInterval = 86_400

  private func until(_ circle: TestCircle, _ name: String) async throws -> Date? {
    try await circle[name].syncState().premium.validUntil
  }

  private func failure(_ body: () async throws -> Void) async throws -> WaymarkError? {
    do {
      try await body()
      return nil
    } catch let error as WaymarkError {
      return error
    }
  }

  @Test func `one command gives every device premium, and repeating it changes nothing`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody, isSyncing: false)
    let first = try await circle["alice"].issueOwnPremium()
    #expect(first.issued && first.trusted && first.premium.isActive)
    try await circle.settle()
    #expect(try await until(circle, "bob") == first.until)
    let held = try await circle["bob"].entitlements()
    #expect(held.map(\.source) == ["self"] && held.first?.devices == nil)
    let again = try await circle["alice"].issueOwnPremium()
    #expect(!again.issued && !again.trusted && again.until == first.until)
    #expect(try await circle["alice"].entitlements().count == 1)
    let later = first.until.addingTimeInterval(100 * Self.days)
    let longer = try await circle["alice"].issueOwnPremium(until: later.milliseconds)
    #expect(longer.issued && !longer.trusted && longer.until == later)
    let issuers = await circle["alice"].issuers
    #expect(issuers.count { $0.sources == ["self"] && $0.entitlements == 2 && $0.until == later } == 1)
    await circle.close()
  }

  @Test func `a running node renews when a month is left, again and again, and the others receive it`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", premium: .nobody, isSyncing: false)
    let first = try await circle["alice"].issueOwnPremium().until
    try await circle.settle()
    try await circle.clock.sleep(until: first.addingTimeInterval(-32 * Self.days))
    try await circle.settle()
    #expect(try await until(circle, "alice") == first, "not due yet")
    var end = first
    for _ in 0..<2 {
      try await circle.clock.sleep(until: end.addingTimeInterval(-29 * Self.days))
      try await circle.settle()
      end = end.addingTimeInterval(365 * Self.days)
      #expect(try await until(circle, "alice") == end)
      #expect(try await until(circle, "bob") == end)
    }
    await circle.close()
  }

  @Test func `a node that was off past the end renews after its start`() async throws {
    let circle = try await TestCircle(
      "alice", premium: .nobody, isSyncing: false, storage: .directories)
    let first = try await circle["alice"].issueOwnPremium().until
    await circle.close("alice")
    try await circle.clock.sleep(until: first.addingTimeInterval(40 * Self.days))
    try await circle.reopen("alice")
    #expect(try await circle["alice"].syncState().obstacle == .entitlementExpired)
    try await circle.clock.advance(by: .milliseconds(PremiumRenewal.firstCheckMilliseconds))
    #expect(try await until(circle, "alice").map { $0 > first.addingTimeInterval(400 * Self.days) } == true)
    await circle.close()
  }

  @Test func `a circle that never issued premium to itself is left alone`() async throws {
    let circle = try await TestCircle("alice", "bob", isSyncing: false)
    let end = try #require(try await until(circle, "alice"))
    try await circle.clock.sleep(until: end.addingTimeInterval(-10 * Self.days))
    try await circle.settle()
    #expect(try await until(circle, "alice") == end)
    await circle.close()
  }

  @Test func `without the issuer's key nothing is renewed, and a failure is a notice with the next step`()
    async throws
  {
    let circle = try await TestCircle(
      "alice", premium: .nobody, isSyncing: false, storage: .directories)
    let alice = circle["alice"]
    let first = try await alice.issueOwnPremium().until
    let key = alice.home.issuerKey
    try Data("no key".utf8).write(to: URL(filePath: key))
    try await circle.clock.sleep(until: first.addingTimeInterval(-20 * Self.days))
    let notice = try #require(try await alice.status().notices.first { $0.reason == .premiumEnds })
    #expect(notice.text.description.hasPrefix("premium ends on \(endText(first)) and can't be renewed: "))
    #expect(notice.next?.description == "waymark premium self")
    // With the damaged key moved away, the next step makes a new one.
    try FileManager.default.removeItem(atPath: key)
    let next = try await alice.issueOwnPremium()
    #expect(next.issued && next.trusted && next.until == first.addingTimeInterval(365 * Self.days))
    #expect(try await !alice.status().notices.contains { $0.reason == .premiumEnds })
    await circle.close()
  }

  private func endText(_ date: Date) -> String { "\(CivilTime.text(date.milliseconds - 1).prefix(10)) UTC" }

  @Test func `another device is sent to the one that founded the circle`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody, isSyncing: false)
    let refused = try #require(
      try await failure { _ = try await circle["bob"].issueOwnPremium() })
    #expect(refused.reason == .rootKey && refused.exitCode == ExitCode.badKey)
    #expect(refused.next?.description.contains("waymark premium self, on alice") == true)
    let free = try #require(try await failure { _ = try await circle["bob"].turnSyncOn() })
    #expect(free.code == .freeTier)
    #expect(free.next?.description.hasPrefix("waymark premium self, on alice") == true)
    let own = try #require(try await failure { _ = try await circle["alice"].turnSyncOn() })
    #expect(own.next?.description.hasPrefix("waymark premium self, or") == true)
    #expect(try await circle["bob"].syncState().next?.description == "waymark premium self, on alice")
    await circle.close()
  }

  @Test func `a circle can be founded with premium`() async throws {
    let home = try TestHome()
    let made = try Node.initialize(home: home.home, name: "alice", hasPremium: true, wall: TestNode.morning)
    let node = try Node(home: home.home, wall: { TestNode.morning })
    #expect(try await node.syncState().premium.validUntil == made.premiumUntil)
    let again = try await node.issueOwnPremium()
    #expect(!again.issued && again.until == made.premiumUntil)
    #expect(home.home.keyStates.issuer == .plain)
    let mode = try FileManager.default.attributesOfItem(atPath: home.home.issuerKey)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    await node.close()
  }

  @Test func `a day as the end of premium means the end of that day in UTC`() async throws {
    let alice = try await TestNode.founder("alice")
    let made = try await alice.run("premium.self", ["until": "2026-12-31"])
    #expect(made["until"] == "2027-01-01T00:00:00Z")
    let past = try await failure {
      _ = try await alice.node.answer(
        to: ControlRequest(command: "premium.self", arguments: ["until": "2026-05-02"])
      ).get()
    }
    #expect(past?.code == .badValue)
    await alice.close()
  }
}
