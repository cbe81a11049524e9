import JSONDocument
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// How long the files of deleted records stay, as an application sets it.
struct TrashDaysTests {
  @Test func `the days in the trash are a number or never, and other numbers are refused`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let days = Setting<TrashDays>.trashDays
    #expect(try await node.value(of: days) == .days(30))
    #expect(alice.home.value(of: days) == .days(30))
    let values: [(TrashDays, StoredSetting)] = [(.never, .text("never")), (.days(1), .integer(1))]
    for (value, stored) in values {
      try await node.set(days, to: value)
      #expect(try await node.value(of: days) == value)
      #expect(try await node.settings()["trashDays"] == stored)
      #expect(alice.home.value(of: days) == value)
    }
    for number in [0, -1, 3_651] {
      #expect(try await refusal { try await node.set(days, to: .days(number)) } == "bad_value", "\(number)")
      #expect(try await node.value(of: days) == .days(1), "\(number)")
    }
    try await alice.run("settings.set", ["key": "trashDays", "value": "3650"])
    #expect(try await node.value(of: days) == .days(3_650))
    try await alice.run("settings.set", ["key": "trashDays", "value": "Never"])
    #expect(try await node.value(of: days) == .never)
    try await node.remove(days)
    #expect(try await node.value(of: days) == .days(30))
    await alice.close()
  }
}
