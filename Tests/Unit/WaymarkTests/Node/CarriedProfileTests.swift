import Home
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The profile moves to another circle together with the records.
struct CarriedProfileTests {
  @Test func `a device that joins another circle brings its profile along`() async throws {
    let circle = try await SocketCircle.make(["alice"])
    defer { circle.end() }
    let home = circle.home("bob")
    _ = try Node.initialize(home: home, name: "bob")
    let alone = try Node(home: home)
    try await alone.run("profile.set", fields("name=Bob", "homeTimezone=Europe/Rome"))
    try await alone.run("trip.add", fields("name=Rome"))
    await alone.close()
    let line = try await circle["alice"].invite().ticket
    let joining = try JoinOperation(home: home, ticket: line, name: "bob")
    #expect(try await joining.preview()?.total == 2)
    _ = try await joining.join()
    let bob = try Node(home: home)
    let profile = try await bob.run("profile.show")
    #expect(profile["name"] == "Bob" && profile["homeTimezone"] == "Europe/Rome")
    #expect(try await bob.records(Trip.all).map(\.name) == ["Rome"])
    await bob.close()
  }
}
