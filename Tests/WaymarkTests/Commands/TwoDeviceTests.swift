import Foundation
import Testing
import WaymarkTesting

@testable import Waymark

/// What commands say of changes that another device made.
struct TwoDeviceTests {
  /// Alice and Bob, premium and with sync on.
  private func premium() async throws -> TestCircle {
    RealData.putOutOfBounds()
    let circle = try await TestCircle.make(["alice", "bob"])
    let folder = circle["alice"].home.path
    let key = folder + "/issuer"
    _ = try Issuer.create(key)
    let id = try #require(try await run(circle, "alice", "status")["circle"]?.string)
    let order = Issuer.Order(keyFile: key, circle: id, devices: [], until: "2100-01-01")
    let certificate = try Issuer.issue(order, now: systemWall())
    try certificate.write(toFile: folder + "/entitlement", atomically: true, encoding: .utf8)
    try await run(circle, "alice", "issuer.trust", ["file": .string(key + ".pub")])
    try await run(circle, "alice", "entitlement.install", ["file": .string(folder + "/entitlement")])
    try await circle.waitForSync("bob")
    for name in ["alice", "bob"] { try await run(circle, name, "sync.on") }
    return circle
  }

  @discardableResult
  private func run(
    _ circle: TestCircle, _ name: String, _ command: String, _ arguments: JSON = [:]
  ) async throws -> JSON {
    try await circle[name].perform(CommandRequest(command, arguments))
  }

  private func inSync(_ circle: TestCircle) async throws {
    for name in ["alice", "bob"] { try await circle.waitForSync(name) }
  }

  @Test func `two edits of one name at the same time are one conflict, the same on both sides`() async throws
  {
    let circle = try await premium()
    defer { circle.end() }
    try await run(circle, "alice", "habit.add", fields("name=Water"))
    try await inSync(circle)
    try await run(circle, "alice", "peers.pause", ["peer": "bob"])
    try await run(circle, "bob", "habit.edit", fields("name=Wasser", id: "Water"))
    try await run(circle, "alice", "habit.edit", fields("name=Eau", "notes=cold", id: "Water"))
    try await run(circle, "alice", "peers.resume", ["peer": "bob"])
    try await inSync(circle)
    let seen = try await run(circle, "alice", "conflicts.list")
    #expect(try await run(circle, "bob", "conflicts.list") == seen)
    let conflict = try #require(seen["conflicts"]?[0])
    #expect(seen["conflicts"]?.array?.count == 1)
    #expect([conflict["kind"], conflict["field"], conflict["reason"]] == ["habit", "name", "field"])
    #expect([conflict["winner"]?["value"], conflict["losers"]?[0]?["value"]] == ["Eau", "Wasser"])
    #expect(conflict["winner"]?["deviceName"] == "alice")
    #expect(conflict["losers"]?[0]?["deviceName"] == "bob")
    #expect(try await run(circle, "bob", "status")["conflicts"] == 1)
  }

  @Test func `who set up another device before is welcomed back with a summary`() async throws {
    let circle = try await premium()
    defer { circle.end() }
    try await run(circle, "alice", "trip.add", fields("name=Rome"))
    try await run(circle, "alice", "profile.set", fields("name=Alice"))
    try await run(circle, "alice", "onboarding.complete")
    try await inSync(circle)
    let welcome = try await run(circle, "bob", "onboarding.show")
    #expect(welcome["flow"] == "returning_user")
    #expect(welcome["flagFromName"] == "alice")
    #expect(welcome["summary"]?["trips"] == 1)
    #expect(welcome["summary"]?["profileName"] == "Alice")
    #expect(welcome["summary"]?["missing"]?.array?.contains("avatar") == true)
    try await run(circle, "bob", "onboarding.complete")
    #expect(try await run(circle, "bob", "onboarding.show")["flow"] == "completed_here")
  }

  @Test func `the copy of the preferences follows what another device sets and takes back`() async throws {
    let circle = try await premium()
    defer { circle.end() }
    func copy() throws -> JSON? {
      let data = try Data(contentsOf: URL(filePath: circle["bob"].home.settings))
      return try JSON.parse(Array(data))["colorScheme"]
    }
    try await run(circle, "alice", "settings.set", ["key": "colorScheme", "value": "dark"])
    try await inSync(circle)
    #expect(try copy() == "dark")
    try await run(circle, "alice", "settings.unset", ["key": "colorScheme"])
    try await inSync(circle)
    #expect(try copy() == nil)
  }
}
