import Foundation
import JSONDocument
import Records
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Model
@testable import NodeOperations
@testable import Waymark

@Suite struct RecordTests {
  private func kept() async throws -> Node { try Node.inMemory(name: "alice") }

  @Test func `a record has a property for every field of its kind`() {
    func missing<Owner: Record>(_: Owner.Type) -> [String] {
      let properties = Set(Owner.fields.all.map(\.name))
      // Only imports and exports use the keys that Waymark does not know.
      return Owner.kind.fields.map(\.name).filter { !properties.contains($0) && $0 != "otherKeys" }
    }
    #expect(missing(Trip.self) == [])
    #expect(missing(Lodging.self) == [])
    #expect(missing(Transportation.self) == [])
    #expect(missing(Leg.self) == [])
    #expect(missing(Activity.self) == [])
    #expect(missing(Organization.self) == [])
    // The bytes of files are read by separate calls.
    #expect(missing(Attachment.self) == ["fileData"])
    #expect(missing(Habit.self) == [])
    #expect(missing(HabitCategory.self) == [])
    #expect(missing(HabitEntry.self) == [])
    #expect(missing(Profile.self) == ["avatar"])
  }

  @Test func `a record is read back as it was saved`() async throws {
    let alice = try await TestNode.founder("alice")
    let day = try #require(Day("2026-05-03"))
    let zone = try #require(TimeZone(identifier: "Europe/Rome"))
    let trip = try await alice.node.save(
      Trip(name: "Rome", startDate: day.noon(in: zone), endDate: nil, notes: "by train"))
    var hotel = Lodging(
      name: "Casa Rosa", tripID: trip.id, start: day.noon(in: zone), end: nil, zone: "Europe/Rome",
      cost: Money(Decimal(string: "120.55") ?? 0, "EUR"))
    hotel.payment = .deposit
    hotel.reservation = "K-17"
    let held = try await alice.node.save(hotel)
    #expect(held == hotel)
    #expect(try await alice.node.record(hotel.id) == hotel)
    #expect(trip.createdDate == Date(timeIntervalSince1970: Double(TestNode.morning) / 1_000))
    let shown = try await alice.run("lodging.show", ["id": "Casa Rosa"])
    #expect(shown["cost"]?["amount"]?.string == "120.55")
    #expect(shown["start"]?.string == "2026-05-03T12:00:00+02:00")
  }

  @Test func `every kind of record is read back as it was saved`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    var habit = Habit(
      name: "Water", counting: "glass", dailyTarget: 8, emoji: "💧",
      schedule: .days([.monday, .wednesday, .friday]))
    habit.reminders = [HabitReminder(hour: 8, minute: 30)]
    habit.place.location = Coordinate(latitude: 41.9, longitude: 12.5)
    habit.place.frequency = .everyEntry(cooldownMinutes: 30)
    habit.place.trigger = .both
    habit.priority = .high
    let held = try await node.save(habit)
    habit.startDate = held.startDate
    #expect(held == habit)
    var category = HabitCategory(key: "health", name: "Health", emoji: "🍎", order: 2)
    category.personalityWeights = ["drive": 1, "openness": 0.5]
    #expect(try await node.save(category) == category)
    let log = HabitEntry(
      habitID: habit.id, date: .now, zone: try #require(TimeZone(identifier: "Asia/Tokyo")))
    #expect(try await node.save(log) == log)
    var address = Address()
    (address.city, address.location) = ("Rome", Coordinate(latitude: 41.9, longitude: 12.5))
    #expect(try await node.save(address) == address)
    let organization = Organization(name: "Casa Rosa", addressID: address.id)
    #expect(try await node.save(organization) == organization)
    let trip = try await node.save(Trip(name: "Rome"))
    var train = Transportation(name: "Night train", tripID: trip.id, type: .train)
    train.organizationID = organization.id
    #expect(try await node.save(train) == train)
    var leg = Leg(
      transportationID: train.id, from: "Rome", to: "Milan", serviceNumber: "NT 40462", sortIndex: 0)
    (leg.type, leg.departure, leg.departureZone) = (
      .train, Date(milliseconds: 1_777_813_200_123), "Europe/Rome"
    )
    (leg.departureAddressID, leg.organizationID) = (address.id, organization.id)
    (leg.seatNumber, leg.cabinClass, leg.boardingGroup) = ("31", "first", "B")
    #expect(try await node.save(leg) == leg)
    #expect(try await node.records(Leg.all.filter(\.transportationID == train.id)) == [leg])
    #expect(try await node.save(Activity(name: "Colosseum", tripID: trip.id)).name == "Colosseum")
    var profile = try await node.profile()
    (profile.name, profile.displayZone) = ("Anna", .custom("Asia/Tokyo"))
    profile.zoneChanges = [
      Profile.ZoneChange(from: "Europe/Rome", to: "Asia/Tokyo", date: held.startDate ?? .now)
    ]
    let kept = try await node.save(profile)
    #expect((kept.name, kept.displayZone) == ("Anna", .custom("Asia/Tokyo")))
    #expect(kept.zoneChanges == profile.zoneChanges)
    #expect(kept.updatedDate != nil)
  }

  @Test func `saving writes what was changed since the record was read, and nothing else`() async throws {
    let alice = try await TestNode.founder("alice")
    let read = try await alice.node.save(Trip(name: "Rome", notes: "old"))
    var mine = read
    var other = read
    other.notes = "from elsewhere"
    _ = try await alice.node.save(other)
    mine.name = "Roma"
    let after = try await alice.node.save(mine)
    #expect((after.name, after.notes) == ("Roma", "from elsewhere"))
    let before = try await alice.run("status")["lanes"]?["records"]?["changeSets"]
    _ = try await alice.node.save(after)
    #expect(try await alice.run("status")["lanes"]?["records"]?["changeSets"] == before)
  }

  @Test func `an edit that starts from the result of saving can be reverted`() async throws {
    let node = try await kept()
    var trip = try await node.save(Trip(name: "Rome", startDate: .now, notes: "by train"))
    trip.notes = ""
    trip.startDate = nil
    trip = try await node.save(trip)
    #expect(trip.notes == "" && trip.startDate == nil)
    // A form that saves while the user types and reverts everything.
    for name in ["Rom", "Roma", "Rome"] {
      trip.name = name
      trip = try await node.save(trip)
      #expect(try await node.record(trip.id)?.name == name)
    }
  }

  @Test func `an update reads, edits and saves in one step`() async throws {
    let node = try await kept()
    let trip = try await node.save(Trip(name: "Rome", startDate: .now, notes: "by train"))
    try await node.update(trip.id) { $0.notes = "" }
    try await node.update(trip.id) { $0.startDate = nil }
    for name in ["Rom", "Roma", "Rome"] {
      let saved = try await node.update(trip.id) { $0.name = name }
      #expect(saved.name == name && saved.notes == "" && saved.startDate == nil)
    }
    #expect(try await node.history(limit: 1).first?.verb == "trip.edit")
    #expect(try await node.update(Profile.only) { $0.name = "Anna" }.name == "Anna")
    #expect(try await node.profile().name == "Anna")
    struct Doubt: Error {}
    await #expect(throws: Doubt.self) {
      try await node.update(trip.id) { trip in
        trip.name = "Oslo"
        throw Doubt()
      }
    }
    #expect(try await node.record(trip.id)?.name == "Rome")
    try await node.delete(trip)
    #expect(
      try await refusal { try await node.update(trip.id) { $0.name = "Oslo" } } == "not_found")
    #expect(try await node.count(Trip.all) == 0)
  }

  @Test func `an update within a change edits the values stored at that time, or nothing is written`()
    async throws
  {
    let node = try await kept()
    let trip = try await node.save(Trip(name: "Rome", notes: "by train"))
    try await node.update(trip.id) { $0.name = "Roma" }
    let operation = try await node.change("app.plan") { changes in
      changes.update(trip.id) { $0.notes = $0.name == "Roma" ? "" : "read too early" }
      changes.update(Profile.only) { $0.name = "Anna" }
      changes.save(Lodging(name: "Casa Rosa", tripID: trip.id))
    }
    #expect(try await node.record(trip.id)?.notes == "")
    #expect(try await (node.profile().name, node.count(Lodging.all)) == ("Anna", 1))
    try await node.undo(try #require(operation))
    let before = try await node.record(trip.id)
    #expect((before?.name, before?.notes) == ("Roma", "by train"))
    let refused = try await refusal {
      try await node.change { changes in
        changes.update(trip.id) { $0.name = "Oslo" }
        changes.update(Trip.ID.new()) { $0.name = "Oslo" }
      }
    }
    #expect(refused == "not_found")
    #expect(try await node.record(trip.id)?.name == "Roma")
  }

  @Test func `the profile can't be deleted`() async throws {
    let node = try await kept()
    let profile = try await node.update(Profile.only) { $0.name = "Anna" }
    #expect(try await refusal { try await node.delete(profile) } == "usage")
    #expect(try await node.profile().name == "Anna")
    #expect(try await node.history(limit: 5).map(\.verb) == ["profile.edit"])
  }

  @Test func `several changes are one change set and one undo`() async throws {
    let alice = try await TestNode.founder("alice")
    let old = try await alice.node.save(Trip(name: "Oslo"))
    func sets() async throws -> JSON? { try await alice.run("status")["lanes"]?["records"]?["changeSets"] }
    let before = try await sets()?.integer ?? 0
    let trip = Trip(name: "Rome")
    let operation = try await alice.node.change("app.plan") { changes in
      changes.save(Lodging(name: "Casa Rosa", tripID: trip.id))
      changes.save(trip)
      changes.delete(old)
    }
    #expect(try await sets()?.integer == before + 1)
    #expect(try await alice.node.records(Trip.all).map(\.name) == ["Rome"])
    try await alice.node.undo(try #require(operation))
    #expect(try await alice.node.records(Trip.all).map(\.name) == ["Oslo"])
  }

  @Test func `records of several kinds are saved at once, and returned for further changes`() async throws {
    let node = try await kept()
    let rome = Trip(name: "Rome")
    var (trip, hotel, ride) = try await node.save(
      rome, Lodging(name: "Casa Rosa", tripID: rome.id), Transportation(name: "Train", tripID: rome.id))
    #expect(try await node.history().map(\.verb) == ["app.change"])
    #expect(trip.createdDate != nil && (hotel.tripID, ride.tripID) == (trip.id, trip.id))
    var elsewhere = trip
    elsewhere.notes = "By night"
    _ = try await node.save(elsewhere)
    trip.name = "Roma"
    (trip, hotel) = try await node.save(trip, hotel)
    // Only changes since it was returned are written.
    #expect((trip.name, trip.notes) == ("Roma", "By night"))
    ride.name = ""
    hotel.name = "Casa"
    let (refused, fine) = (ride, hotel)
    await #expect(throws: WaymarkError.self) { _ = try await node.save(fine, refused) }
    #expect(try await node.record(hotel.id)?.name == "Casa Rosa")
  }

  @Test func `an invalid record is named, and nothing is written`() async throws {
    let alice = try await TestNode.founder("alice")
    func code(_ body: (Node) async throws -> Void) async -> String? {
      do {
        try await body(alice.node)
        return nil
      } catch let error as WaymarkError {
        return error.code.rawValue
      } catch {
        return "\(error)"
      }
    }
    #expect(await code { _ = try await $0.save(Trip(name: "")) } != nil)
    #expect(await code { _ = try await $0.save(Organization(name: "None")) } == "bad_value")
    #expect(await code { _ = try await $0.save(Lodging(name: "Casa", tripID: .new())) } == "not_found")
    var habit = Habit(name: "Water")
    habit.colorHex = "blue"
    let bad = habit
    #expect(await code { _ = try await $0.save(bad) } == "bad_value")
    for number in [Double.nan, .infinity, -.infinity] {
      var (category, habit) = (HabitCategory(key: "health", name: "Health"), Habit(name: "Water"))
      category.personalityWeights = ["openness": number]
      habit.place.location = Coordinate(latitude: 41.9, longitude: number)
      let (weighed, placed) = (category, habit)
      #expect(await code { _ = try await $0.save(weighed) } == "bad_value")
      #expect(await code { _ = try await $0.save(placed) } == "bad_value")
    }
    #expect(
      await code { node in
        try await node.change { changes in
          changes.save(Trip(name: "Rome"))
          changes.save(bad)
        }
      } == "bad_value")
    #expect(try await alice.node.records(Trip.all).isEmpty)
    let organization = try await alice.node.save(Organization(name: "Casa Rosa"))
    let trip = try await alice.node.save(Trip(name: "Rome"))
    var hotel = Lodging(name: "Casa", tripID: trip.id)
    hotel.organizationID = organization.id
    _ = try await alice.node.save(hotel)
    #expect(await code { try await $0.delete(organization) } == "in_use")
    #expect(await code { try await $0.delete(Organization(id: Organization.noneID)) } == "usage")
    #expect(await code { try await $0.delete(organization, isForced: true) } == nil)
  }

  @Test func `there is one profile, and one category per key`() async throws {
    let node = try await kept()
    var profile = Profile(id: .new())
    profile.name = "Eve"
    let saved = try await node.save(profile)
    #expect(saved.id == Profile.only && profile.id == Profile.only)
    #expect(try await node.profile().name == "Eve")
    await #expect(throws: WaymarkError.self) { _ = try await node.save(HabitCategory(id: .new())) }
    _ = try await node.save(HabitCategory(key: "health", name: "Health"))
    _ = try await node.save(HabitCategory(key: "health", name: "Body"))
    #expect(try await node.records(HabitCategory.all).map(\.name) == ["Body"])
  }

  @Test
  func `amounts in text are exact, labels have a maximum length, and several records are saved at once`()
    async throws
  {
    let node = try await kept()
    #expect(try Money(exactly: "33.33", "EUR").amount.description == "33.33")
    for text in ["one", "1,5"] {
      #expect { try Money(exactly: text, "EUR") } throws: { ($0 as? WaymarkError)?.code == .badValue }
    }
    let label = String(repeating: "x", count: 33)
    await #expect(throws: WaymarkError.self) { try await node.change(label) { $0.save(Trip(name: "Rome")) } }
    #expect(try await node.count(Trip.all) == 0)
    let trips = try await node.save([Trip(name: "Rome"), Trip(name: "Oslo")])
    let operation = try await node.delete(trips)
    #expect(try await node.count(Trip.all) == 0)
    try await node.undo(try #require(operation))
    #expect(try await node.count(Trip.all) == 2)
  }

  @Test func `a deleted record is restored with its children`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    _ = try await alice.node.save(Lodging(name: "Casa", tripID: trip.id))
    try await alice.node.delete(trip)
    #expect(try await alice.node.records(Lodging.all).isEmpty)
    #expect(try await alice.node.restore(trip.id) == trip)
    #expect(try await alice.node.count(Lodging.all) == 1)
  }

  @Test func `a closed node reports that it is closed`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    await alice.close()
    let calls: [@Sendable (Node) async throws -> Void] = [
      { _ = try await $0.save(trip) }, { _ = try await $0.save([trip]) }, { try await $0.delete(trip) },
      { try await $0.restore(trip.id) }, { _ = try await $0.records(Trip.all) },
      { _ = try await $0.profile() }, { _ = try await $0.avatar() }, { try await $0.setAvatar(nil) },
      { try await $0.addEntry(to: .new()) }, { try await $0.setTotal(1, of: .new()) },
      { try await $0.attach(Data(), named: "x", to: .lodging(.new())) },
      { _ = try await $0.data(of: Attachment(id: .new())) },
    ]
    for (index, call) in calls.enumerated() {
      await #expect(throws: WaymarkError.self, "\(index)") { try await call(alice.node) }
    }
    try await within("the end of a watch of a closed node") {
      for await _ in alice.node.watch(Trip.all) { Issue.record("a closed node delivered a value") }
    }
  }
}
