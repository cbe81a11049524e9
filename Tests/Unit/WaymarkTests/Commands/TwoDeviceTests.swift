import Foundation
import JSONDocument
import Testing
import WaymarkTesting

@testable import Waymark

/// What commands report about another device's changes.
struct TwoDeviceTests {
  @Test func `two concurrent edits of one name are one conflict, the same on both sides`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "habit.add", fields("name=Water"))
    try await circle.inSync()
    try await circle.run("alice", "peers.pause", ["peer": "bob"])
    try await circle.run("bob", "habit.edit", fields("name=Wasser", id: "Water"))
    try await circle.run("alice", "habit.edit", fields("name=Eau", "notes=cold", id: "Water"))
    try await circle.run("alice", "peers.resume", ["peer": "bob"])
    try await circle.inSync()
    let seen = try await circle.run("alice", "conflicts.list")
    #expect(try await circle.run("bob", "conflicts.list") == seen)
    let conflict = try #require(seen["conflicts"]?[0])
    #expect(seen["conflicts"]?.array?.count == 1)
    #expect([conflict["kind"], conflict["field"], conflict["reason"]] == ["habit", "name", "field"])
    #expect([conflict["winner"]?["value"], conflict["losers"]?[0]?["value"]] == ["Eau", "Wasser"])
    #expect(conflict["winner"]?["deviceName"] == "alice")
    #expect(conflict["losers"]?[0]?["deviceName"] == "bob")
    #expect(try await circle.run("bob", "status")["conflicts"] == 1)
  }

  @Test func `a user who has set up another device is welcomed back with a summary`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome"))
    try await circle.run("alice", "profile.set", fields("name=Alice"))
    try await circle.run("alice", "onboarding.complete")
    try await circle.inSync()
    let welcome = try await circle.run("bob", "onboarding.show")
    #expect(welcome["flow"] == "returning_user")
    #expect(welcome["flagFromName"] == "alice")
    #expect(welcome["summary"]?["trips"] == 1)
    #expect(welcome["summary"]?["profileName"] == "Alice")
    #expect(welcome["summary"]?["missing"]?.array?.contains("avatar") == true)
    try await circle.run("bob", "onboarding.complete")
    #expect(try await circle.run("bob", "onboarding.show")["flow"] == "completed_here")
  }

  @Test func `the copy of the preferences follows another device's settings, and their removal`() async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    func copy() throws -> JSON? {
      let data = try Data(contentsOf: URL(filePath: circle["bob"].home.settings))
      return try JSON.parse(Array(data))["colorScheme"]
    }
    try await circle.run("alice", "settings.set", ["key": "colorScheme", "value": "dark"])
    try await circle.inSync()
    #expect(try copy() == "dark")
    try await circle.run("alice", "settings.unset", ["key": "colorScheme"])
    try await circle.inSync()
    #expect(try copy() == nil)
  }
}
