import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Categories and addresses, which belong to other records in the eyes of a person, in the history and in an undo.
struct UseHistoryTests {
  private func newest(_ alice: TestNode) async throws -> JSON {
    try #require(try await alice.run("history")["operations"]?[0])
  }

  @Test func `a category that a habit uses is kept when its creation is undone, unless the habit is gone`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("category.add", fields("name=Health"))
    let add = try await newest(alice)["id"] ?? .null
    try await alice.run("habit.add", fields("name=Run", "category=Health"))
    let refused = try #require(try await failure(alice, "undo", ["operation": add]))
    #expect(refused.code == .needsYes)
    #expect(refused.candidates == ["category Health: used by 1 other record"])
    #expect(try await alice.run("status")["counts"]?["categories"] == 1)
    try await alice.run("habit.delete", ["id": "Run"])
    let undone = try await alice.run("undo", ["operation": add])
    #expect(undone["left"] == [])
    #expect(try await alice.run("status")["counts"]?["categories"] == 0)
    await alice.close()
  }

  @Test func `an operation that wrote a record and its address is listed with the record alone`() async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha"))
    try await alice.run("organization.edit", fields("city=Roma", id: "Alpha"))
    let first = try await newest(alice)
    #expect(first["record"]?["kind"] == "organization" && first["record"]?["name"] == "Alpha")
    #expect(first["fields"] == ["address"])
    #expect(first["counts"]?.array?.map { $0["kind"] } == ["organization", "address"])
    try await alice.run("organization.edit", fields("phone=1", "street=Via Appia 1", id: "Alpha"))
    let second = try await newest(alice)
    #expect(second["record"]?["name"] == "Alpha" && second["fields"] == ["phone"])
    // Of an operation that wrote the address alone, no record is named.
    try await alice.run("organization.edit", fields("city=Milano", id: "Alpha"))
    let third = try await newest(alice)
    #expect(third["verb"] == "organization.edit" && third["fields"] == [])
    #expect(third["record"]?["id"] == nil)
    await alice.close()
  }
}
