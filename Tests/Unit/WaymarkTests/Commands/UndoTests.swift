import Home
import JSONDocument
import Reasons
import Records
import Replication
import Testing
import WaymarkCare
import WaymarkKinds
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// Operations of one device, and their undo.
struct UndoTests {
  private func ids(_ node: TestNode) async throws -> [String] {
    try await node.run("history", ["limit": "100"])["operations"]?.array?
      .compactMap { $0["id"]?.string } ?? []
  }

  private func newest(_ node: TestNode) async throws -> JSON {
    .string(try #require(try await ids(node).first))
  }

  private func count(_ node: TestNode, _ kind: String) async throws -> Int64? {
    try await node.run("status")["counts"]?[kind]?.integer
  }

  @Test func `undo goes back one operation after another, until there is nothing left`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome", "notes=sunny"))
    try await alice.run("trip.edit", fields("name=Roma", "notes=", id: "Rome"))
    try await alice.run("trip.delete", ["id": "Roma"])
    try await alice.run("undo")
    #expect(try await alice.run("trip.show", ["id": "Roma"])["notes"] == .null)
    try await alice.run("undo")
    #expect(try await alice.run("trip.show", ["id": "Rome"])["notes"] == "sunny")
    try await alice.run("undo")
    #expect(try await count(alice, "trips") == 0)
    let refused = try await failure(alice, "undo")
    #expect(refused?.exitCode == ExitCode.failed)
    #expect(refused?.code == .nothingToUndo)
  }

  @Test func `an undo can be undone, and that too, and the first again`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("trip.edit", fields("name=Roma", id: "Rome"))
    let edit = try await newest(alice)
    func name() async throws -> JSON? { try await alice.run("trip.list")["trips"]?[0]?["name"] }
    var last = edit
    for expected in ["Rome", "Roma", "Rome", "Roma"] {
      let undone = try await alice.run("undo", ["operation": last])
      #expect(try await name() == .string(expected))
      last = try #require(undone["undo"])
    }
    // The edit counts again, so plain undo reverts it.
    #expect(try await alice.run("undo")["operation"]?["id"] == edit)
    #expect(try await name() == "Rome")
    #expect(try await failure(alice, "undo", ["operation": edit])?.code == .nothingToUndo)
  }

  @Test func `an undone operation is marked as undone, and by which undo`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let add = try await newest(alice)
    let undone = try await alice.run("undo")
    let listed = try await alice.run("history")["operations"]?.array ?? []
    #expect(listed.map { $0["verb"] } == ["undo", "trip.add"])
    #expect(listed.map { $0["undoes"] } == [add, .null])
    #expect(listed.map { $0["undoneBy"] } == [.null, undone["undo"]])
    #expect(listed[1]["record"]?["name"] == "Rome")
  }

  @Test func `a preview shows what would happen and writes nothing`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let preview = try await alice.run("undo", ["preview": true])
    #expect(preview["undo"] == .null)
    #expect(preview["changes"]?[0]?["deleted"] == 1)
    #expect(try await count(alice, "trips") == 1)
    #expect(try await ids(alice).count == 1)
  }

  @Test func `values changed since are listed, and only reverted with a yes`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome", "notes=sunny"))
    try await alice.run("trip.edit", fields("name=Roma", "notes=hot", id: "Rome"))
    let edit = try await newest(alice)
    try await alice.run("trip.edit", fields("name=Romagna", id: "Roma"))
    let undone = try await alice.run("undo", ["operation": edit])
    #expect(undone["left"]?[0]?["reason"] == "changed_since")
    #expect(undone["left"]?[0]?["fields"] == ["name"])
    let trip = try await alice.run("trip.show", ["id": "Romagna"])
    #expect(trip["notes"] == "sunny")
    let refused = try await failure(alice, "undo", ["operation": edit])
    #expect(refused?.exitCode == ExitCode.needsYes)
    #expect(refused?.candidates.first?.contains("name") == true)
    let forced = try await alice.run("undo", ["operation": edit, "yes": true])
    #expect(forced["left"] == [])
    #expect(try await alice.run("trip.show", ["id": "Rome"])["notes"] == "sunny")
  }

  @Test func `a record that was edited since keeps its values when its creation is undone`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome", "notes=sunny"))
    let add = try await newest(alice)
    try await alice.run("trip.edit", fields("name=Roma", id: "Rome"))
    try await alice.run("undo", ["operation": add])
    #expect(try await count(alice, "trips") == 0)
    try await alice.run("trip.restore", ["id": "Roma"])
    #expect(try await alice.run("trip.show", ["id": "Roma"])["notes"] == "sunny")
  }

  @Test func `a parent that has children since is kept, unless the user insists`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let add = try await newest(alice)
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    let refused = try await failure(alice, "undo", ["operation": add])
    #expect(refused?.exitCode == ExitCode.needsYes)
    #expect(refused?.candidates == ["trip Rome: used by 1 other record"])
    #expect(try await count(alice, "trips") == 1)
    try await alice.run("undo", ["operation": add, "yes": true])
    #expect(try await count(alice, "trips") == 0)
    #expect(try await count(alice, "lodging") == 0)
    try await alice.run("undo", ["operation": try await newest(alice)])
    #expect(try await count(alice, "lodging") == 1)
  }

  @Test func `the parents of a record that is kept are kept too`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = Trip(name: "Rome")
    try await alice.node.change("plan") { changes in
      changes.save(trip)
      changes.save(Lodging(name: "Casa", tripID: trip.id))
    }
    let plan = try await newest(alice)
    let picture = alice.home.path + "/ticket.txt"
    try Files.replace(picture, with: Array("ticket".utf8))
    try await alice.run("attachment.add", fields("lodging=Casa", "file=\(picture)"))
    let refused = try await failure(alice, "undo", ["operation": plan])
    #expect(refused?.exitCode == ExitCode.needsYes)
    #expect(try await count(alice, "trips") == 1)
    #expect(try await count(alice, "lodging") == 1)
  }

  @Test func `an organization that is in use is kept`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha Air"))
    let add = try await newest(alice)
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("transportation.add", fields("trip=Rome", "name=Flight", "organization=Alpha Air"))
    let refused = try await failure(alice, "undo", ["operation": add])
    #expect(refused?.candidates == ["organization Alpha Air: used by 1 other record"])
    try await alice.run("undo", ["operation": add, "yes": true])
    #expect(try await alice.run("transportation.show", ["id": "Flight"])["organizationName"] == "None")
  }

  @Test func `an organization deleted by force comes back with its users`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha Air", "city=Roma"))
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("transportation.add", fields("trip=Rome", "name=Flight", "organization=Alpha Air"))
    try await alice.run("organization.delete", ["id": "Alpha Air", "force": true])
    try await alice.run("undo")
    #expect(try await alice.run("transportation.show", ["id": "Flight"])["organizationName"] == "Alpha Air")
    #expect(try await alice.run("organization.show", ["id": "Alpha Air"])["address"]?["city"] == "Roma")
  }

  @Test func `ticks, removed ticks and set days are undone`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("habit.add", fields("name=Water", "unitLabel=glasses"))
    func day() async throws -> [JSON?] {
      let preview = try await alice.run("entry.list", ["habit": "Water"])["entries"]?.array ?? []
      return preview.map { $0["value"] }.sorted { "\($0 as Any)" < "\($1 as Any)" }
    }
    let date: JSON = ["id": "Water", "value": "2", "date": "2026-05-03"]
    try await alice.run("habit.tick", date)
    try await alice.run("habit.tick", ["id": "Water", "value": "3", "date": "2026-05-03"])
    #expect(try await day() == [2, 3])
    try await alice.run("habit.set", ["id": "Water", "value": "9", "date": "2026-05-03"])
    #expect(try await day() == [9])
    try await alice.run("undo")
    #expect(try await day() == [2, 3])
    try await alice.run("habit.untick", ["id": "Water", "date": "2026-05-03"])
    #expect(try await day() == [])
    try await alice.run("undo")
    #expect(try await day() == [2, 3])
    try await alice.run("undo")
    #expect(try await day() == [2])
  }

  @Test func `a profile goes back to the previous one, as a whole, and forward again`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("profile.set", fields("name=Alice", "homeTimezone=Europe/Rome"))
    try await alice.run("profile.set", fields("name=Anna", "homeTimezone="))
    try await alice.run("undo")
    var profile = try await alice.run("profile.show")
    #expect([profile["name"], profile["homeTimezone"]] == ["Alice", "Europe/Rome"])
    try await alice.run("undo", ["operation": try await newest(alice)])
    profile = try await alice.run("profile.show")
    #expect([profile["name"], profile["homeTimezone"]] == ["Anna", .null])
    try await alice.run("undo")
    try await alice.run("undo")
    #expect(try await alice.run("profile.show")["name"] == .null)
    #expect(try await failure(alice, "undo")?.code == .nothingToUndo)
  }

  @Test func `a setting is restored, and so is one that was unset`() async throws {
    let alice = try await TestNode.founder("alice")
    func scheme() async throws -> JSON? {
      try await alice.run("settings.get", ["key": "colorScheme"])["value"]
    }
    try await alice.run("settings.set", ["key": "colorScheme", "value": "dark"])
    try await alice.run("settings.set", ["key": "colorScheme", "value": "light"])
    try await alice.run("settings.unset", ["key": "colorScheme"])
    for expected in ["light", "dark", "system"] {
      try await alice.run("undo")
      #expect(try await scheme() == .string(expected))
    }
  }

  @Test func `an operation in both lanes is undone in both`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.node.writeBoth("trip and setting")
    #expect(try await count(alice, "settings") == 1)
    let undone = try await alice.run("undo")
    #expect(undone["changes"]?.array?.map { $0["kind"] } == ["trip", "setting"])
    #expect(try await count(alice, "settings") == 0)
    #expect(try await count(alice, "trips") == 0)
    try await alice.run("undo", ["operation": try #require(undone["undo"])])
    #expect(try await count(alice, "settings") == 1)
    #expect(try await count(alice, "trips") == 1)
  }

  @Test func `an address entered with an organization is undone and redone with it`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha Air"))
    try await alice.run("organization.edit", fields("city=Roma", id: "Alpha Air"))
    func city() async throws -> JSON? {
      try await alice.run("organization.show", ["id": "Alpha Air"])["address"]?["city"]
    }
    try await alice.run("undo")
    #expect(try await city() == nil)
    try await alice.run("undo", ["operation": try await newest(alice)])
    #expect(try await city() == "Roma")
  }

  @Test func `a prefix of two operations lists both and changes nothing`() async throws {
    let alice = try await TestNode.founder("alice")
    // Of 17 ids, two begin with the same digit.
    for number in 1...17 { try await alice.run("trip.add", fields("name=Trip \(number)")) }
    let digits = Dictionary(grouping: try await ids(alice)) { String($0.prefix(1)) }
    let (digit, two) = try #require(digits.first { $0.value.count > 1 })
    let refused = try #require(try await failure(alice, "undo", ["operation": .string(digit)]))
    #expect(refused.exitCode == ExitCode.usage)
    #expect(refused.code == .ambiguous)
    #expect(refused.candidates.map { String($0.prefix(32)) }.sorted() == two.sorted())
    #expect(try await failure(alice, "undo", ["operation": "xyz"])?.code == .notFound)
    #expect(try await count(alice, "trips") == 17)
  }
}

extension Node {
  /// An operation that no command makes: with a record and a setting.
  fileprivate func writeBoth(_ name: String) throws {
    let trip = RecordKey(kind: KindNumbers.trip, id: RecordID(milliseconds: wall(), random: random16()))
    let draft = EntryDraft(.insert, trip, [(1, .text(name))])
    try core.write("test", [draft] + (try core.storedSettings.draft("colorScheme", .text("dark"))))
  }
}
