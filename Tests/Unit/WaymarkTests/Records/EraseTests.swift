import Foundation
import JSONDocument
import Reasons
import Records
import Replication
import Storage
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// Erasing records, single fields and the trash, through the library and the commands.
struct EraseTests {
  /// A node with a trip that has notes and a lodging.
  private func rome() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome", "notes=secret"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    return alice
  }

  private func id(_ node: TestNode, _ kind: String, _ name: String) async throws -> JSON {
    try #require(try await node.run("\(kind).show", ["id": .string(name)])["id"])
  }

  /// Erases the records with these names, with a yes.
  @discardableResult
  private func erase(_ node: TestNode, _ names: String..., force: Bool = false) async throws -> JSON {
    try await node.run(
      "erase", ["records": .array(names.map(JSON.string)), "force": .bool(force), "yes": true])
  }

  @discardableResult
  private func eraseField(_ node: TestNode, _ field: String, of name: String) async throws -> JSON {
    try await node.run("erase", ["records": [.string(name)], "field": .string(field), "yes": true])
  }

  private func refusal(_ node: TestNode, _ arguments: JSON) async throws -> WaymarkError? {
    var arguments = arguments
    arguments["yes"] = true
    return try await failure(node, "erase", arguments)
  }

  // MARK: Records

  @Test func `an erase takes a record with everything in it, visible or deleted`() async throws {
    let alice = try await rome()
    let trip = try await id(alice, "trip", "Rome")
    try await alice.run("activity.add", fields("trip=Rome", "name=Forum"))
    try await alice.run("activity.delete", ["id": "Forum"])
    try await alice.run("trip.add", fields("name=Oslo"))
    let erased = try await erase(alice, "Rome")
    let records = try #require(erased["records"]?.array)
    #expect(Set(records.map { $0["name"] }) == ["Rome", "Casa", "Forum"])
    #expect(records[0]["name"] == "Rome" && records[0]["with"] == .null && records[0]["deleted"] == false)
    let forum = records.first { $0["name"] == "Forum" }
    #expect(forum?["deleted"] == true && forum?["with"]?["name"] == "Rome")
    #expect(erased["preview"] == false && erased["operation"] != .null && erased["devices"] == [])
    let counts = try await alice.run("status")["counts"]
    #expect(counts?["trips"] == 1 && counts?["lodging"] == 0)
    // Nothing is left in the trash.
    #expect(try await alice.run("trash.list")["items"] == [])
    #expect(try await alice.run("trip.list", ["deleted": true])["trips"] == [])
    let newest = try await alice.run("history")["operations"]?[0]
    #expect(newest?["verb"] == "erase" && newest?["id"] == erased["operation"])
    let history = try await alice.run("history", ["record": trip])
    #expect(["Rome", "secret"].allSatisfy { !history.text().contains($0) })
    await alice.close()
  }

  @Test func `a preview and an erase without a yes leave everything as it is`() async throws {
    let alice = try await rome()
    let preview = try await alice.run("erase", ["records": ["Rome"], "preview": true, "yes": true])
    #expect(preview["records"]?.array?.count == 2)
    #expect(preview["preview"] == true && preview["operation"] == .null)
    let refused = try #require(try await failure(alice, "erase", ["records": ["Rome"]]))
    #expect(refused.exitCode == ExitCode.needsYes && refused.code == .needsYes)
    #expect(refused.message.description.contains("trip “Rome” and 1 record that belongs to it"))
    #expect(refused.candidates.count == 2)
    #expect(refused.next?.description == "waymark erase Rome --preview, then waymark erase Rome --yes")
    #expect(try await alice.run("status")["counts"]?["trips"] == 1)
    #expect(try await alice.run("history")["operations"]?.array?.count == 2)
    await alice.close()
  }

  @Test func `the library erases and previews without names`() async throws {
    let alice = try await TestNode.founder("alice")
    let trips = try await alice.node.save([Trip(name: "Rome"), Trip(name: "Oslo")])
    let preview = try await alice.node.erasePreview(of: trips)
    #expect(preview.isPreview && preview.records.map(\.name).count == 2 && preview.operation == nil)
    #expect(preview.confirmation == "2")
    let erased = try await alice.node.erase(trips[0])
    #expect(erased.records.map(\.id) == [trips[0].id.uuid] && erased.confirmation == "Rome")
    #expect(try await alice.node.records(Trip.all).map(\.name) == ["Oslo"])
    #expect(try await alice.node.deleted(Trip.self).isEmpty)
    let again = try await errorCode { try await alice.node.erase(trips[0]) }
    #expect(again == .erased, "nothing is left to erase")
    var old = trips[0]
    old.notes = "By night train"
    let late = try await errorCode { _ = try await alice.node.save(old) }
    #expect(late == .erased, "an old copy does not come back with its edited fields alone")
    #expect(try await alice.node.records(Trip.all).map(\.name) == ["Oslo"])
    let unknown = try await errorCode { try await alice.node.erase(Trip(name: "Lima")) }
    #expect(unknown == .notFound)
    await alice.close()
  }

  @Test func `None and a profile that was never filled in can't be erased`() async throws {
    let alice = try await TestNode.founder("alice")
    for name in ["None", "profile"] {
      let refused = try await refusal(alice, ["records": [.string(name)]])
      #expect(refused?.exitCode == ExitCode.usage && refused?.code == .usage, "\(name)")
    }
    #expect(try await refusal(alice, ["records": ["None"], "field": "phone"])?.code == .usage)
    await alice.close()
  }

  @Test func `erasing the profile leaves an empty one that can be filled in again`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("profile.set", fields("name=Anna", "homeTimezone=Europe/Rome"))
    try await alice.run("profile.set", fields("name=Annina"))
    try await erase(alice, "profile")
    let profile = try await alice.run("profile.show")
    #expect(profile["name"] == .null && profile["homeTimezone"] == .null)
    let history = try await alice.run("history", ["record": "profile"])
    #expect(["Anna", "Annina"].allSatisfy { !history.text().contains($0) })
    #expect(try await alice.run("history")["operations"]?[0]?["counts"]?[0]?["changed"] == 1)
    try await alice.run("profile.set", fields("name=Ann"))
    #expect(try await alice.run("profile.show")["name"] == "Ann")
    await alice.close()
  }

  @Test func `a setting is erased like a record`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("settings.set", ["key": "mood", "value": "gloomy"])
    try await erase(alice, "mood")
    #expect(try await failure(alice, "settings.get", ["key": "mood"])?.code == .notFound)
    await alice.close()
  }

  @Test func `an organization or category in use is only erased by force or with its users`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("organization.add", fields("name=Alpha", "city=Roma"))
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa", "organization=Alpha"))
    try await alice.run("category.add", fields("name=Health"))
    try await alice.run("habit.add", fields("name=Run", "categoryId=Health"))
    for name in ["Alpha", "Health"] {
      let refused = try await refusal(alice, ["records": [.string(name)]])
      #expect(refused?.exitCode == ExitCode.needsYes && refused?.code == .inUse, "\(name)")
      #expect(refused?.candidates.count == 1)
      #expect(refused?.next?.description == "waymark erase \(name) --force")
    }
    try await erase(alice, "Health", force: true)
    try await erase(alice, "Alpha", "Rome")
    #expect(try await alice.run("organization.list")["organizations"]?.array?.count == 1)
    // The address is erased with its organization.
    let addresses = try await alice.node.values(of: Kind.address)
    #expect(addresses.allSatisfy(\.isEmpty) && addresses.count == 1)
    await alice.close()
  }

  // MARK: Files

  @Test func `a file stays as long as another record names it`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    let hotel = try await alice.node.save(Lodging(name: "Casa", tripID: trip.id))
    let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let first = try await alice.node.attach(bytes, named: "a.pdf", to: .lodging(hotel.id))
    let second = try await alice.node.attach(bytes, named: "b.pdf", to: .lodging(hotel.id))
    try await alice.node.erase(first)
    #expect(try await alice.node.data(of: second) == bytes)
    try await alice.node.eraseData(of: second)
    let data = Kind.attachment.number("fileData")
    #expect(
      try await alice.node.values(of: Kind.attachment).allSatisfy { $0[data].map { $0 == .null } ?? true }
    )
    // The attachment stays, without content.
    #expect(try await alice.node.record(second.id)?.fileName == "b.pdf")
    #expect(try await alice.node.fileState(of: second) == .nowhere)
    let refused = await #expect(throws: WaymarkError.self) { try await alice.node.data(of: second) }
    #expect(refused?.code == .noContent && refused?.message.description == "This attachment has no content.")
    let refusedFetch = await #expect(throws: WaymarkError.self) {
      for try await state in alice.node.fetch(second) { Issue.record("\(state)") }
    }
    #expect(refusedFetch?.code == .noContent)
    // The same bytes can be attached again.
    let third = try await alice.node.attach(bytes, named: "c.pdf", to: .lodging(hotel.id))
    #expect(try await alice.node.data(of: third) == bytes)
    await alice.close()
  }

  // MARK: One field

  @Test func `erasing a field keeps the other values, and no earlier value of any field`() async throws {
    let alice = try await rome()
    try await alice.run("trip.edit", fields("name=Roma", "notes=public", id: "Rome"))
    let erased = try await eraseField(alice, "notes", of: "Roma")
    #expect(erased["field"] == "notes" && erased["records"]?.array?.count == 1)
    let trip = try await alice.run("trip.show", ["id": "Roma"])
    #expect(trip["name"] == "Roma" && trip["notes"] == .null && trip["isProtected"] == false)
    #expect(try await alice.run("lodging.show", ["id": "Casa"])["tripName"] == "Roma")
    let history = try await alice.run("history", ["record": "Roma"])
    #expect(["Rome\"", "secret", "public"].allSatisfy { !history.text().contains($0) }, "\(history.text())")
    #expect(history["record"]?["erasure"]?["deviceName"] == "alice")
    let first = try #require(history["writes"]?.array?.last?["fields"]?.array)
    let values = first.filter { $0["field"] != "life" }
    #expect(!values.isEmpty && values.allSatisfy { $0["value"] == .null && $0["erased"] == true })
    #expect(try await alice.run("history")["operations"]?[0]?["counts"]?[0]?["changed"] == 1)
    await alice.close()
  }

  @Test func `a field of a deleted record is erased in the trash`() async throws {
    let alice = try await rome()
    try await alice.run("trip.delete", ["id": "Rome"])
    try await eraseField(alice, "notes", of: "Rome")
    #expect(try await alice.run("status")["counts"]?["trips"] == 0)
    try await alice.run("trip.restore", ["id": "Rome"])
    let trip = try await alice.run("trip.show", ["id": "Rome"])
    #expect(trip["name"] == "Rome" && trip["notes"] == .null)
    await alice.close()
  }

  @Test func `a field of the profile and one of an address are erased alone`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("profile.set", fields("name=Anna", "homeTimezone=Europe/Rome"))
    try await eraseField(alice, "homeTimezone", of: "profile")
    let profile = try await alice.run("profile.show")
    #expect(profile["name"] == "Anna" && profile["homeTimezone"] == .null)
    try await alice.run("organization.add", fields("name=Alpha", "city=Roma", "street=Via Appia 1"))
    try await eraseField(alice, "street", of: "Alpha")
    let address = try await alice.run("organization.show", ["id": "Alpha"])["address"]
    #expect(address?["city"] == "Roma" && address?["street"] == .null)
    await alice.close()
  }

  @Test func `a field that the kind lacks or needs is refused`() async throws {
    let alice = try await rome()
    let unknown = try await refusal(alice, ["records": ["Rome"], "field": "smell"])
    #expect(unknown?.code == .unknownField)
    #expect(unknown?.message.description.hasPrefix("A trip has no field smell: it has name, notes") == true)
    let needed = try await refusal(alice, ["records": ["Rome"], "field": "name"])
    #expect(
      needed?.code == .usage && needed?.message.description.hasPrefix("Every trip needs `name`") == true)
    #expect(needed?.next?.description == "waymark trip edit Rome name=VALUE")
    let two = try await refusal(alice, ["records": ["Rome", "Casa"], "field": "notes"])
    #expect(two?.code == .usage)
    #expect(try await alice.run("trip.show", ["id": "Rome"])["notes"] == "secret")
    await alice.close()
  }

  @Test func `a field is not erased while a conflict about another one would be lost`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome", "notes=secret"))
    try await circle.apart {
      try await circle.run("alice", "trip.edit", fields("name=Roma", id: "Rome"))
      try await circle.run("bob", "trip.edit", fields("name=Rom", id: "Rome"))
    }
    let name = try #require(try await circle.run("alice", "trip.list")["trips"]?[0]?["name"])
    let arguments: JSON = ["records": [name], "field": "notes", "yes": true]
    do {
      try await circle.run("alice", "erase", arguments)
      Issue.record("the erase was not refused")
    } catch let refused as WaymarkError {
      #expect(refused.code == .conflicts && refused.next?.description == "waymark conflicts")
    }
    let conflict = try #require(try await circle.run("alice", "conflicts.list")["conflicts"]?[0]?["id"])
    try await circle.run("alice", "conflicts.resolve", ["id": conflict, "take": "winner"])
    try await circle.run("alice", "erase", arguments)
    #expect(try await circle.run("alice", "trip.list")["trips"]?[0]?["notes"] == .null)
  }

  // MARK: The trash

  @Test func `the trash lists all kinds and is emptied by age`() async throws {
    let now = Wall(TestNode.morning)
    let alice = try await TestNode.founder("alice", wall: { now.value })
    let day: Int64 = 86_400_000
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("lodging.add", fields("trip=Rome", "name=Casa"))
    try await alice.run("trip.delete", ["id": "Rome"])
    now.value += 40 * day
    try await alice.run("habit.add", fields("name=Run"))
    try await alice.run("habit.delete", ["id": "Run"])
    let listed = try #require(try await alice.run("trash.list")["items"]?.array)
    #expect(listed.map { $0["kind"] } == ["habit", "trip", "lodging"])
    #expect(listed.map { $0["hiddenBy"]?["name"] ?? .null } == [.null, .null, "Rome"])
    #expect(listed.allSatisfy { $0["deletedByName"] == "alice" })

    let month: JSON = .integer(30 * day)
    let refused = try await failure(alice, "trash.empty", ["olderThanMilliseconds": month])
    #expect(refused?.code == .needsYes)
    #expect(
      refused?.next?.description
        == "waymark trash empty --older-than 30d --preview, then waymark trash empty --older-than 30d --yes")
    let emptied = try await alice.run("trash.empty", ["olderThanMilliseconds": month, "yes": true])
    #expect(emptied["records"]?.array?.map { $0["name"] } == ["Rome", "Casa"])
    #expect(try await alice.run("trash.list")["items"]?.array?.map { $0["name"] } == ["Run"])
    let rest = try await alice.run("erase", ["trash": true, "yes": true])
    #expect(rest["records"]?.array?.map { $0["name"] } == ["Run"])
    #expect(try await alice.run("history")["operations"]?[0]?["verb"] == "trash.empty")
    // An empty trash needs no yes, and nothing is written.
    let nothing = try await alice.run("trash.empty")
    #expect(nothing["records"] == [] && nothing["operation"] == .null)
    await alice.close()
  }

  @Test func `an age without the trash is refused, and so are records with it`() async throws {
    let alice = try await rome()
    #expect(try await refusal(alice, [:])?.code == .usage)
    #expect(try await refusal(alice, ["records": ["Rome"], "olderThanMilliseconds": 1])?.code == .usage)
    #expect(try await refusal(alice, ["records": ["Rome"], "trash": true])?.code == .usage)
    await alice.close()
  }

  // MARK: Afterwards

  @Test func `a restore says that the values were erased, when and by whom`() async throws {
    let alice = try await rome()
    let trip = try await id(alice, "trip", "Rome")
    try await erase(alice, "Rome")
    let refused = try #require(try await failure(alice, "trip.restore", ["id": trip]))
    #expect(refused.code == .erased)
    #expect(
      refused.message.description.contains("erased on 2026-05-03")
        && refused.message.description.contains("by alice"))
    let tripID = try #require(trip.string.flatMap { Trip.ID($0) })
    #expect(try await errorCode { _ = try await alice.node.restore(tripID) } == .erased)
    await alice.close()
  }

  @Test func `an undo never writes null in place of an erased value`() async throws {
    let alice = try await rome()
    try await alice.run("trip.edit", fields("notes=public", id: "Rome"))
    let edit = try #require(try await alice.run("history")["operations"]?[0]?["id"])
    // There is no start date, so the erase takes only earlier values.
    try await eraseField(alice, "startDate", of: "Rome")
    let preview = try await alice.run("undo", ["operation": edit, "preview": true])
    let left = try #require(preview["left"]?[0])
    #expect(left["reason"] == "erased" && left["fields"] == ["notes"] && left["byName"] == "alice")
    for isForced in [false, true] {
      let refused = try await failure(alice, "undo", ["operation": edit, "yes": .bool(isForced)])
      #expect(refused?.code == .erased, "forced: \(isForced)")
    }
    #expect(try await failure(alice, "undo")?.code == .erased, "nor is the erase of the field undone")
    #expect(try await alice.run("trip.show", ["id": "Rome"])["notes"] == "public")
    await alice.close()
  }

  @Test func `a restore and the undo of an erase are refused with the same sentence`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome", "notes=secret"))
    let trip = try await id(alice, "trip", "Rome")
    try await erase(alice, "Rome")
    let undo = try #require(try await failure(alice, "undo"))
    let restore = try #require(try await failure(alice, "trip.restore", ["id": trip]))
    #expect(undo.code == .erased && undo.message == restore.message)
    #expect(try await failure(alice, "undo", ["yes": true])?.code == .erased)
    #expect(try await alice.run("trip.list", ["deleted": true])["trips"] == [])
    await alice.close()
  }

  @Test func `the undo of an operation that erased some of its records skips them, and says so`() async throws
  {
    let alice = try await rome()
    let keys = try await alice.node.keys(of: [Kind.trip, Kind.lodging])
    let operation = try await alice.node.writeTogether([
      EntryDraft(.put, keys[0], [(2, .text("public"))]), EntryDraft(.erase, keys[1]),
    ])
    let undone = try await alice.run("undo", ["operation": .string(operation)])
    #expect(undone["left"]?.array?.map { $0["reason"] } == ["erased"])
    #expect(undone["left"]?[0]?["fields"] == [] && undone["left"]?[0]?["kind"] == "lodging")
    #expect(try await alice.run("trip.show", ["id": "Rome"])["notes"] == "secret")
    #expect(try await alice.run("lodging.list")["lodgings"] == [])
    await alice.close()
  }

  @Test func `a setting that was unset is not in the trash`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("settings.set", ["key": "app.color", "value": "blue"])
    try await alice.run("settings.unset", ["key": "app.color"])
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("trip.delete", ["id": "Rome"])
    #expect(try await alice.run("trash.list")["items"]?.array?.map { $0["name"] } == ["Rome"])
    let emptied = try await alice.run("trash.empty", ["yes": true])
    #expect(emptied["records"]?.array?.map { $0["kind"] } == ["trip"])
    await alice.close()
  }

  // MARK: Mass erases

  @Test func `a mass erase by another device is held, and a revocation with a cut before it brings all back`()
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    for number in 1...30 { try await circle.run("alice", "trip.add", fields("name=Trip \(number)")) }
    try await circle.until("bob has all trips") {
      try await circle.run("bob", "trip.list")["trips"]?.array?.count == 30
    }
    let trips = try await circle.run("bob", "trip.list")["trips"]?.array ?? []
    let ids = trips.prefix(22).compactMap { $0["id"] }
    let erased = try await circle.run("bob", "erase", ["records": .array(ids), "yes": true])
    #expect(erased["heldElsewhere"] == true)
    try await circle.until("alice has folded the erase") {
      try await circle.run("alice", "trip.list")["trips"]?.array?.count == 8
    }
    let notices = try await circle.run("alice", "status")["notices"]?.array ?? []
    let notice = try #require(notices.first { $0["reason"] == "mass_erase" })
    #expect(notice["deviceName"] == "bob" && notice["erased"]?[0]?["count"] == 22)
    #expect(notice["next"]?.string == "waymark revoke bob --before-erase")
    #expect(!notices.contains { $0["reason"] == "mass_delete" })
    let refused = try #require(try await circle.failure("alice", "trip.restore", ["id": ids[0]]))
    #expect(refused.code == .erased && refused.next?.description == "waymark revoke bob --before-erase")
    try await circle.run("alice", "revoke", ["device": ["bob"], "beforeErase": true, "yes": true])
    try await circle.until("the trips are back") {
      try await circle.run("alice", "trip.list")["trips"]?.array?.count == 30
    }
    let after = try await circle.run("alice", "status")["notices"]?.array ?? []
    #expect(!after.contains { $0["reason"] == "mass_erase" })
  }

  @Test func `a revocation before an erase is refused if this device keeps no erased values`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let refused = try #require(
      try await circle.failure("alice", "revoke", ["device": ["bob"], "beforeErase": true, "yes": true]))
    #expect(refused.code == .notFound && refused.next?.description == "waymark revoke bob")
  }

  @Test func `why says that a value was erased`() async throws {
    let alice = try await rome()
    let trip = try await id(alice, "trip", "Rome")
    try await erase(alice, "Rome")
    let why = try await alice.run("why", ["subject": trip])
    #expect(why["record"]?["erasure"]?["deviceName"] == "alice")
    let notes = why["values"]?.array?.first { $0["field"] == "notes" }
    #expect(notes?["written"]?["erased"] == true && notes?["written"]?["value"] == .null)
    await alice.close()
  }

  // MARK: Where it is

  @Test func `backups that hold the values are listed, later ones are not`() async throws {
    let alice = try await rome()
    let first = try await alice.node.withCore { try await $0.backUp(before: "first") }
    try await alice.run("trip.add", fields("name=Oslo"))
    let second = try await alice.node.withCore { try await $0.backUp(before: "second") }
    let both = try await alice.run("erase", ["records": ["Rome"], "preview": true])
    #expect(Set(both["backups"]?.array?.map { $0["path"]?.string } ?? []) == [first, second])
    let late = try await alice.run("erase", ["records": ["Oslo"], "preview": true])
    #expect(late["backups"]?.array?.map { $0["path"]?.string } == [second])
    let notes = try await eraseField(alice, "notes", of: "Rome")
    #expect(notes["backups"]?.array?.count == 2)
    // Now only the set of the erase holds values of the trip.
    let third = try await alice.node.withCore { try await $0.backUp(before: "third") }
    let again = try await alice.run("erase", ["records": ["Rome"], "field": "notes", "preview": true])
    #expect(again["backups"]?.array?.map { $0["path"]?.string } == [third])
    await alice.close()
  }

  @Test func `devices that hold the values are listed, and status names those that have not erased them`()
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome", "notes=secret"))
    let id = try #require(try await circle.run("alice", "trip.list")["trips"]?[0]?["id"])
    try await circle.apart {
      let erased = try await circle.run("alice", "erase", ["records": ["Rome"], "yes": true])
      #expect(erased["devices"]?.array?.map { $0["name"] } == ["bob"])
      #expect(erased["devices"]?[0]?["erased"] == false)
      let notices = try await circle.run("alice", "status")["notices"]?.array ?? []
      let unheard = try #require(notices.first { $0["reason"] == "erase_unheard" })
      #expect(unheard["notErased"]?.array?.map { $0["name"] } == ["bob"] && unheard["records"] == 1)
      #expect(
        unheard["text"]?.string?.hasPrefix("bob has not erased yet 1 record that was erased here on") == true)
      #expect(try await circle.run("bob", "trip.show", ["id": id])["notes"] == "secret")
    }
    try await circle.until("alice knows that bob has erased it") {
      let notices = try await circle.run("alice", "status")["notices"]?.array ?? []
      return !notices.contains { $0["reason"] == "erase_unheard" }
    }
    #expect(try await circle.run("bob", "trip.list")["trips"] == [])
    #expect(try await circle.run("bob", "trash.list")["items"] == [])
    let history = try await circle.run("bob", "history", ["record": id])
    #expect(history["record"]?["erasure"]?["deviceName"] == "alice")
    #expect(!history.text().contains("secret"))
  }

  @Test func `an edit made without having received the erase is kept, and can be erased in its turn`()
    async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    try await circle.run("alice", "trip.add", fields("name=Rome", "notes=secret"))
    try await circle.apart {
      try await circle.run("alice", "erase", ["records": ["Rome"], "yes": true])
      try await circle.run("bob", "trip.edit", fields("notes=later", id: "Rome"))
    }
    let listed = try await circle.run("alice", "trash.list")["items"]?.array
    let id = try #require(listed?.first?["id"])
    let conflict = try await circle.run("alice", "conflicts.list")["conflicts"]?[0]
    #expect(conflict?["reason"] == "edit-lost-to-delete")
    try await circle.run("alice", "erase", ["records": [id], "yes": true])
    #expect(try await circle.run("alice", "trash.list")["items"] == [])
    #expect(try await circle.run("alice", "conflicts.list")["conflicts"] == [])
  }
}

/// The code of the error that a call throws; nil if it succeeds.
private func errorCode(_ body: () async throws -> Void) async throws -> Reason? {
  do {
    try await body()
    return nil
  } catch let error as WaymarkError {
    return error.reason
  }
}

extension Node {
  /// The keys of the first visible record of each kind.
  func keys(of kinds: [Kind]) throws -> [RecordKey] {
    try kinds.compactMap { try store.visible($0).first?.key }
  }

  /// Writes one operation, and returns its id.
  func writeTogether(_ drafts: [EntryDraft]) throws -> String {
    "\(try core.write("test", drafts))"
  }

  /// The values of each record of a kind, visible or not.
  func values(of kind: Kind) throws -> [[FieldNumber: Value]] {
    var query = RecordQuery(kind.number)
    query.visibleOnly = false
    return try store.records(query).map(\.allFields)
  }
}
