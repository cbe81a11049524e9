import JSONDocument
import Model
import Testing
import WaymarkKinds
import WaymarkTesting

@testable import Waymark

struct HabitCommandTests {
  private func water() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    try await alice.run("habit.add", fields("name=Water", "unitLabel=glass"))
    return alice
  }

  private func at(_ day: String, _ value: String? = nil) -> JSON {
    ["id": "Water", "date": .string(day), "value": .text(value), "zone": "Europe/Rome"]
  }

  @Test func `each tick adds an entry, and the day shows their sum`() async throws {
    let alice = try await water()
    try await alice.run("habit.tick", at("2026-05-01"))
    let day = try await alice.run("habit.tick", at("2026-05-01", "2.5"))
    #expect(day["value"] == 3.5)
    #expect(day["day"] == "2026-05-01")
    #expect(day["entries"]?.array?.count == 2)
  }

  @Test func `setting a day leaves one entry with the value`() async throws {
    let alice = try await water()
    for _ in 0..<3 { try await alice.run("habit.tick", at("2026-05-01")) }
    let day = try await alice.run("habit.set", at("2026-05-01", "8"))
    #expect(day["value"] == 8)
    #expect(day["entries"]?.array?.count == 1)
    let before = try await alice.run("status")["lanes"]
    try await alice.run("habit.set", at("2026-05-01", "8"))
    #expect(try await alice.run("status")["lanes"] == before)
  }

  @Test func `a day without entries is set in an entry with the same id on every device`() async throws {
    let alice = try await water()
    let first = try await alice.run("habit.set", at("2026-05-01", "8"))
    #expect(try await alice.run("habit.untick", at("2026-05-01"))["done"] == false)
    let second = try await alice.run("habit.set", at("2026-05-01", "3"))
    #expect(second["entries"] == first["entries"])
    #expect(second["value"] == 3)
  }

  @Test func `unticking removes only the entries of that day`() async throws {
    let alice = try await water()
    try await alice.run("habit.tick", at("2026-05-01"))
    try await alice.run("habit.tick", at("2026-05-02"))
    try await alice.run("habit.untick", at("2026-05-01"))
    let logs = try await alice.run("entry.list", ["habit": "Water"])["entries"]?.array ?? []
    #expect(logs.map { $0["day"] } == ["2026-05-02"])
    #expect(logs.first?["habitName"] == "Water")
  }

  @Test func `unticking removes every entry of the day`() async throws {
    let alice = try await water()
    for _ in 0..<3 { try await alice.run("habit.tick", at("2026-05-01")) }
    let day = try await alice.run("habit.untick", at("2026-05-01"))
    #expect(day["done"] == false)
    #expect(day["entries"]?.array == [])
  }

  @Test func `a yes or no habit accepts no other value`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("habit.add", fields("name=Run"))
    for (command, value) in [("habit.tick", "5"), ("habit.tick", "0"), ("habit.set", "5")] {
      let refused = try await failure(alice, command, ["id": "Run", "value": .string(value)])
      #expect(refused?.code == .badValue, "\(command) \(value)")
    }
    #expect(try await alice.run("habit.tick", ["id": "Run", "value": "1"])["done"] == true)
  }

  @Test func `today depends on the zone`() async throws {
    let alice = try await water()
    // 08:00 UTC is 20:00 of the same day in Auckland and 22:00 of the day before in Honolulu.
    for (zone, day) in [("Pacific/Auckland", "2026-05-03"), ("Pacific/Honolulu", "2026-05-02")] {
      let ticked = try await alice.run("habit.tick", ["id": "Water", "zone": .string(zone)])
      #expect(ticked["day"] == .string(day))
    }
  }

  @Test func `the key of a category is derived from its name`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("category.add", fields("name=Health & Body"))
    try await alice.run("habit.add", fields("name=Run", "category=health"))
    let habit = try await alice.run("habit.show", ["id": "Run"])
    #expect(habit["categoryId"] == "health-body")
    #expect(habit["categoryName"] == "Health & Body")
    #expect(habit["kind"] == "binary")
  }

  @Test func `an entry counts on the day that the profile determines, as in an application`() async throws {
    let alice = try await water()
    try await alice.run(
      "profile.set", fields("name=Alice", "homeTimezone=Pacific/Auckland", "displayTimezoneMode=home"))
    let evening = try await alice.run("habit.tick", at("2026-05-01T20:00", "2"))
    #expect(evening["day"] == "2026-05-02")
    let habit = try #require(try await alice.node.records(Habit.all).first)
    let progress = try await alice.node.read(.progress(of: habit.id))
    #expect(progress?.values == [try #require(Day("2026-05-02")): 2])
    #expect(try await alice.run("habit.untick", at("2026-05-01"))["done"] == false)
    #expect(try await alice.run("entry.list")["entries"]?.array?.count == 1)
    #expect(try await alice.run("habit.set", at("2026-05-02", "5"))["entries"] == evening["entries"])
    try await alice.node.setTotal(nil, of: habit.id, on: Day("2026-05-02"))
    #expect(try await alice.run("habit.set", at("2026-05-02", "5"))["value"] == 5)
    #expect(try await alice.run("habit.untick", at("2026-05-02"))["done"] == false)
    #expect(try await alice.run("entry.list")["entries"] == [])
  }

  @Test func `an action has the same verb from an application as from the command line`() async throws {
    let alice = try await water()
    let habit = try #require(try await alice.node.records(Habit.all).first)
    let day = try #require(Day("2026-05-01"))
    func verb() async throws -> JSON? { try await alice.run("history")["operations"]?[0]?["verb"] }
    try await alice.node.addEntry(to: habit.id, 2, on: day)
    #expect(try await verb() == "habit.tick")
    try await alice.node.setTotal(3, of: habit.id, on: day)
    #expect(try await verb() == "habit.set")
    try await alice.node.setTotal(nil, of: habit.id, on: day)
    #expect(try await verb() == "habit.untick")
  }

  @Test func `a new habit with a unit is numeric, from every interface`() async throws {
    let alice = try await water()
    var habit = Habit(name: "Read")
    habit.unitLabel = "pages"
    #expect(try await alice.node.save(habit).kind == .numeric)
    #expect(try await alice.node.save(Habit(name: "Run")).kind == .binary)
    #expect(try await alice.run("habit.show", ["id": "Water"])["kind"] == "numeric")
  }

  @Test func `a category without a key gets the same one from every interface`() async throws {
    let alice = try await TestNode.founder("alice")
    let made = try await alice.node.save(HabitCategory(name: "Health & Body"))
    #expect(made.key == "health-body")
    #expect(made.id == HabitCategory(key: "health-body", name: "").id)
    #expect(
      try await failure(alice, "category.add", fields("name=Health & Body"))?.message.description.contains(
        "already")
        == true)
    let other = try await alice.node.save(HabitCategory(name: "Health Body!"))
    #expect(other.key == "health body!")
  }
}
