import Foundation
import JSONDocument
import Model
import Testing
import Waymark
import Wire

/// A kind of an app, which the program itself has never heard of.
private struct PackingItem: Record {
  let id: ID
  var tripID: Trip.ID
  var name = ""
  var isPacked = false
  var origin = RecordOrigin()

  init(id: ID) {
    self.id = id
    tripID = .zero
  }

  init(_ name: String, in trip: Trip.ID) {
    id = .new()
    tripID = trip
    self.name = name
  }

  static let fields = RecordFields<PackingItem>(
    2_417, "packing-item", plural: "packing-items", id: \.id, parent: \.tripID, title: \.name,
    order: [\.name],
    [
      .reference(1, "trip", \.tripID),
      .text(2, "name", \.name, isRequired: true, charactersMax: 80),
      .flag(3, "isPacked", \.isPacked),
    ])
}

/// Kinds of apps on the command line.
@Suite(.serialized) struct AppKindTests {
  private static let names = ["Tent", "Book"]

  /// Writes records of the app into the home of a device that is stopped, as the app itself does.
  private func useApp(on device: Device, serving: Bool = false) async throws {
    let schema = try AppSchema("com.example.packing", PackingItem.self)
    let node = try await Node.open(Home(URL(filePath: device.home)), name: device.name, schema: schema)
    let trip = try await node.save(Trip(name: "Rome"))
    for name in Self.names { _ = try await node.save(PackingItem(name, in: trip.id)) }
    if serving { _ = try await node.serve(listen: "127.0.0.1:0") }
    await node.close()
  }

  @Test(arguments: [false, true])
  func `records of an app have commands like trips, with and without a running node`(runs: Bool) async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let alice = circle.founder
    try await alice.stop()
    try await useApp(on: alice)
    if runs { try await alice.start() }
    let list = try await alice.json("packing-item", "list")
    #expect(list["packing-items"]?.array?.compactMap { $0["name"]?.string } == ["Book", "Tent"])
    let id = try await alice.text("packing-item", "add", "trip=Rome", "name=Shoes")
      .trimmingCharacters(in: .whitespacesAndNewlines)
    try await alice.text("packing-item", "edit", "Shoes", "isPacked=yes")
    let shown = try await alice.json("packing-item", "show", id)
    #expect(shown["isPacked"] == true && shown["tripName"] == "Rome")
    #expect(try await alice.text("packing-items", "--trip", "Rome").contains("Shoes\tyes"))
    try await alice.text("packing-item", "delete", "Shoes")
    #expect(try await alice.text("trash").contains("packing-item\tShoes"))
    try await alice.text("packing-item", "restore", "Shoes")
    let status = try await alice.json("status")
    #expect(status["counts"]?["apps"] == [["kind": "packing-item", "count": 3]])
    #expect(try await alice.text("help", "fields", "packing-item").contains("at most 80 characters"))
    let refused = try await alice.run(["packing-item", "add", "trip=Rome"])
    expectPlainWords(refused.errors, ["needs", "name", "help fields packing-item"], "packing-item add")
    #expect(refused.code == 2)
    // The store is sound, and a backup knows the kind too.
    #expect(try await alice.run(["verify", "--deep"]).code == 0)
    let backup = stage.path("backup.waymark")
    try await alice.text("backup", backup)
    if runs { try await alice.stop() }
    try await alice.text("restore", backup, "--yes")
    #expect(try await alice.text("packing-items").contains("Shoes"))
  }

  @Test func `an export has the records of an app, and imports elsewhere where the kind is known`()
    async throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let alice = circle.founder
    try await alice.stop()
    try await useApp(on: alice)
    let file = stage.path("all.json")
    try await alice.text("export", "--format", "json", "--output", file)
    try await alice.text("packing-item", "delete", "Tent")
    try await alice.text("import", file)
    #expect(try await alice.text("packing-items").contains("Tent"))
  }

  @Test func `a device that joins another circle keeps the records of its app`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice"], on: stage, isPremium: false)
    let bob = Device("bob", on: stage)
    try await bob.text("init", "--name", "bob")
    try await useApp(on: bob)
    try await bob.join(circle.founder)
    #expect(try await bob.text("packing-items").contains("Tent"))
  }

  @Test func `a device learns the kinds from the circle, and shows them after a restart`() async throws {
    let stage = try Stage()
    defer { stage.end() }
    let circle = try await TestCircle.make(["alice", "bob"], on: stage, isPremium: true)
    let (alice, bob) = (circle.founder, circle["bob"])
    try await bob.start()
    #expect(try await bob.run(["packing-item", "list"]).code == 2)
    try await alice.stop()
    try await useApp(on: alice)
    try await alice.start()
    try await bob.waitForSync(with: alice)
    try await bob.stop()
    try await bob.start()
    let list = try await bob.json("packing-item", "list")
    #expect(list["packing-items"]?.array?.compactMap { $0["name"]?.string } == ["Book", "Tent"])
    #expect(try await bob.json("conflicts")["conflicts"]?.array?.isEmpty == true)
  }
}
