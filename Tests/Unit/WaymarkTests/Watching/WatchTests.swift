import Foundation
import JSONDocument
import Records
import Testing
import WaymarkTesting

@testable import Waymark

@Suite struct WatchTests {
  @Test func `a watcher sees what is there, and then each change once`() async throws {
    let alice = try await TestNode.founder("alice")
    _ = try await alice.node.save(Trip(name: "Rome"))
    let trips = Watcher(alice.node.watch(Trip.all.sorted(by: \.name)))
    #expect(try await trips.next("what is there").map(\.name) == ["Rome"])
    let oslo = try await alice.node.save(Trip(name: "Oslo"))
    #expect(try await trips.next("Oslo").map(\.name) == ["Oslo", "Rome"])
    // Nothing of this is in the list.
    _ = try await alice.node.save(Habit(name: "Water"))
    _ = try await alice.node.save(oslo)
    try await alice.node.delete(oslo)
    #expect(try await trips.next("the end of Oslo").map(\.name) == ["Rome"])
  }

  @Test func `changes that come while the last are worked on are seen as one`() async throws {
    let alice = try await TestNode.founder("alice")
    let counts = Watcher(alice.node.watch(.count(Trip.all)))
    #expect(try await counts.next("no trips") == 0)
    for number in 1...20 { _ = try await alice.node.save(Trip(name: "Trip to \(number)")) }
    #expect(try await counts.next("twenty trips") == 20)
  }

  @Test func `a change that is taken back before anybody looks is no change`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    let counts = Watcher(alice.node.watch(.count(Trip.all)))
    #expect(try await counts.next("one trip") == 1)
    try await alice.node.delete(trip)
    try await alice.node.restore(Trip.self, trip.id)
    _ = try await alice.node.save(Trip(name: "Oslo"))
    #expect(try await counts.next("two trips") == 2)
  }

  @Test func `what belongs to a deleted record leaves its list`() async throws {
    let alice = try await TestNode.founder("alice")
    let trip = try await alice.node.save(Trip(name: "Rome"))
    _ = try await alice.node.save(Lodging(name: "Casa", tripID: trip.id))
    let lodgings = Watcher(alice.node.watch(Lodging.all.filter(\.tripID == trip.id)))
    #expect(try await lodgings.next("a lodging").count == 1)
    try await alice.node.delete(trip)
    #expect(try await lodgings.next("no lodging") == [])
    try await alice.node.restore(Trip.self, trip.id)
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
    try await eventually("somebody watches") { await node.watchers == 1 }
    task.cancel()
    #expect(try await within("the end of the watcher") { await task.value } == 1)
    #expect(await node.watchers == 0)
  }

  @Test func `a watcher ends with its node`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let task = Task { for await _ in node.watch(Trip.all) {} }
    try await eventually("somebody watches") { await node.watchers == 1 }
    await alice.close()
    try await within("the end of the watcher") { await task.value }
  }

  @Test func `a thousand watchers read nothing while nothing of theirs changes`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let habit = try await node.save(Habit(name: "Water"))
    let readings = Counter()
    let watched = LiveQuery<Int>(.count, [.kind(Trip.kind.number)]) { node, time in
      readings.add()
      return try Reading.count(Trip.all).read(node, &time)
    }
    let tasks = (0..<1_000).map { _ in Task { for await _ in node.watch(watched) {} } }
    try await eventually("a thousand watch") { await node.watchers == 1_000 }
    let before = readings.count
    for _ in 0..<20 { _ = try await node.save(HabitEntry(habitID: habit.id, date: .now)) }
    #expect(readings.count == before)
    for task in tasks { task.cancel() }
  }
}
