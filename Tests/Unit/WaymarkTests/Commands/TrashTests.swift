import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Deleting and restoring records.
struct TrashTests {
  @Test func `deleted records are in the trash, and records hidden with them say with which`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    #expect(try await alice.run("trip.list", ["deleted": true])["trips"] == [])
    try await alice.run("trip.delete", ["id": "Rome"])
    let trip = try await alice.run("trip.list", ["deleted": true])["trips"]?[0]
    #expect(trip?["name"] == "Rome")
    #expect([trip?["deleted"], trip?["deletedByName"], trip?["hiddenBy"]] == [true, "alice", .null])
    let lodging = try await alice.run("lodging.list", ["deleted": true])["lodgings"]?[0]
    #expect(lodging?["deleted"] == false)
    #expect(lodging?["hiddenBy"]?["name"] == "Rome")
    let refused = try await failure(alice, "lodging.restore", ["id": "Casa"])
    #expect(refused?.code == .hidden)
    #expect(refused?.next?.description == "waymark trip restore Rome")
    try await alice.run("trip.restore", ["id": "Rome"])
    #expect(try await alice.run("lodging.show", ["id": "Casa"])["tripName"] == "Rome")
    #expect(try await alice.run("trip.list", ["deleted": true])["trips"] == [])
  }

  @Test func `in the trash a name means the deleted record, though another has it now`() async throws {
    let alice = try await TestNode.founder("alice")
    let first = try await alice.run("trip.add", fields("name=Rome", "notes=first"))["id"]
    try await alice.run("trip.delete", ["id": "Rome"])
    try await alice.run("trip.add", fields("name=Rome"))
    #expect(try await alice.run("trip.restore", ["id": "Rome"])["id"] == first)
    #expect(try await alice.run("status")["counts"]?["trips"] == 2)
  }

  @Test func `a record that is not deleted is not restored, and an unknown one is not found`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    #expect(try await failure(alice, "trip.restore", ["id": "Rome"])?.code == .notDeleted)
    #expect(try await failure(alice, "trip.restore", ["id": "Oslo"])?.code == .notFound)
    #expect(try await failure(alice, "organization.restore", ["id": "None"])?.code == .notDeleted)
    #expect(try await alice.run("history")["operations"]?.array?.count == 1)
  }

  @Test func `two records with one name in the trash are listed`() async throws {
    let alice = try await TestNode.founder("alice")
    for _ in 0..<2 {
      let id = try await alice.run("trip.add", fields("name=Rome"))["id"] ?? .null
      try await alice.run("trip.delete", ["id": id])
    }
    let refused = try await failure(alice, "trip.restore", ["id": "Rome"])
    #expect(refused?.code == .ambiguous)
    #expect(refused?.candidates.count == 2)
  }

  @Test func `a child whose parent is in the trash is restored below it and reported as hidden`() async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    try await alice.run("lodging.delete", ["id": "Casa"])
    try await alice.run("trip.delete", ["id": "Rome"])
    let restored = try await alice.run("lodging.restore", ["id": "Casa"])
    #expect(restored["visible"] == false)
    #expect(restored["hiddenBy"]?["name"] == "Rome")
    try await alice.run("trip.restore", ["id": "Rome"])
    #expect(try await alice.run("status")["counts"]?["lodging"] == 1)
  }

  @Test func `a record deleted before its parent is listed with its own deletion, others with the parent's`()
    async throws
  {
    let now = Wall(TestNode.morning)
    let alice = try await TestNode.founder("alice", wall: { now.value })
    try await alice.run("trip.add", fields("name=Rome"))
    for name in ["Casa", "Palazzo"] {
      try await alice.run("lodging.add", fields("trip=Rome", "name=\(name)"))
    }
    try await alice.run("lodging.delete", ["id": "Casa"])
    now.value += 86_400_000
    try await alice.run("trip.delete", ["id": "Rome"])
    let listed = try await alice.run("lodging.list", ["deleted": true])["lodgings"]?.array ?? []
    #expect(listed.map { $0["name"] } == ["Palazzo", "Casa"])
    #expect(listed.map { $0["hiddenBy"]?["name"] ?? .null } == ["Rome", .null])
  }

  @Test func `a record created again under a deleted one's id inherits no values`() async throws {
    let alice = try await TestNode.founder("alice")
    let id = try await alice.run("category.add", fields("name=Health", "emoji=🍏"))["id"]
    try await alice.run("category.delete", ["id": "Health"])
    #expect(try await alice.run("category.add", fields("name=Health"))["id"] == id)
    #expect(try await alice.run("category.show", ["id": "Health"])["emoji"] == .null)
    let writes = try await alice.run("history", ["record": "Health"])["writes"]?.array
    #expect(writes?.map { $0["verb"] } == ["category.add", "category.delete", "category.add"])
  }
}
