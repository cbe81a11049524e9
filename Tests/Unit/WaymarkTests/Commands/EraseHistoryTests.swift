import JSONDocument
import Records
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkTesting

@testable import NodeRuntime
@testable import Waymark

/// History and undo of a record whose values were erased.
struct EraseHistoryTests {
  /// A node with a trip that was added, edited and erased, and the id of the trip.
  private func erasedTrip() async throws -> (alice: TestNode, id: JSON) {
    let alice = try await TestNode.founder("alice")
    let added = try await alice.run("trip.add", fields("name=Rome", "notes=sunny"))
    try await alice.run("trip.edit", fields("notes=hot", id: "Rome"))
    try await alice.node.erase(Kind.trip)
    return (alice, try #require(added["id"]))
  }

  @Test func `the history counts an erase as a deletion`() async throws {
    let (alice, _) = try await erasedTrip()
    let newest = try await alice.run("history")["operations"]?[0]
    #expect(newest?["verb"] == "trip.erase")
    #expect(newest?["counts"]?[0]?["deleted"] == 1)
    #expect(try await alice.run("status")["counts"]?["trips"] == 0)
    await alice.close()
  }

  @Test func `the history of a record lists its writes without the erased values`() async throws {
    let (alice, id) = try await erasedTrip()
    let history = try await alice.run("history", ["record": id])
    let writes = try #require(history["writes"]?.array)
    #expect(writes.map { $0["verb"] } == ["trip.erase", "trip.edit", "trip.add"])
    #expect(writes[1]["fields"]?[0]?["field"] == "notes")
    #expect(writes[1]["fields"]?[0]?["value"] == .null)
    let text = history.text()
    #expect(["Rome", "sunny", "hot"].allSatisfy { !text.contains($0) }, "\(text)")
    await alice.close()
  }

  @Test func `neither an erase nor an earlier edit of the record can be undone`() async throws {
    let (alice, id) = try await erasedTrip()
    let edit = try await alice.run("history")["operations"]?[1]?["id"] ?? .null
    #expect(try await failure(alice, "undo")?.code == .erased)
    #expect(try await failure(alice, "undo", ["operation": edit])?.code == .nothingToUndo)
    #expect(try await failure(alice, "trip.show", ["id": id]) != nil)
    await alice.close()
  }

  @Test func `an undo keeps a value whose predecessor was erased in the meantime`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let added = try await circle.run("alice", "trip.add", fields("name=Rome", "notes=sunny"))
    try await circle.apart {
      try await circle["alice"].erase(Kind.trip)
      try await circle.run("bob", "trip.edit", fields("notes=hot", id: "Rome"))
    }
    let refused = await #expect(throws: WaymarkError.self) {
      try await circle.run("bob", "undo", ["yes": true])
    }
    #expect(refused?.code == .erased)
    try await circle.run("bob", "trip.restore", ["id": added["id"] ?? .null])
    #expect(try await circle.run("bob", "trip.show", ["id": added["id"] ?? .null])["notes"] == "hot")
  }
}

extension Node {
  /// Erases the first visible record of a kind.
  fileprivate func erase(_ kind: Kind) throws {
    let key = try #require(try store.visible(kind).first?.key)
    _ = try core.write("\(kind.name).erase", [EntryDraft(.erase, key)])
  }
}
