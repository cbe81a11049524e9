import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Model
@testable import Waymark

struct OrganizationUseTests {
  @Test func `every kind of item uses its organization, as long as it is visible`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha Air"))
    try await alice.run("trip.add", fields("name=Rome"))
    for (kind, name) in [("lodging", "Casa"), ("transportation", "Flight"), ("activity", "Walk")] {
      try await alice.run("\(kind).add", fields("trip=Rome", "name=\(name)", "organization=Alpha Air"))
    }
    try await alice.run(
      "leg.add", fields("transportation=Flight", "serviceNumber=AA 1", "organization=Alpha Air"))
    let refused = try #require(try await failure(alice, "organization.delete", ["id": "Alpha Air"]))
    #expect(refused.code == .inUse)
    #expect(
      Set(refused.candidates) == ["lodging Casa", "transportation Flight", "activity Walk", "leg AA 1"])
    #expect(refused.message.description.contains("used by 4 items"), "\(refused.message)")
    // Of a deleted journey, neither it nor its leg counts.
    try await alice.run("transportation.delete", ["id": "Flight"])
    let fewer = try await failure(alice, "organization.delete", ["id": "Alpha Air"])
    #expect(fewer.map { Set($0.candidates) } == ["lodging Casa", "activity Walk"])
    try await alice.run("trip.delete", ["id": "Rome"])
    try await alice.run("organization.delete", ["id": "Alpha Air"])
    try await alice.run("trip.restore", ["id": "Rome"])
    for (kind, name) in [("lodging", "Casa"), ("activity", "Walk")] {
      let shown = try await alice.run("\(kind).show", ["id": .string(name)])
      #expect(shown["organizationName"] == "None", "\(kind)")
    }
    try await alice.run("organization.restore", ["id": "Alpha Air"])
    #expect(try await alice.run("lodging.show", ["id": "Casa"])["organizationName"] == "Alpha Air")
  }
}
