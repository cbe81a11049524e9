import JSONDocument
import Records
import Wire

/// Generates a sample of a user's trips, as Traveling Snails exports them.
struct TripSample {
  private var generator: SampleGenerator
  private let size: SampleData.Size
  private var organizations: [JSON] = []
  private var organizationIDs: [JSON] = [""]
  private var addresses: [JSON] = []
  private var attachments: [JSON] = []

  init(seed: UInt64, size: SampleData.Size) {
    generator = SampleGenerator(seed: seed ^ 0x7472_6970_73)
    self.size = size
  }

  mutating func file() -> JSON {
    makeAddresses()
    makeOrganizations()
    let trips = (0..<size.trips).map { trip($0) }
    return [
      "exportInfo": [
        "version": "1.0", "timestamp": SampleTime.json(day: 401), "format": "json",
        "includesAttachments": true,
      ],
      "trips": .array(trips), "organizations": .array(organizations), "addresses": .array(addresses),
      "attachments": .array(attachments),
    ]
  }

  // MARK: Organizations and addresses

  private mutating func makeAddresses() {
    let cities = [("Roma", "Italia"), ("東京", "日本"), ("München", "Deutschland"), ("São Paulo", "Brasil")]
    for index in 0..<12 {
      let city = cities[index % cities.count]
      let isKnown = index % 3 != 0
      addresses.append([
        "id": generator.uuid(), "street": .string("Straße \(index + 1)/a"), "city": .string(city.0),
        "state": "",
        "country": .string(city.1), "postalCode": .string("0\(1_000 + index)"),
        "latitude": isKnown ? .float(Double(generator.below(90_000_000)) / 1_000_000) : 0,
        "longitude": isKnown ? .float(Double(generator.below(180_000_000)) / 1_000_000 - 180) : 0,
        "formattedAddress": .string("Straße \(index + 1)/a, \(city.0), \(city.1)"),
      ])
    }
  }

  private mutating func makeOrganizations() {
    let names = ["None", "Trenitalia", "ANA 全日空", "Hôtel de l’Étoile", "None", "Añejo Tours", "Snail Cars"]
    for (index, name) in names.enumerated() {
      let id = generator.uuid()
      let isNone = name == "None"
      organizationIDs.append(id)
      organizations.append([
        "id": id, "name": .string(name), "phone": isNone ? "" : .string("+49 30 123456-\(index)"),
        "email": isNone ? "" : .string("desk\(index)@example.org"),
        "website": isNone ? "" : .string("https://example.org/\(index)?a=1&b=\"2\""), "logoURL": "",
        "cachedLogoFilename": .string(index == 2 ? "logo-ana.png" : ""),
        "address": isNone || index % 2 == 0 ? .null : addresses[index],
      ])
    }
  }

  // MARK: Trips

  private static let places = ["Rome", "京都", "Zürich", "Québec", "Reykjavík", "Đà Nẵng", "القاهرة"]

  private mutating func trip(_ index: Int) -> JSON {
    let start = 10 + index * 14
    let isDated = index % 7 != 3
    let hasEnd = isDated && index % 5 != 4
    let place = Self.places[index % Self.places.count]
    let count = size.items / max(1, size.trips) + (index < size.items % max(1, size.trips) ? 1 : 0)
    let items = (0..<count).map { item($0, start: start, place: place) }
    let total = items.reduce(ExactDecimal.zero) { (try? $0.adding($1.cost)) ?? $0 }
    func rows(_ kind: Int) -> JSON { .array(items.filter { $0.kind == kind }.map(\.json)) }
    func ids(_ kind: Int) -> JSON { .array(items.filter { $0.kind == kind }.map(\.id)) }
    return [
      "isProtected": .bool(index == 2), "name": .string("\(place) \(2025 + index / 20), part \(index + 1)"),
      "notes": .string(index % 2 == 0 ? "" : "Pack the “good” shoes\nand an umbrella ☂️"),
      "id": generator.uuid(),
      "createdDate": SampleTime.json(day: start - 9, second: 3_661),
      "startDate": isDated ? SampleTime.json(day: start) : fileTime(Placeholders.distantPast),
      "endDate": hasEnd ? SampleTime.json(day: start + 8) : fileTime(Placeholders.distantFuture),
      "hasStartDate": .bool(isDated), "hasEndDate": .bool(hasEnd), "totalCost": .number(total.description),
      "transportation": ids(0), "lodging": ids(1), "activities": ids(2), "embeddedTransportation": rows(0),
      "embeddedLodging": rows(1), "embeddedActivities": rows(2),
    ]
  }

  private struct Item {
    let kind: Int
    let id: JSON
    let cost: ExactDecimal
    let json: JSON
  }

  private mutating func item(_ index: Int, start: Int, place: String) -> Item {
    let kind = index % 3
    let id = generator.uuid()
    let cost = price()
    let (from, to) = (generator.pick(SampleTime.zones), generator.pick(SampleTime.zones))
    let day = start + generator.below(8)
    let second = generator.below(80_000)
    var item: JSON = [
      "id": id, "name": .string("\(["Train to", "Rooms in", "Walk in"][kind]) \(place) \(index)"),
      "start": SampleTime.json(day: day, second: second),
      "end": SampleTime.json(day: day + (kind == 1 ? 2 : 0), second: second + 5_400),
      "startTZId": .string(from),
      "endTZId": .string(kind == 0 ? to : from), "cost": .number(cost.description),
      "paid": .string(generator.pick(["infull", "deposit", "none"])),
      "notes": .string(generator.chance(30) ? "Ask for “Giulia” · 2ª porta\n" : ""),
      "organizationId": generator.pick(organizationIDs),
    ]
    if kind == 0 {
      item["type"] = .string(generator.pick(["train", "plane", "boat", "car", "bicycle", "walking"]))
      item["confirmation"] = .string(hexadecimal(generator.bytes(3)).uppercased())
    } else {
      item["reservation"] = .string(generator.chance(50) ? "R-\(generator.below(10_000))" : "")
      item["customLocationName"] = .string(generator.chance(20) ? "Bei Oma" : "")
      item["hideLocation"] = .bool(generator.chance(20))
    }
    if generator.chance(6) { attach(to: id, kind: ["transportation", "lodging", "activity"][kind]) }
    return Item(kind: kind, id: id, cost: cost, json: item)
  }

  /// Returns a price with few or many digits, some of which a double would lose.
  private mutating func price() -> ExactDecimal {
    let texts = [
      "0", "\(generator.below(900)).\(10 + generator.below(90))", "\(generator.below(5_000))",
      "1234567890.\(10_000 + generator.below(90_000))", "0.1", "410.56", "99999999999.99",
    ]
    return ExactDecimal(generator.pick(texts)) ?? .zero
  }

  private mutating func attach(to id: JSON, kind: String) {
    let sizes = [0, 1, 700, 32_768, 32_769, 49_152, 120_000]
    let data = generator.bytes(sizes[attachments.count % sizes.count])
    let name = "Beleg \(attachments.count + 1) ✓.pdf"
    attachments.append([
      "id": generator.uuid(), "fileName": .string("\(hexadecimal(generator.bytes(4))).pdf"),
      "originalFileName": .string(name), "fileSize": .integer(data.count), "mimeType": "application/pdf",
      "fileExtension": "pdf", "createdDate": SampleTime.json(day: 3, second: attachments.count),
      "fileDescription": .string(attachments.count % 2 == 0 ? "" : "Rechnung für “alles”"),
      "parentType": .string(kind), "parentId": id, "fileData": .string(Base64.encode(data)),
    ])
  }
}
