import Exchange
import JSONDocument
import Records
import Replication
import Testing
import Wire

private func id(_ number: UInt64) -> JSON { .string(RecordID(Bytes16(0, number)).uuid) }

private let lodging: JSON = [
  "id": id(2), "name": "Casa Rosa", "start": "2026-05-03T13:00:00Z", "end": "2026-05-05T08:00:00Z",
  "startTZId": "Europe/Rome", "endTZId": "Europe/Rome", "cost": 410.56, "paid": "none", "reservation": "R1",
  "notes": "", "organizationId": id(3), "customLocationName": "", "hideLocation": false,
]

/// A file with one trip, one lodging, one organization and one attachment, modified by a closure.
private func plan(_ change: (inout JSON) -> Void = { _ in }) throws -> ImportPlan {
  var file: JSON = [
    "exportInfo": ["version": "1.0", "timestamp": "2026-01-01T00:00:00Z", "format": "json"],
    "trips": [
      [
        "id": id(1), "name": "Rome", "notes": "", "createdDate": "2026-01-01T00:00:00Z",
        "startDate": "0001-01-01T00:00:00Z", "endDate": "2026-05-05T00:00:00Z", "hasStartDate": false,
        "hasEndDate": true, "totalCost": 410.56, "isProtected": false, "transportation": [],
        "lodging": [id(2)],
        "activities": [], "embeddedTransportation": [], "embeddedLodging": [lodging],
        "embeddedActivities": [],
      ]
    ],
    "organizations": [
      [
        "id": id(3), "name": "Rosa", "phone": "", "email": "", "website": "", "logoURL": "",
        "cachedLogoFilename": "", "address": nil,
      ]
    ],
    "addresses": [],
    "attachments": [
      [
        "id": id(4), "fileName": "a.pdf", "originalFileName": "A.pdf", "fileSize": 3,
        "mimeType": "application/pdf",
        "fileExtension": "pdf", "createdDate": "2026-01-01T00:00:00Z", "fileDescription": "",
        "parentType": "lodging", "parentId": id(2), "fileData": "Zm9v",
      ]
    ],
  ]
  change(&file)
  return try Importer.plan(file.bytes())
}

private func plan(lodging key: String, _ value: JSON?) throws -> ImportPlan {
  try plan { file in
    var row = lodging
    row[key] = value
    var trip = file["trips"]?[0] ?? .null
    trip["embeddedLodging"] = [row]
    file["trips"] = [trip]
  }
}

private func plan(_ list: String, _ rows: [JSON]) throws -> ImportPlan {
  try plan { $0[list] = .array(rows) }
}

extension ImportPlan {
  fileprivate func value(_ kind: Kind, _ name: String) throws -> Value? {
    let draft = try #require(drafts.first { $0.kind == kind })
    return draft[kind.number(name)]
  }
}

struct TravelingSnailsTests {
  @Test func `a file becomes records`() throws {
    let plan = try plan()
    #expect(plan.skipped.isEmpty && plan.warnings.isEmpty, "\(plan.warnings)")
    #expect(plan.drafts.map(\.kind.name) == ["trip", "lodging", "organization", "attachment"])
    #expect(try plan.value(Kind.trip, "startDate") == .null)
    #expect(try plan.value(Kind.trip, "endDate") == .integer(1_777_939_200_000))
    #expect(
      try plan.value(Kind.lodging, "start")
        == .array([.integer(1_777_813_200_000), .text("Europe/Rome")]))
    #expect(try plan.value(Kind.lodging, "cost") == .array([.text("410.56"), .null]))
    #expect(try plan.value(Kind.attachment, "fileData") == .bytes(Array("foo".utf8)))
  }

  @Test(arguments: [
    ("0", "0"), ("410.560", "410.560"), ("99999999999.99", "99999999999.99"), ("-1.5e1", "-15"),
    ("410.56000000000000227", "410.56"),
  ])
  func `a price keeps the digits of the file`(digits: String, amount: String) throws {
    let plan = try plan(lodging: "cost", .number(digits))
    #expect(try plan.value(Kind.lodging, "cost") == .array([.text(amount), .null]))
  }

  static let refused: [(String, JSON?, String)] = [
    ("id", "x", "a UUID"), ("id", "", "no id"), ("start", "May", "a time"), ("cost", "12", "an amount"),
    ("cost", .number("1e300"), "an amount"), ("paid", "maybe", "one of infull, deposit, none"),
    ("hideLocation", 1, "true or false"), ("organizationId", "ACME", "a UUID"), ("name", 5, "text"),
    ("notes", .string(String(repeating: "x", count: 10_001)), "at most 10000"),
  ]

  @Test(arguments: refused)
  func `a row that breaks a rule is left out and named`(key: String, value: JSON?, reason: String) throws {
    let plan = try plan(lodging: key, value)
    let row = try #require(plan.skipped.first)
    #expect(row.place == "trips[0].embeddedLodging[0]")
    #expect(row.reason.contains(reason), "\(row.reason)")
  }

  @Test func `None is one record, whatever ids it has in the file`() throws {
    func none(_ number: UInt64, phone: String, email: String) -> JSON {
      ["id": id(number), "name": "None", "phone": .string(phone), "email": .string(email), "address": nil]
    }
    let plan = try plan(
      "organizations", [none(3, phone: "1", email: ""), none(9, phone: "2", email: "a@example.org")])
    let organizations = plan.drafts.filter { $0.kind == Kind.organization }
    #expect(organizations.map(\.id) == [FixedRecords.none.id])
    #expect(try plan.value(Kind.organization, "name") == nil)
    #expect(try plan.value(Kind.organization, "phone") == .text("1"))
    #expect(try plan.value(Kind.organization, "email") == .text("a@example.org"))
    #expect(try plan.value(Kind.lodging, "organizationId") == .bytes(FixedRecords.none.id.bytes))
    #expect(plan.skipped.isEmpty)
  }

  @Test func `None without fields writes nothing, and similar names are other organizations`() throws {
    let own = JSON.string(FixedRecords.none.id.uuid)
    let bare = try plan("organizations", [["id": own, "name": "None", "phone": ""]])
    #expect(!bare.drafts.contains { $0.kind == Kind.organization })
    let other = try plan("organizations", [["id": id(3), "name": "none"]])
    #expect(try other.value(Kind.organization, "name") == .text("none"))
  }

  @Test
  func `an export gives None the id that it had in the imported file, unless another organization has it`()
    throws
  {
    let own = FixedRecords.none.id.uuid
    for (isTaken, expected) in [(false, id(3)), (true, .string(own))] {
      var plan = try plan("organizations", [["id": id(3), "name": "None", "phone": "1"]]).drafts
      if isTaken {
        plan.append(RecordDraft(Kind.organization, RecordID(uuid: id(3).string ?? "")!, [1: .text("Casa")]))
      }
      let file = try JSON.parse(Exporter.file(.travelingSnails, from: ExportSource(plan), now: 0).bytes)
      let none = file["organizations"]?.array?.first { $0["name"] == "None" }
      #expect(none?["id"] == expected && none?["phone"] == "1")
      let items = (file["trips"]?.array ?? []).compactMap { $0["embeddedLodging"]?.array }.joined()
      #expect(items.map { $0["organizationId"] } == [expected])
    }
  }

  @Test func `a record that ends before it starts is reported, and imported unchanged`() throws {
    let late = try plan(lodging: "end", "2026-05-02T08:00:00Z")
    #expect(late.skipped.isEmpty)
    #expect(late.warnings == ["lodging \"Casa Rosa\" ends before it starts; it is imported unchanged"])
    #expect(try late.value(Kind.lodging, "end")?.part(0) == .integer(1_777_708_800_000))
    // A moment is not too short, and half of the times say nothing about an order.
    #expect(try plan(lodging: "end", "2026-05-03T13:00:00Z").warnings.isEmpty)
    let trip = try plan { file in
      var trip = file["trips"]?[0] ?? .null
      trip["startDate"] = "2026-05-06T00:00:00Z"
      trip["hasStartDate"] = true
      file["trips"] = [trip]
    }
    #expect(trip.warnings == ["trip \"Rome\" ends before it starts; it is imported unchanged"])
  }

  @Test func `a missing link is read as no link, a broken one is reported`() throws {
    #expect(try plan(lodging: "organizationId", "").value(Kind.lodging, "organizationId") == .null)
    let broken = try plan(lodging: "organizationId", id(77))
    #expect(try broken.value(Kind.lodging, "organizationId") != .null)
    #expect(broken.warnings.contains { $0.contains("not in the file") })
  }

  @Test func `a total that differs from the sum of prices is reported`() throws {
    func total(_ digits: String) throws -> [String] {
      try plan { file in
        var trip = file["trips"]?[0] ?? .null
        trip["totalCost"] = .number(digits)
        file["trips"] = [trip]
      }.warnings
    }
    #expect(try total("410.56000000000006").isEmpty)
    #expect(try total("411").contains { $0.contains("totalCost is 411, but its items cost 410.56") })
  }

  @Test func `coordinates 0, 0 mean no position, and an address is imported once`() throws {
    let address: JSON = ["id": id(8), "street": "Via 1", "city": "Roma", "latitude": 0, "longitude": 0]
    let plan = try plan { file in
      file["addresses"] = [address]
      file["organizations"] = [["id": id(3), "name": "Rosa", "address": address]]
    }
    #expect(plan.drafts.filter { $0.kind == Kind.address }.count == 1)
    #expect(try plan.value(Kind.address, "location") == .null)
    #expect(try plan.value(Kind.address, "city") == .text("Roma"))
    #expect(plan.warnings.isEmpty && plan.skipped.isEmpty)
  }

  @Test func `an address that only appears inside an organization is kept`() throws {
    let plan = try plan("organizations", [["id": id(3), "name": "Rosa", "address": ["street": "Via 1"]]])
    let address = try #require(plan.drafts.first { $0.kind == Kind.address })
    #expect(try plan.value(Kind.organization, "address") == .bytes(address.id.bytes))
  }

  @Test func `an attachment without data does not change the stored data`() throws {
    let plan = try plan { file in
      var row = file["attachments"]?[0] ?? .null
      row["fileData"] = nil
      file["attachments"] = [row]
    }
    #expect(try plan.value(Kind.attachment, "fileData") == nil)
  }

  @Test func `an attachment beyond 16 MiB is left out`() throws {
    let data = Base64.encode([UInt8](repeating: 1, count: 16 * 1024 * 1024 + 1))
    let plan = try plan("attachments", [["id": id(4), "fileName": "a", "fileData": .string(data)]])
    #expect(plan.skipped.map(\.place) == ["attachments[0]"])
    #expect(!plan.drafts.contains { $0.kind == Kind.attachment })
  }

  @Test func `ids without a row are reported`() throws {
    let plan = try plan { file in
      var trip = file["trips"]?[0] ?? .null
      trip["activities"] = [id(55)]
      file["trips"] = [trip]
    }
    #expect(plan.warnings.count == 1 && plan.warnings[0].contains("activities names"))
  }
}

struct ZoneTests {
  @Test func `the zones of this machine distinguish summer from winter, and a path is not a zone`() {
    #expect(ZoneOffsets.system.seconds(1_751_328_000_000, "Europe/Rome") == 7_200)
    #expect(ZoneOffsets.system.seconds(1_735_689_600_000, "Europe/Rome") == 3_600)
    #expect(
      ZoneOffsets.system.milliseconds(wall: 1_777_820_400_000, zone: "Europe/Rome") == 1_777_813_200_000)
    for name in ["", "../../etc/passwd", "/etc/localtime", "Nowhere/Else"] {
      #expect(ZoneOffsets.system.seconds(0, name) == nil, "\(name)")
    }
    #expect(ZoneOffsets.system.seconds(.max, "Europe/Rome") != nil)
    #expect(ZoneOffsets.system.seconds(.min, "Europe/Rome") != nil)
    #expect(ZoneOffsets.system.seconds(0, ZoneOffsets.local) != nil)
  }
}
