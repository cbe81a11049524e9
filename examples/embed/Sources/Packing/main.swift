// An app with kinds of its own: a packing list for each trip. The trips are Waymark's; items and bags are the app's. The
// laptop first has an older version of the app, which knows no bags.
import Foundation
import WaymarkKinds

/// A thing to take on a trip.
struct PackingItem: Record {
  let id: ID
  var tripID: Trip.ID
  var name = ""
  var isPacked = false
  var bagID: PackingBag.ID?
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
    order: [\.isPacked, \.name],
    [
      .reference(1, "trip", \.tripID), .text(2, "name", \.name, isRequired: true),
      .flag(3, "isPacked", \.isPacked), .reference(4, "bag", \.bagID),
    ])
}

/// A bag in which items are packed.
struct PackingBag: Record {
  let id: ID
  var name = ""
  var kilograms: Double?
  var origin = RecordOrigin()

  init(id: ID) { self.id = id }

  init(_ name: String, kilograms: Double) {
    id = .new()
    self.name = name
    self.kilograms = kilograms
  }

  static let fields = RecordFields<PackingBag>(
    2_418, "packing-bag", plural: "packing-bags", id: \.id, title: \.name, order: [\.name],
    [.text(1, "name", \.name, isRequired: true), .number(2, "kilograms", \.kilograms)])
}

/// A list on a screen, which counts how often it is drawn.
@MainActor final class PackingList {
  private(set) var renders = 0
  private(set) var open: [String] = []
  private var task: Task<Void, Never>?

  init(_ node: Node, _ trip: Trip.ID) {
    let items = node.watch(PackingItem.all.filter(\.tripID == trip && \.isPacked == false))
    task = Task { [weak self] in
      for await items in items {
        self?.renders += 1
        self?.open = items.map(\.name)
      }
    }
  }

  func end() { task?.cancel() }
}

/// Ends the program unless a condition becomes true within ten seconds.
func expect(_ what: String, _ condition: () async throws -> Bool) async throws {
  for _ in 0..<1_000 {
    if try await condition() { return print("  \(what)") }
    try await Task.sleep(for: .milliseconds(10))
  }
  fatalError("expectation failed: \(what)")
}

let folder = URL.temporaryDirectory.appending(path: "waymark-packing-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: folder) }

let schema = try AppSchema("com.example.packing", PackingItem.self, PackingBag.self)
let phone = try await Node.open(Home(folder.appending(path: "phone")), name: "phone", schema: schema)

print("Anna packs for Rome.")
let trip = try await phone.save(Trip(name: "Rome"))
let list = PackingList(phone, trip.id)
let bag = try await phone.save(PackingBag("Rucksack", kilograms: 9))
var tent = PackingItem("Tent", in: trip.id)
tent.bagID = bag.id
(tent, _) = try await phone.save(tent, PackingItem("Book", in: trip.id))
try await expect("Two things are still to be packed.") { list.open == ["Book", "Tent"] }
let packing = try await phone.change("pack") { $0.update(tent.id) { $0.isPacked = true } }
try await expect("The packed tent leaves the list.") { list.open == ["Book"] }
let renders = list.renders
_ = try await phone.save(Trip(name: "Oslo"))
_ = try await phone.update(bag.id) { $0.kilograms = 10 }
try await Task.sleep(for: .milliseconds(300))
try await expect("Changes of other kinds do not draw the list.") { list.renders == renders }
if let packing { try await phone.undo(packing) }
try await expect("Undo takes the tent out again.") { list.open == ["Book", "Tent"] }

print("Her laptop has an older version of the app, without bags.")
try await phone.serve(listen: "127.0.0.1:0")
let laptopHome = Home(folder.appending(path: "laptop"))
_ = try await JoinOperation(home: laptopHome, ticket: phone.invite().ticket, name: "laptop").join()
let older = try AppSchema("com.example.packing", PackingItem.self)
var laptop = try await Node.open(laptopHome, name: "laptop", schema: older)
try await laptop.serve(listen: "127.0.0.1:0")
try await expect("The paywall says what to do.") { try await laptop.syncState().step == .buyPremium }
for node in [phone, laptop] {
  try await node.buyMockPremium(until: .now + 86_400)
  try await node.turnSyncOn(isConfirmed: true)
}
try await expect("With premium, the items arrive.") { try await laptop.count(PackingItem.all) == 2 }
try await expect("The bag is kept, though not shown.") {
  do { return try await laptop.count(PackingBag.all) < 0 } catch {
    return (error as? WaymarkError)?.code == .unknownKind
  }
}
_ = try await laptop.update(tent.id) { $0.name = "Big tent" }
try await expect("An edit of the older version keeps the item's bag.") {
  let item = try await phone.record(tent.id)
  return item?.name == "Big tent" && item?.bagID == bag.id
}

print("The laptop's app is updated.")
await laptop.close()
laptop = try await Node.open(laptopHome, name: "laptop", schema: schema)
let bags = try await laptop.records(PackingBag.all)
try await expect("It shows the bag at once.") { bags.map(\.name) == ["Rucksack"] && bags[0].kilograms == 10 }
list.end()
await laptop.close()
await phone.close()
print("The example is complete.")
