import Foundation
import NodeRuntime
import Records
import Replication
import SQLite
import Storage
import Testing
import Waymark
import WaymarkCare
import WaymarkFiles
import WaymarkTesting
import Wire

/// Records of kinds that an app defines.
struct AppKindTests {
  private static func trip(_ node: Node) async throws -> Trip { try await node.save(Trip(name: "Rome")) }

  @Test func `every property of a record of an app is stored and read`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trip = try await Self.trip(alice)
    let bag = try await alice.save(PackingBag("Rucksack"))
    var item = PackingItem("Tent", in: trip.id)
    item.isPacked = true
    item.count = 2
    item.bagID = bag.id
    item.weight = .heavy
    item.price = try Money(exactly: "120.50", "EUR")
    item.bought = Date(timeIntervalSince1970: 1_780_000_000.25)
    item.tags = ["camping", "wet"]
    item.label = Data([0, 1, 255])
    let saved = try await alice.save(item)
    #expect(saved == item)
    #expect(try await alice.record(item.id) == item)
  }

  @Test func `a property that was never written has its default`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let item = try await alice.save(PackingItem("Tent", in: Self.trip(alice).id))
    #expect(
      item.count == 1 && !item.isPacked && item.weight == .light && item.price == nil && item.tags.isEmpty)
    #expect(try await alice.count(PackingItem.all.filter(\.count == 1 && \.isPacked == false)) == 1)
  }

  @Test func `queries filter and sort, and lists have the order of the kind`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trip = try await Self.trip(alice)
    for (name, isPacked) in [("Tent", false), ("Book", true), ("Anorak", false)] {
      var item = PackingItem(name, in: trip.id)
      item.isPacked = isPacked
      _ = try await alice.save(item)
    }
    #expect(try await alice.records(PackingItem.all).map(\.name) == ["Anorak", "Tent", "Book"])
    let packed = PackingItem.all.filter(\.isPacked == true && \.tripID == trip.id)
    #expect(try await alice.records(packed).map(\.name) == ["Book"])
    let sorted = PackingItem.all.sorted(by: \.name, order: .reverse).prefix(2)
    #expect(try await alice.records(sorted).map(\.name) == ["Tent", "Book"])
  }

  @Test func `a record is hidden with its parent, and is in the trash until it is restored`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trip = try await Self.trip(alice)
    let item = try await alice.save(PackingItem("Tent", in: trip.id))
    let deletion = try #require(try await alice.delete(trip))
    #expect(try await alice.records(PackingItem.all).isEmpty)
    #expect(try await alice.deleted(PackingItem.self).map(\.record.name) == ["Tent"])
    try await alice.undo(deletion)
    #expect(try await alice.records(PackingItem.all) == [item])
    try await alice.delete(item)
    #expect(try await alice.deleted(PackingItem.self).map(\.record.name) == ["Tent"])
    try await alice.restore(item.id)
    #expect(try await alice.records(PackingItem.all) == [item])
  }

  @Test func `a rule of a field refuses a value, and names the field`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trip = try await Self.trip(alice)
    for name in ["", String(repeating: "x", count: 81)] {
      let refused = await #expect(throws: WaymarkError.self) {
        try await alice.save(PackingItem(name, in: trip.id))
      }
      #expect(refused?.code == .badValue && refused?.field == PackingItem.fieldName(of: \.name))
    }
    let item = try await alice.save(PackingItem("Tent", in: trip.id))
    for name in ["", String(repeating: "x", count: 81)] {
      let refused = await #expect(throws: WaymarkError.self) {
        try await alice.update(item.id) { $0.name = name }
      }
      #expect(refused?.code == .badValue && refused?.field == PackingItem.fieldName(of: \.name))
    }
    let empty = await #expect(throws: WaymarkError.self) { try await alice.update(item.id) { $0.name = "" } }
    #expect(empty?.message.description == "Every packing item needs `name`.")
    let german = ["packing item": "Packstück", "Every %@ needs `%@`.": "Jedes %@ braucht „%@“."]
    #expect(empty?.message.text { german[$0] } == "Jedes Packstück braucht „name“.")
    let orphan = await #expect(throws: WaymarkError.self) {
      try await alice.save(PackingItem("Tent", in: .new()))
    }
    #expect(orphan?.message.description.contains("trip") == true)
  }

  @Test func `a date that was never written has its default, and queries compare it`() async throws {
    let alice = try Node.inMemory(schema: AppSchema("com.example.shop", ShopItem.self))
    var milk = try await alice.save(ShopItem("Milk", shop: .new()))
    #expect(milk.due == ShopItem.noDate)
    let late = Date(timeIntervalSince1970: 1_780_000_000)
    _ = try await alice.save(ShopItem("Bread", shop: .new()))
    milk.due = late
    milk = try await alice.save(milk)
    #expect(milk.due == late)
    #expect(try await alice.records(ShopItem.all.filter(\.due < late)).map(\.name) == ["Bread"])
    #expect(
      try await alice.records(ShopItem.all.sorted(by: \.due, order: .reverse)).map(\.name) == [
        "Milk", "Bread",
      ])
  }

  @Test func `a property names its field, and erases it`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    #expect(PackingItem.fieldName(of: \.bagID) == "bag" && PackingItem.fieldName(of: \.tags) == "tags")
    #expect(PackingItem.fieldName(of: \.id) == nil && PackingItem.fieldName(of: \.name.count) == nil)
    #expect(Lodging.fieldName(of: \.startZone) == "start")
    var item = PackingItem("Tent", in: try await Self.trip(alice).id)
    (item.tags, item.count) = (["wet"], 2)
    item = try await alice.save(item)
    #expect(try await alice.erasePreview(\.tags, of: item).records.count == 1)
    try await alice.erase(\.tags, of: item)
    let erased = try #require(try await alice.record(item.id))
    #expect(erased.tags.isEmpty && erased.name == "Tent" && erased.count == 2)
    for property in [\PackingItem.id, \PackingItem.name.count] as [any PartialKeyPath<PackingItem> & Sendable]
    {
      let refused = await #expect(throws: WaymarkError.self) { try await alice.erase(property, of: item) }
      #expect(refused?.code == .unsupportedProperty)
    }
    let needed = await #expect(throws: WaymarkError.self) { try await alice.erase(\.name, of: item) }
    #expect(needed?.message.description.hasPrefix("Every packing item needs `name`") == true)
  }

  @Test func `two devices merge a record field by field, and show the conflict of one field`() async throws {
    let circle = try await TestCircle("alice", "bob", schema: .packing)
    let (alice, bob) = (circle["alice"], circle["bob"])
    let trip = try await Self.trip(alice)
    let item = try await alice.save(PackingItem("Tent", in: trip.id))
    try await circle.settle()
    await circle.disconnect("alice", "bob")
    try await alice.update(item.id) {
      $0.isPacked = true; $0.name = "Tarp"
    }
    try await bob.update(item.id) {
      $0.count = 3; $0.name = "Tent for two"
    }
    await circle.connect("alice", "bob")
    try await circle.settle()
    let merged = try #require(try await alice.record(item.id))
    #expect(merged.isPacked && merged.count == 3)
    #expect(try await bob.record(item.id) == merged)
    let conflict = try #require(try await alice.conflicts().first)
    #expect(conflict.kind == RecordKind(rawValue: "packing-item") && conflict.field == "name")
    let names = ["Tarp", "Tent for two"]
    #expect(names.contains(merged.name))
    try await alice.resolve(conflict.id, taking: .loser)
    try await circle.settle()
    let resolved = try await bob.record(item.id)?.name
    #expect(resolved == names.first { $0 != merged.name })
    await circle.close()
  }

  @Test func `a watch of a kind fires for its records only`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trip = try await Self.trip(alice)
    var items = alice.watch(PackingItem.all).makeAsyncIterator()
    #expect(await items.next()?.isEmpty == true)
    _ = try await alice.save(PackingBag("Rucksack"))
    _ = try await alice.save(PackingItem("Tent", in: trip.id))
    #expect(await items.next()?.map(\.name) == ["Tent"])
  }

  @Test func `history and search name records of an app`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trip = try await Self.trip(alice)
    let item = try await alice.save(PackingItem("Tent", in: trip.id))
    let newest = try #require(try await alice.history(limit: 1).first)
    #expect(newest.record?.kind == RecordKind(rawValue: "packing-item") && newest.record?.name == "Tent")
    #expect(try await alice.find("tent").matches.map { $0.id(as: PackingItem.self) } == [item.id])
  }

  @Test func `an erased record of an app has no values left`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trip = try await Self.trip(alice)
    let item = try await alice.save(PackingItem("Tent", in: trip.id))
    try await alice.erase(item)
    #expect(try await alice.record(item.id) == nil)
    #expect(try await alice.deleted(PackingItem.self).isEmpty)
  }

  @Test func `a full export has the records of an app, and an import brings them back`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    let trip = try await Self.trip(alice)
    var item = PackingItem("Tent", in: trip.id)
    item.price = try Money(exactly: "120.50", "EUR")
    item.tags = ["wet"]
    item.label = Data([7])
    item = try await alice.save(item)
    let file = URL.temporaryDirectory.appending(path: "packing-\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: file) }
    _ = try await alice.export(as: .json, to: file)
    let bob = try Node.inMemory(schema: .packing)
    _ = try await bob.importFiles([file])
    #expect(try await bob.records(PackingItem.all) == [item])
  }

  @Test func `a view of the database shows the fields of a kind by their names`() async throws {
    let alice = try Node.inMemory(schema: .packing)
    var item = PackingItem("Tent", in: try await Self.trip(alice).id)
    item.price = try Money(exactly: "120.50", "EUR")
    item = try await alice.save(item)
    let shown = try await alice.withCore { core in
      try core.store.connection.with("SELECT name, isPacked, price, priceCurrency FROM app_packing_items") {
        row in
        try row.step() ? [row.text(0), "\(row.integer(1))", row.text(2), row.text(3)] : []
      }
    }
    #expect(shown == ["Tent", "0", "120.5", "EUR"])
  }

  @Test func `undo without a name does not undo that a schema was shared`() async throws {
    let phone = try Node.inMemory(schema: .packing)
    _ = try await phone.save(PackingBag("Rucksack"))
    await phone.withCore { core in core.shareSchemas() }
    #expect(try await phone.history(limit: 1).first?.verb == "schema")
    _ = try await phone.undoNewest()
    #expect(try await phone.records(PackingBag.all).isEmpty)
  }

  @Test func `whatever a member writes as a schema, the store opens`() async throws {
    let circle = try await TestCircle("alice", storage: .directories)
    let trip = try await Self.trip(circle["alice"])
    let hostile = try (0..<40).map { number in
      try AppSchema(
        app: "com.a\(number)",
        (0..<30).map { level in
          let kind = UInt64(2_048 + number * 30 + level)
          let parent = try #require(KindNumber(level == 0 ? 1 : kind - 1))
          return AppKind(
            kind, "kind-\(kind)", plural: "kinds-\(kind)", parent: 64,
            (1..<64).map { AppField($0, "f\($0)", .uuid) } + [AppField(64, "up", .reference(parent))])
        })
    }
    let drafts =
      hostile.map { schema in
        EntryDraft(
          .insert, RecordKey(kind: Kind.schema.number, id: RecordID(UUID())),
          [(1, .text(schema.app)), (2, schema.kindsValue)])
      } + [
        EntryDraft(
          .insert, RecordKey(kind: Kind.schema.number, id: RecordID(UUID())),
          [(1, .integer(7)), (2, .array([.array([.null, .bytes([1])]), .bool(true)]))])
      ]
    for draft in drafts {
      _ = try await circle["alice"].withCore { core in try core.write("schema", [draft]) }
    }
    try await circle.reopen("alice", schema: .packing)
    let item = try await circle["alice"].save(PackingItem("Tent", in: trip.id))
    try await circle.reopen("alice")
    #expect(try await circle["alice"].records(PackingItem.all) == [item])
    await circle.close()
  }

  @Test func `an organization that a record of an app names is in use`() async throws {
    let alice = try Node.inMemory(schema: AppSchema("com.example.shops", ShopItem.self))
    let shop = try await alice.save(Organization(name: "Outdoor shop"))
    _ = try await alice.save(ShopItem("Tent", shop: shop.id))
    let refused = await #expect(throws: WaymarkError.self) { try await alice.delete(shop) }
    #expect(refused?.code == .inUse)
  }

  // MARK: Devices with other versions

  @Test func `a device without the schema forwards the records, and shows them once it knows the kind`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", "carol", storage: .directories)
    for name in ["alice", "carol"] { try await circle.reopen(name, schema: .packing) }
    // Bob never has the app, and Alice and Carol never meet.
    await circle.disconnect("alice", "carol")
    let trip = try await Self.trip(circle["alice"])
    let item = try await circle["alice"].save(PackingItem("Tent", in: trip.id))
    try await circle.settle()
    #expect(try await circle["carol"].records(PackingItem.all) == [item])
    let unknown = await #expect(throws: WaymarkError.self) {
      try await circle["bob"].records(PackingItem.all)
    }
    #expect(unknown?.code == .unknownKind)
    // When Bob's node starts again, it has learned the kind from the circle.
    try await circle.reopen("bob")
    #expect(try await circle["bob"].records(PackingItem.all) == [item])
    await circle.close()
  }

  @Test func `an app with an older version keeps the fields that it does not know`() async throws {
    let circle = try await TestCircle("alice", "bob", storage: .directories)
    try await circle.reopen("bob", schema: .earlyPacking)
    try await circle.reopen("alice", schema: .packing)
    let trip = try await Self.trip(circle["alice"])
    var item = PackingItem("Tent", in: trip.id)
    item.count = 4
    item = try await circle["alice"].save(item)
    try await circle.settle()
    try await circle["bob"].update(EarlyItem.ID(item.id.uuid)) { $0.name = "Tarp" }
    try await circle.settle()
    let merged = try #require(try await circle["alice"].record(item.id))
    #expect(merged.name == "Tarp" && merged.count == 4)
    // The update of Bob's app shows what came before it.
    try await circle.reopen("bob", schema: .packing)
    #expect(try await circle["bob"].record(item.id) == merged)
    // The older version opens the store again, and loses nothing.
    try await circle.reopen("bob", schema: .earlyPacking)
    #expect(try await circle["bob"].record(EarlyItem.ID(item.id.uuid))?.name == "Tarp")
    try await circle.reopen("bob", schema: .packing)
    #expect(try await circle["bob"].record(item.id) == merged)
    await circle.close()
  }

  @Test func `the schema travels without premium`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .nobody, storage: .directories)
    try await circle.reopen("alice", schema: .packing)
    try await circle.settle()
    try await circle.reopen("bob")
    #expect(try await circle["bob"].records(PackingItem.all).isEmpty)
    await circle.close()
  }
}
