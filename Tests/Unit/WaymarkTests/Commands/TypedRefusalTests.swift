import JSONDocument
import Records
import Replication
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// Changes that are refused because there is nothing that they could do.
struct TypedRefusalTests {
  @Test func `a change without a field, and of a field that is set automatically, is refused`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    for (command, arguments) in [
      ("trip.edit", fields([String](), id: "Rome")), ("profile.set", fields([String]())),
      ("profile.set", fields("name=Alice", "updatedAt=2026-05-03T08:00:00Z")),
    ] {
      #expect(try await failure(alice, command, arguments)?.code == .usage, "\(command)")
    }
    #expect(try await alice.run("profile.show")["name"] == .null)
    #expect(try await alice.run("history")["operations"]?.array?.count == 1)
    await alice.close()
  }

  @Test func `an item whose trip has not arrived is not in the trash, and a restore says why it is hidden`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let rome = RecordKey(kind: KindNumbers.trip, id: RecordID(Bytes16(1, 1)))
    let casa = RecordKey(kind: KindNumbers.lodging, id: RecordID(Bytes16(2, 2)))
    _ = try await alice.node.writeTogether([
      EntryDraft(.insert, casa, [(1, .bytes(rome.id.bytes)), (2, .text("Casa"))])
    ])
    #expect(try await alice.run("lodging.list")["lodgings"] == [])
    #expect(try await alice.run("trash.list")["items"] == [])
    #expect(try await alice.run("lodging.list", ["deleted": true])["lodgings"] == [])
    let refused = try #require(try await failure(alice, "lodging.restore", ["id": "Casa"]))
    #expect(refused.code == .hidden)
    #expect(
      refused.message.description.contains("because the record that it belongs to is missing"),
      "\(refused.message)")
    let missing = try #require(try await failure(alice, "lodging.show", ["id": "Casa"]))
    #expect(missing.code == .notFound && !missing.message.description.contains("trash"), "\(missing.message)")
    // The trip arrives.
    _ = try await alice.node.writeTogether([EntryDraft(.insert, rome, [(1, .text("Rome"))])])
    #expect(try await alice.run("lodging.show", ["id": "Casa"])["tripName"] == "Rome")
    await alice.close()
  }
}
