import Foundation
import JSONDocument
import Testing
import WaymarkTesting

@testable import NodeOperations
@testable import Waymark

/// Trips and habits from a seed.
struct SampleDataTests {
  private let sample = SampleData(seed: 7)

  @Test func `is the same for the same seed, whatever was created before, and different for another`() {
    let again = SampleData(seed: 7)
    _ = again.habits(3)
    #expect(again.trips(30) == sample.trips(30))
    #expect(again.habit(5) == sample.habit(5))
    #expect(again.trip(4) == sample.trips(5)[4])
    #expect(SampleData(seed: 8).trips(30) != sample.trips(30))
    #expect(SampleData(seed: 8).habit(5).logs.map(\.id) != sample.habit(5).logs.map(\.id))
  }

  @Test func `is the same from one version to the next`() {
    let trip = SampleData(seed: 1).trip(0)
    #expect(trip.trip.name == "Dublin in spring 2027")
    #expect(trip.trip.id.description.lowercased().hasPrefix("019decd9-f400-7"))
  }

  @Test(arguments: [1, 2, 3, 12_345] as [UInt64])
  func `has no name that cleanup takes for a leftover, and no two equal names`(seed: UInt64) {
    let names = SampleData(seed: seed).trips(200).map(\.trip.name)
    #expect(names.allSatisfy { TestData.mark(in: $0) == nil })
    #expect(Set(names).count == names.count)
    let others =
      SampleData(seed: seed).habits(40, days: 0).map(\.habit.name)
      + SampleData(seed: seed).organizations(100).map(\.name)
    #expect(Set(others).count == others.count)
    #expect(others.allSatisfy { TestData.mark(in: $0) == nil })
  }

  @Test func `made to look like leftovers is found by cleanup`() {
    let names = sample.trips(20, areLeftovers: true).map(\.trip.name)
    #expect(names.allSatisfy { TestData.mark(in: $0) != nil })
  }

  @Test func `fits into a store, and a year of logs contains days and no future`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(clock: clock)
    let (trips, habits) = (sample.trips(12), sample.habits(4))
    try await node.change { changes in
      for trip in trips { changes.save(trip) }
      changes.save(sample.organizations(12))
    }
    for habit in habits { try await node.change { $0.save(habit) } }
    let counts = try await node.run("status")["counts"]
    #expect(counts?["trips"] == 12)
    #expect(counts?["lodging"]?.integer == Int64(trips.reduce(0) { $0 + $1.lodging.count }))
    #expect(counts?["habitEntries"]?.integer == Int64(habits.reduce(0) { $0 + $1.logs.count }))
    for habit in habits {
      #expect((250...340).contains(habit.logs.count))
      #expect(habit.logs.map(\.day) == habit.logs.map(\.day).sorted())
      #expect(habit.logs.allSatisfy { $0.day <= sample.today && $0.day > sample.today.advanced(by: -365) })
    }
    for trip in trips {
      #expect(trip.lodging.allSatisfy { $0.tripID == trip.trip.id && $0.cost?.currency != nil })
      #expect(trip.lodging.last?.end.map { $0 <= trip.trip.endDate ?? .distantPast } == true)
    }
    await node.close()
  }
}
