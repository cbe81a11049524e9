import Foundation
import Testing
import WaymarkKinds
import WaymarkTesting

@testable import Model
@testable import Waymark

@Suite struct RecordCodingTests {
  private let node: Node

  init() throws { node = try Node.inMemory(name: "alice", schema: .packing) }

  /// Returns what a value is after it was encoded as JSON, and then as a property list.
  private func decoded<Value: Codable>(_ value: Value) throws -> Value {
    let value = try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    return try PropertyListDecoder().decode([Value].self, from: PropertyListEncoder().encode([value]))[0]
  }

  @Test func `every kind of record is decoded as it was encoded`() async throws {
    let morning = Date(timeIntervalSince1970: 1_777_730_400.25)
    var trip = Trip(name: "Rome ✈︎", startDate: morning, notes: "by\ttrain")
    trip.isProtected = true
    #expect(try decoded(trip) == trip)
    var hotel = try Lodging(
      name: "Casa Rosa", tripID: trip.id, start: morning, end: nil, zone: "Europe/Rome",
      cost: Money(exactly: "1234567890123456789.05", "EUR"))
    (hotel.payment, hotel.addressID) = (.deposit, .new())
    #expect(try decoded(hotel) == hotel)
    let train = Transportation(name: "Train", tripID: trip.id, start: morning, end: morning, type: .train)
    #expect(try decoded(train) == train)
    #expect(try decoded(Activity(name: "Forum", tripID: trip.id)).tripID == trip.id)
    var address = Address()
    (address.city, address.location) = ("Rome", Coordinate(latitude: 41.9, longitude: -12))
    #expect(try decoded(address) == address)
    #expect(try decoded(Organization(name: "Rosa", addressID: address.id)).addressID == address.id)
    var file = Attachment(id: .new())
    (file.parent, file.fileName, file.fileSize) = (.lodging(hotel.id), "a.pdf", 17)
    #expect(try decoded(file) == file)
    var habit = Habit(name: "Water", counting: "glass", dailyTarget: 8, schedule: .days([.monday, .sunday]))
    habit.reminders = [HabitReminder(hour: 8, minute: 30)]
    habit.place.location = address.location
    (habit.place.frequency, habit.place.trigger) = (.everyEntry(cooldownMinutes: 30), .both)
    #expect(try decoded(habit) == habit)
    var category = HabitCategory(key: "health", name: "Health")
    category.personalityWeights = ["drive": 1, "openness": 0.5]
    #expect(try decoded(category) == category)
    let zone = try #require(TimeZone(identifier: "Asia/Tokyo"))
    let entry = HabitEntry(habitID: habit.id, date: morning, zone: zone, value: 0.5)
    #expect(try decoded(entry) == entry)
    var profile = Profile()
    (profile.name, profile.appearance, profile.displayZone) = ("Anna", .dark, .custom("Asia/Tokyo"))
    profile.zoneChanges = [Profile.ZoneChange(from: "Europe/Rome", to: "Asia/Tokyo", date: morning)]
    #expect(try decoded(profile) == profile)
  }

  @Test func `a record of an app's own kind is decoded as it was encoded`() throws {
    var item = PackingItem("Tent", in: .new())
    (item.count, item.weight, item.bought) = (3, .heavy, Date(timeIntervalSince1970: 1_777_730_400))
    (item.tags, item.label, item.price) = (["a", "b"], Data([0, 1, 255]), Money(12.5, "EUR"))
    #expect(try decoded(item) == item)
  }

  @Test func `a decoded record that is edited writes only what was edited`() async throws {
    let read = try await node.save(Trip(name: "Rome", startDate: .now, notes: "old"))
    try await node.update(read.id) { $0.notes = "from elsewhere" }
    var mine = try decoded(read)
    mine.name = "Roma"
    let saved = try await node.save(mine)
    #expect((saved.name, saved.notes) == ("Roma", "from elsewhere"))
  }

  @Test func `edits from before the encoding are saved after it, also those that clear a field`() async throws
  {
    var trip = try await node.save(Trip(name: "Rome", startDate: .now, notes: "old"))
    (trip.name, trip.notes, trip.startDate) = ("Roma", "", nil)
    let saved = try await node.save(decoded(decoded(trip)))
    #expect(saved.name == "Roma" && saved.notes == "" && saved.startDate == nil)
    #expect(saved.createdDate == trip.createdDate)
    var again = try decoded(saved)
    again.name = "Rome"
    #expect(try await node.save(again).name == "Rome")
  }

  @Test func `a new record is still new after decoding`() async throws {
    let trip = try decoded(Trip(name: "Rome"))
    #expect(trip.origin.values == nil)
    #expect(try await node.save(trip).createdDate != nil)
    #expect(try decoded(try await node.save(trip)).origin.values != nil)
  }

  @Test func `fields have their names in files, and what is not set is left out`() throws {
    let id = "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60"
    let hotel = Lodging(name: "Casa", tripID: try #require(Trip.ID(id)), id: try #require(Lodging.ID(id)))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(
      String(decoding: try encoder.encode(hotel), as: UTF8.self)
        == #"{"hideLocation":false,"id":"\#(id)","name":"Casa","paid":"none","trip":"\#(id)"}"#)
  }

  @Test func `a field that is missing has its default, and an unknown one is ignored`() throws {
    let id = "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60"
    let habit = try JSONDecoder().decode(
      Habit.self, from: Data(#"{"id":"\#(id)","name":"Water","mood":[1,{"a":null}]}"#.utf8))
    #expect(habit.name == "Water" && habit.isActive && habit.colorHex == "#2DA9E3")
    #expect(habit.id == Habit.ID(id))
  }

  @Test(arguments: [
    "{}", #"{"id":"x"}"#, "[]", "1", #"{"id":"0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60","name":7}"#,
    #"{"id":"0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60","_read":{"1":"!"}}"#,
    #"{"id":"0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60","startDate":"May"}"#,
  ])
  func `what is no record is refused`(text: String) {
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Trip.self, from: Data(text.utf8)) }
  }

  @Test func `ids are text, and the id of a reference is typed only as its own kind`() async throws {
    let trip = try await node.save(Trip(name: "Rome"))
    #expect(try decoded(trip.id) == trip.id && Trip.ID("\(trip.id)") == trip.id && Trip.ID("Rome") == nil)
    #expect(String(decoding: try JSONEncoder().encode([trip.id]), as: UTF8.self) == #"["\#(trip.id)"]"#)
    let found = try #require(try await node.find("Rome").matches.first)
    #expect(found.id(as: Trip.self) == trip.id && found.id(as: Habit.self) == nil)
    try await node.delete(trip)
    let reference = try #require(try await node.read(.trash).first?.record)
    #expect(reference.id(as: Trip.self) == trip.id && reference.id(as: Habit.self) == nil)
  }

  @Test func `values of screens are decoded as they were encoded`() async throws {
    let trip = try await node.save(Trip(name: "Rome"))
    _ = try await node.save(Activity(name: "Forum", tripID: trip.id, start: .now, cost: Money(12.5, "EUR")))
    let habit = try await node.save(Habit(name: "Read"))
    try await node.addEntry(to: habit.id)
    let items = try await node.read(.timeline(of: trip.id))
    #expect(try decoded(items) == items)
    let overview = try #require(try await node.read(.overview(of: trip.id)))
    #expect(try decoded(overview) == overview)
    let progress = try #require(try await node.read(.progress(of: habit.id)))
    #expect(try decoded(progress) == progress)
    let today = try await node.today()
    #expect(try decoded(today.habits.map(\.id)) == [habit.id])
    let state = try await node.syncState()
    #expect(try decoded(state).obstacle == state.obstacle && decoded(state).step == state.step)
  }

  @Test func `days are a range`() throws {
    let first = try #require(Day("2026-02-27"))
    let days = Array(first...first.advanced(by: 3)).map(\.description)
    #expect(days == ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"])
    #expect(stride(from: first, to: first.advanced(by: 14), by: 7).count { $0.weekday == first.weekday } == 2)
    #expect(first.advanced(by: .max).description == "9999-12-31")
  }
}
