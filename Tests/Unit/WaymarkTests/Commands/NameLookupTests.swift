import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Model
@testable import Waymark

/// How many digits of an id are enough, and how many candidates an ambiguous name lists.
struct NameLookupTests {
  private static let trip = "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60"
  private static let entry = "0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E61"

  private func alice() async throws -> TestNode {
    let alice = try await TestNode.founder("alice")
    _ = try await alice.node.save(Trip(name: "One", id: try #require(Trip.ID(Self.trip))))
    let habit = try await alice.node.save(Habit(name: "Read"))
    let zone = try #require(TimeZone(identifier: "UTC"))
    _ = try await alice.node.save(
      HabitEntry(
        habitID: habit.id, date: Date(timeIntervalSince1970: 1_777_593_600), zone: zone, value: 1,
        id: try #require(HabitEntry.ID(Self.entry))))
    return alice
  }

  @Test(arguments: ["trip", "entry"])
  func `an id is named by its beginning or by six or more of its last digits, not by its middle`(
    kind: String
  ) async throws {
    let alice = try await alice()
    let last = kind == "trip" ? "0" : "1"
    for text in [
      "0", "0196", "0196f0a2-7c31", "8B1E6\(last)", "2c8b1e6\(last)",
      "0196f0a27c317b4c9e0f3a5d2c8b1e6\(last)",
    ] {
      let shown = try await alice.run("\(kind).show", ["id": .string(text)])
      #expect(shown["id"]?.string?.hasSuffix("8B1E6\(last)") == true, "\(text)")
    }
    for text in ["B1E6\(last)", "6\(last)", "7c317b4c", "8b1e62"] {
      #expect(try await failure(alice, "\(kind).show", ["id": .string(text)])?.code == .notFound, "\(text)")
    }
  }

  @Test func `a delete asks if fewer digits were typed than a list shows`() async throws {
    let alice = try await alice()
    #expect(try await failure(alice, "trip.delete", ["id": "C8B1E60"])?.code == .needsYes)
    #expect(try await alice.node.count(Trip.all) == 1)
    try await alice.run("trip.delete", ["id": "2C8B1E60"])
    #expect(try await alice.node.count(Trip.all) == 0)
  }

  @Test(arguments: [(2, 2), (20, 20), (21, 21), (23, 21)])
  func `an ambiguous name lists twenty candidates, and how many there are besides`(
    count: Int, lines: Int
  ) async throws {
    let alice = try await TestNode.founder("alice")
    _ = try await alice.node.save((1...count).map { Trip(name: "Trip \($0)") })
    let candidates = try #require(try await failure(alice, "trip.show", ["id": "Trip"])).candidates
    #expect(candidates.count == lines)
    #expect(candidates.prefix(20).allSatisfy { $0.hasPrefix("Trip ") })
    if count > 20 { #expect(candidates.last == "and \(count - 20) more") }
  }

  @Test func `an ambiguous beginning of an id lists twenty candidates, and how many there are besides`()
    async throws
  {
    let alice = try await alice()
    let habit = try #require(try await alice.node.records(Habit.all).first)
    let zone = try #require(TimeZone(identifier: "UTC"))
    for number in 10...31 {
      let id = try #require(HabitEntry.ID("0196F0A2-7C31-7B4C-9E0F-3A5D2C8C00\(number)"))
      let date = Date(timeIntervalSince1970: 1_777_593_600 - 86_400 * Double(number))
      _ = try await alice.node.save(HabitEntry(habitID: habit.id, date: date, zone: zone, value: 1, id: id))
    }
    let candidates = try #require(
      try await failure(alice, "entry.show", ["id": "0196f0a2"])
    ).candidates
    #expect(candidates.count == 21 && candidates.last == "and 3 more")
  }
}
