import Foundation
import Model
import Waymark

/// A thing to take on a trip: a kind of an app.
struct PackingItem: Record {
  enum Weight: String, CaseIterable { case light, heavy }

  let id: ID
  var tripID: Trip.ID
  var name = ""
  var isPacked = false
  var count = 1
  var bagID: PackingBag.ID?
  var weight = Weight.light
  var price: Money?
  var bought: Date?
  var tags: [String] = []
  var label: Data?
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
      .reference(1, "trip", \.tripID),
      .text(2, "name", \.name, isRequired: true, charactersMax: 80),
      .flag(3, "isPacked", \.isPacked), .integer(4, "count", \.count, default: 1),
      .reference(5, "bag", \.bagID), .word(6, "weight", \.weight, default: .light),
      .money(7, "price", \.price), .date(8, "bought", \.bought), .texts(9, "tags", \.tags),
      .data(10, "label", \.label),
    ])
}

/// A bag: another kind of the app, to which the first refers and which refers to itself.
struct PackingBag: Record {
  let id: ID
  var name = ""
  var outerID: PackingBag.ID?
  var origin = RecordOrigin()

  init(id: ID) { self.id = id }

  init(_ name: String) {
    id = .new()
    self.name = name
  }

  static let fields = RecordFields<PackingBag>(
    2_418, "packing-bag", plural: "packing-bags", id: \.id, title: \.name, order: [\.name],
    [
      .text(1, "name", \.name, isRequired: true), .reference(2, "outer", \.outerID),
    ])
}

/// The first version of the app, which had only items with a name.
struct EarlyItem: Record {
  let id: ID
  var tripID: Trip.ID
  var name = ""
  var origin = RecordOrigin()

  init(id: ID) {
    self.id = id
    tripID = .zero
  }

  static let fields = RecordFields<EarlyItem>(
    2_417, "packing-item", plural: "packing-items", id: \.id, parent: \.tripID, title: \.name,
    [.reference(1, "trip", \.tripID), .text(2, "name", \.name, isRequired: true)])
}

/// A thing to buy, which names an organization.
struct ShopItem: Record {
  let id: ID
  var name = ""
  var due = Self.noDate
  var shopID: Organization.ID?
  var origin = RecordOrigin()

  init(id: ID) { self.id = id }

  static let noDate = Date(timeIntervalSince1970: 0)

  init(_ name: String, shop: Organization.ID) {
    id = .new()
    self.name = name
    shopID = shop
  }

  static let fields = RecordFields<ShopItem>(
    3_001, "shop-item", plural: "shop-items", id: \.id, title: \.name,
    [
      .text(1, "name", \.name), .reference(2, "shop", \.shopID),
      .date(3, "due", \.due, default: noDate),
    ])
}

extension AppSchema {
  static var packing: AppSchema {
    get throws { try AppSchema("com.example.packing", PackingItem.self, PackingBag.self) }
  }

  static var earlyPacking: AppSchema {
    get throws { try AppSchema("com.example.packing", EarlyItem.self) }
  }
}
