import Foundation
import JSONDocument
import Model
import Records
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

@Suite struct WatchTests {
  @Test func `a watcher receives the current value, and then each change once`() async throws {
    let alice = try await TestNode.founder("alice")
    _ = try await alice.node.save(Trip(name: "Rome"))
    let trips = Watcher(alice.node.watch(Trip.all.sorted(by: \.name)))
    #expect(try await trips.next("what is there").map(\.name) == ["Rome"])
    let oslo = try await alice.node.save(Trip(name: "Oslo"))
    #expect(try await trips.next("Oslo").map(\.name) == ["Oslo", "Rome"])
    // None of this is in the list.
    _ = try await alice.node.save(Habit(name: "Water"))
    _ = try await alice.node.save(oslo)
    try await alice.node.delete(oslo)
    #expect(try await trips.next("the end of Oslo").map(\.name) == ["Rome"])
  }

  @Test func `changes that arrive while earlier ones are processed are delivered as one`() async throws {
    let alice = try await TestNode.founder("alice")
    let counts = Watcher(alice.node.watch(.count(Trip.all)))
    #expect(try await counts.next("no trips") == 0)
    for number in 1...20 { _ = try await alice.node.save(Trip(name: "Trip to \(number)")) }
    #expect(try await counts.next("twenty trips") == 20)
  }

  @Test func `a change that is reverted before it is read is not delivered`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    let counts = Watcher(alice.node.watch(.count(Trip.all)))
    #expect(try await counts.next("one trip") == 1)
    try await alice.node.delete(trip)
    try await alice.node.restore(trip.id)
    _ = try await alice.node.save(Trip(name: "Oslo"))
    #expect(try await counts.next("two trips") == 2)
  }

  @Test func `children of a deleted record leave their list`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    _ = try await alice.node.save(Lodging(name: "Casa", tripID: trip.id))
    let lodgings = Watcher(alice.node.watch(Lodging.all.filter(\.tripID == trip.id)))
    #expect(try await lodgings.next("a lodging").count == 1)
    try await alice.node.delete(trip)
    #expect(try await lodgings.next("no lodging") == [])
    try await alice.node.restore(trip.id)
    #expect(try await lodgings.next("the lodging again").count == 1)
  }

  @Test func `a watcher ends with its task`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let task = Task {
      var seen = 0
      for await _ in node.watch(Trip.all) { seen += 1 }
      return seen
    }
    try await eventually("a watcher is registered") { await node.watchCounts.watchers == 1 }
    task.cancel()
    #expect(try await within("the end of the watcher") { await task.value } == 1)
    #expect(await node.watchCounts.watchers == 0)
  }

  @Test func `a watcher ends with its node`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let task = Task { for await _ in node.watch(Trip.all) {} }
    try await eventually("a watcher is registered") { await node.watchCounts.watchers == 1 }
    await alice.close()
    try await within("the end of the watcher") { await task.value }
  }

  @Test func `a thousand watchers read nothing while their data is unchanged`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let habit = try await node.save(Habit(name: "Water"))
    let readings = Counter()
    let watched = LiveQuery<Int>(.count, [.kind(Trip.kind.number)]) { node, time in
      readings.add()
      return try LiveQuery.count(Trip.all).read(node, &time)
    }
    let tasks = (0..<1_000).map { _ in Task { for await _ in node.watch(watched) {} } }
    try await eventually("a thousand watchers are registered") { await node.watchCounts.watchers == 1_000 }
    let before = readings.count
    for _ in 0..<20 { _ = try await node.save(HabitEntry(habitID: habit.id, date: .now)) }
    #expect(readings.count == before)
    for task in tasks { task.cancel() }
  }
}
