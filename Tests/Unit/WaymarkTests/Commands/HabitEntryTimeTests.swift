import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The time that an entry gets, and how far ahead it may be. It is 3 May 2026, 08:00 UTC.
struct HabitEntryTimeTests {
  private func water() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    try await alice.run("habit.add", fields("name=Water", "unitLabel=glass"))
    return alice
  }

  private func tick(_ date: String?, zone: String = "Europe/Rome") -> JSON {
    ["id": "Water", "date": .text(date), "zone": .string(zone)]
  }

  @Test func `an entry of today is of now, of another day at noon, and of a time at that time`()
    async throws
  {
    let alice = try await water()
    for date in ["2026-05-03", "2026-05-01", "2026-04-30T21:15", nil] {
      try await alice.run("habit.tick", tick(date))
    }
    let entries = try await alice.run("entry.list")["entries"]?.array ?? []
    #expect(
      entries.map { $0["date"] } == [
        "2026-04-30T21:15:00+02:00", "2026-05-01T12:00:00+02:00", "2026-05-03T10:00:00+02:00",
        "2026-05-03T10:00:00+02:00",
      ])
  }

  @Test func `an entry may be a day ahead, for zones in which it is tomorrow already, and no more`()
    async throws
  {
    let alice = try await water()
    try await alice.run("habit.tick", tick("2026-05-04T10:00"))
    try await alice.run("entry.add", fields("habit=Water", "date=2026-05-04T10:00"))
    // Noon of 4 May in Auckland is 16 hours ahead.
    try await alice.run("habit.tick", tick("2026-05-04", zone: "Pacific/Auckland"))
    #expect(try await alice.run("entry.list")["total"] == 3)
    for command in ["habit.tick", "habit.set"] {
      var arguments = tick("2026-05-04T10:01")
      arguments["value"] = "1"
      #expect(try await failure(alice, command, arguments)?.code == .badValue, "\(command)")
    }
    let late = fields("habit=Water", "date=2026-05-04T10:01")
    #expect(try await failure(alice, "entry.add", late)?.code == .badValue)
    #expect(try await alice.run("entry.list")["total"] == 3)
  }

  @Test func `a habit with a target counts an amount, unless its kind was typed`() async throws {
    let alice = try await water()
    try await alice.run("habit.add", fields("name=Swim", "dailyTarget=2"))
    try await alice.run("habit.add", fields("name=Walk", "unitLabel=km", "kind=binary"))
    try await alice.run("habit.add", fields("name=Rest"))
    for (habit, kind) in [("Swim", "numeric"), ("Walk", "binary"), ("Rest", "binary")] {
      let shown = try await alice.run("habit.show", ["id": .string(habit)])
      #expect(shown["kind"]?.string == kind, "\(habit)")
    }
  }
}
