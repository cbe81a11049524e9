import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Model
@testable import Waymark

struct OrganizationTests {
  @Test func `None exists once, is listed first, and cannot be changed`() async throws {
    let alice = try await TestNode.founder("alice")
    for name in ["Zebra Tours", "alpha Air", "Beta Rail"] {
      try await alice.run("organization.add", fields("name=\(name)"))
    }
    let listed = try await alice.run("organization.list")["organizations"]?.array ?? []
    #expect(listed.map { $0["name"] } == ["None", "alpha Air", "Beta Rail", "Zebra Tours"])
    for (command, arguments) in [
      ("organization.add", fields("name=None")), ("organization.delete", ["id": "None", "force": true]),
      ("organization.edit", fields("name=Nothing", id: "None")),
      ("organization.edit", fields("name=None", id: "Beta Rail")),
    ] {
      #expect(try await failure(alice, command, arguments)?.exitCode == ExitCode.usage, "\(command)")
    }
    #expect(try await alice.run("status")["counts"]?["organizations"] == 3)
  }

  @Test func `an organization in use is only deleted by force, and its users then read as None`() async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha Air", "city=Roma", "country=Italia"))
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run(
      "transportation.add", fields("trip=Rome", "name=Flight", "organization=Alpha Air"))
    let refused = try #require(try await failure(alice, "organization.delete", ["id": "Alpha Air"]))
    #expect(refused.exitCode == ExitCode.needsYes)
    #expect(refused.next?.description.contains("--force") == true)
    try await alice.run("organization.delete", ["id": "Alpha Air", "force": true])
    let flight = try await alice.run("transportation.show", ["id": "Flight"])
    #expect(flight["organizationName"] == "None")
  }

  @Test func `an address is entered and shown as a part of its organization`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha Air", "city=Roma"))
    try await alice.run("organization.edit", fields("street=Via Appia 1", id: "Alpha Air"))
    let address = try await alice.run("organization.show", ["id": "Alpha Air"])["address"]
    #expect(address?["city"] == "Roma")
    #expect(address?["street"] == "Via Appia 1")
  }

  @Test func `an address is not written where it stays the same, nor made of empty values`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha Air", "city=Roma"))
    let same = fields("city=Roma", "street=", id: "Alpha Air")
    #expect(try await alice.run("organization.edit", same)["changed"] == false)
    try await alice.run("organization.add", fields("name=Beta Rail", "city="))
    #expect(try await alice.run("organization.edit", fields("city=", id: "Beta Rail"))["changed"] == false)
    #expect(try await alice.node.records(Address.all).map(\.city) == ["Roma"])
  }

  @Test func `a lodging and an activity have an address of their own`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run(
      "lodging.add", fields("trip=Rome", "name=Casa", "city=Roma", "latitude=41.5", "longitude=12.25"))
    try await alice.run("lodging.edit", fields("street=Via Appia 1", "cost=10", id: "Casa"))
    let address = try await alice.run("lodging.show", ["id": "Casa"])["address"]
    #expect(address?["city"] == "Roma" && address?["latitude"] == 41.5)
    #expect(address?["street"] == "Via Appia 1")
    try await alice.run("activity.add", fields("trip=Rome", "name=Forum"))
    try await alice.run("activity.edit", fields("postalCode=00186", id: "Forum"))
    #expect(try await alice.run("activity.show", ["id": "Forum"])["address"]?["postalCode"] == "00186")
    #expect(try await alice.run("lodging.show", ["id": "Casa"])["address"] == address)
    let found = try await alice.run("find", ["text": "appia"])["items"]?.array ?? []
    #expect(found.map { $0["name"] } == ["Casa"])
    let casa = try #require(try await alice.node.records(Lodging.all).first)
    let held = try await alice.node.records(Address.all).first { $0.id == casa.addressID }
    #expect(held?.city == "Roma")
  }
}
