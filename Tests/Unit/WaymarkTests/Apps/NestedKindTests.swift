import Foundation
import Model
import Testing
import Waymark
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

/// Kinds of an app that belong to one another, as deep as kinds may.
struct NestedKindTests {
  @Test func `a record four kinds below a deleted trip is in the trash, and names the trip`() async throws {
    let alice = try Node.inMemory(
      schema: AppSchema("com.example.nested", Box.self, Pouch.self, Card.self, Note.self))
    let trip = try await alice.save(Trip(name: "Rome"))
    let box = try await alice.save(Box("box", in: trip.id))
    let pouch = try await alice.save(Pouch("pouch", in: box.id))
    let card = try await alice.save(Card("card", in: pouch.id))
    let note = try await alice.save(Note("note", in: card.id))
    let deletion = try #require(try await alice.delete(trip))
    let hidden = try await alice.deleted(Note.self)
    #expect(hidden.map(\.record.name) == ["note"] && hidden.first?.hiddenBy?.name == "Rome")
    #expect(try await alice.deleted(Box.self).map(\.record.name) == ["box"])
    try await alice.undo(deletion)
    #expect(try await alice.record(note.id) == note)
    #expect(try await alice.deleted(Note.self).isEmpty)
    await alice.close()
  }
}

private struct Box: Record {
  let id: ID
  var parentID: Trip.ID
  var name = ""
  var origin = RecordOrigin()

  init(id: ID) { (self.id, parentID) = (id, .zero) }

  init(_ name: String, in parent: Trip.ID) { (id, parentID, self.name) = (.new(), parent, name) }

  static let fields = RecordFields<Box>(
    2_500, "my-box", plural: "my-boxes", id: \.id, parent: \.parentID, title: \.name, order: [\.name],
    [.reference(1, "parent", \.parentID), .text(2, "name", \.name, isRequired: true)])
}

private struct Pouch: Record {
  let id: ID
  var parentID: Box.ID
  var name = ""
  var origin = RecordOrigin()

  init(id: ID) { (self.id, parentID) = (id, .zero) }

  init(_ name: String, in parent: Box.ID) { (id, parentID, self.name) = (.new(), parent, name) }

  static let fields = RecordFields<Pouch>(
    2_501, "my-pouch", plural: "my-pouches", id: \.id, parent: \.parentID, title: \.name, order: [\.name],
    [.reference(1, "parent", \.parentID), .text(2, "name", \.name, isRequired: true)])
}

private struct Card: Record {
  let id: ID
  var parentID: Pouch.ID
  var name = ""
  var origin = RecordOrigin()

  init(id: ID) { (self.id, parentID) = (id, .zero) }

  init(_ name: String, in parent: Pouch.ID) { (id, parentID, self.name) = (.new(), parent, name) }

  static let fields = RecordFields<Card>(
    2_502, "my-card", plural: "my-cards", id: \.id, parent: \.parentID, title: \.name, order: [\.name],
    [.reference(1, "parent", \.parentID), .text(2, "name", \.name, isRequired: true)])
}

private struct Note: Record {
  let id: ID
  var parentID: Card.ID
  var name = ""
  var origin = RecordOrigin()

  init(id: ID) { (self.id, parentID) = (id, .zero) }

  init(_ name: String, in parent: Card.ID) { (id, parentID, self.name) = (.new(), parent, name) }

  static let fields = RecordFields<Note>(
    2_503, "my-note", plural: "my-notes", id: \.id, parent: \.parentID, title: \.name, order: [\.name],
    [.reference(1, "parent", \.parentID), .text(2, "name", \.name, isRequired: true)])
}
