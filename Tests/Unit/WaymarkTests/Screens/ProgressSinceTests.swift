import Foundation
import Model
import Testing
import WaymarkKinds

@testable import Waymark

/// Progress from a given day on.
struct ProgressSinceTests {
  @Test(arguments: ["Pacific/Kiritimati", "Europe/Rome", "Pacific/Pago_Pago"])
  func `all entries of the first day count, and none of the day before, wherever they were made`(
    name: String
  ) async throws {
    let node = try Node.inMemory(name: "alice")
    let zone = try #require(TimeZone(identifier: name))
    let since = try #require(Day("2026-05-03"))
    let habit = try await node.save(Habit(name: "Read"))
    // Half past midnight in Kiritimati is the morning of the day before in UTC.
    let noon = since.noon(in: zone)
    let times = [-12.5, -11.5, 0, 11.5].map { noon + $0 * 3_600 }
    _ = try await node.save(times.map { HabitEntry(habitID: habit.id, date: $0, zone: zone) })
    let later = try await node.read(.progress(of: Habit.all, since: since))
    #expect(later.map(\.values) == [[since: 3]])
    let whole = try await node.read(.progress(of: habit.id))
    #expect(whole?.values == [since.advanced(by: -1): 1, since: 3])
    #expect(try await node.read(.progress(of: habit.id, since: since.advanced(by: 1)))?.values == [:])
    await node.close()
  }
}
