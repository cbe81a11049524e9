import Foundation
import Model
import NodeRuntime
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkKinds
import WaymarkTesting

@testable import Waymark

/// Which changes wake which live queries, and that a watch delivers each value that a read would show.
struct WakeTableTests {
  private struct Fixture {
    let clock = VirtualClock()
    let node: Node
    let rome, oslo: Trip
    let casa: Lodging
    let airline: Organization
    let habit: Habit
    let file: Attachment

    init() async throws {
      node = try Node.inMemory(name: "alice", clock: clock)
      let start = VirtualClock.morning
      rome = try await node.save(Trip(name: "Rome", startDate: start - 3_600))
      oslo = try await node.save(Trip(name: "Oslo"))
      casa = try await node.save(Lodging(name: "Casa", tripID: rome.id, start: start, zone: "UTC"))
      airline = try await node.save(Organization(name: "Alpha Air"))
      habit = try await node.save(Habit(name: "Water", counting: "l", dailyTarget: nil))
      file = try await node.attach(Data([1, 2, 3]), named: "a.pdf", to: .lodging(casa.id))
    }
  }

  // MARK: Topics

  /// A live query by its name in the table, and what it depends on.
  private struct WatchedQuery {
    let name: String
    let topics: Set<Topic>

    init<Value>(_ name: String, _ query: LiveQuery<Value>) {
      (self.name, topics) = (name, query.topics)
    }
  }

  private func watched(_ fixture: Fixture) -> [WatchedQuery] {
    let providers = Organization.all.filter(.hasPrefix(\.name, "A"))
    var all = [WatchedQuery("trips", .records(Trip.all))]
    all.append(WatchedQuery("tripsByName", .records(Trip.all.sorted(by: \.name))))
    all.append(WatchedQuery("trip", .record(fixture.rome.id)))
    all.append(WatchedQuery("rooms", .count(Lodging.all)))
    let provided = Lodging.all.filter(.refers(\.organizationID, to: providers))
    all.append(WatchedQuery("roomsByProvider", .count(provided)))
    all.append(WatchedQuery("files", .count(Attachment.all)))
    all.append(WatchedQuery("deletedTrips", .deleted(Trip.self)))
    all.append(WatchedQuery("timeline", .timeline(of: fixture.rome.id)))
    all.append(WatchedQuery("overview", .overview(of: fixture.rome.id)))
    all.append(WatchedQuery("overviews", .overviews(of: Trip.all)))
    all.append(WatchedQuery("today", .today))
    all.append(WatchedQuery("organizations", .organizations))
    all.append(WatchedQuery("habits", .records(Habit.all)))
    all.append(WatchedQuery("entries", .count(HabitEntry.all)))
    all.append(WatchedQuery("progress", .progress(of: Habit.all)))
    all.append(WatchedQuery("oneProgress", .progress(of: fixture.habit.id)))
    all.append(WatchedQuery("profile", .profile))
    all.append(WatchedQuery("day", .day))
    all.append(WatchedQuery("setting", .setting(.colorScheme)))
    return all
  }

  /// Expects a change to wake these live queries, and none of the others.
  private func expect(
    _ fixture: Fixture, _ what: String, wakes names: Set<String>, _ change: (Node) async throws -> Void
  ) async throws {
    let revision = await fixture.node.newestRevision
    try await change(fixture.node)
    for query in watched(fixture) {
      let isWoken = await fixture.node.haveChanged(query.topics, since: revision)
      #expect(isWoken == names.contains(query.name), "\(query.name) after \(what)")
    }
  }

  @Test func `a change wakes the live queries that show it, and no others`() async throws {
    let fixture = try await Fixture()
    let (rome, casa, airline, habit) = (fixture.rome, fixture.casa, fixture.airline, fixture.habit)
    let ofTrips: Set = ["trips", "timeline", "overview", "overviews", "today"]
    let ofRooms: Set = ["rooms", "roomsByProvider"]
    let ofHabits: Set = ["progress", "oneProgress", "today"]
    let alone: Set = ["tripsByName", "trip", "deletedTrips"]
    try await expect(fixture, "nothing", wakes: []) { _ = try await $0.save(rome) }
    try await expect(fixture, "a trip", wakes: ofTrips.union(alone)) { node in
      _ = try await node.save(Trip(name: "Lima"))
    }
    try await expect(fixture, "an item", wakes: ofTrips.union(ofRooms)) { node in
      try await node.update(casa.id) { $0.notes = "quiet" }
    }
    try await expect(fixture, "an organization", wakes: ["organizations", "roomsByProvider"]) { node in
      try await node.update(airline.id) { $0.phone = "1" }
    }
    try await expect(fixture, "a habit", wakes: ofHabits.union(["habits"])) { node in
      try await node.update(habit.id) { $0.notes = "cold" }
    }
    try await expect(fixture, "an entry", wakes: ofHabits.union(["entries"])) { node in
      _ = try await node.addEntry(to: habit.id, 2)
    }
    // The profile says on which day an entry counts.
    try await expect(fixture, "the profile", wakes: ofHabits.union(["profile", "day"])) { node in
      try await node.update(Profile.only) { $0.homeZone = "Asia/Tokyo" }
    }
    try await expect(fixture, "a setting", wakes: ["setting"]) { try await $0.set(.colorScheme, to: .dark) }
    // A deleted trip hides what belongs to it, and what belongs to that.
    let family = ofTrips.union(alone).union(ofRooms).union(["files"])
    try await expect(fixture, "the deletion of a trip", wakes: family) { try await $0.delete(rome) }
    try await expect(fixture, "its restoration", wakes: family) { try await $0.restore(rome.id) }
    try await expect(fixture, "its deletion again", wakes: family) { try await $0.delete(rome) }
    try await expect(fixture, "the undo of its deletion", wakes: family) { try await $0.undoNewest() }
    // The entries of a deleted habit are hidden with it.
    try await expect(fixture, "the deletion of a habit", wakes: ofHabits.union(["habits", "entries"])) {
      try await $0.delete(habit)
    }
    await fixture.node.close()
  }

  // MARK: Values

  /// A watcher of a live query, with the value that it received last.
  private final class Follower<Value: Sendable & Equatable>: Following {
    let name: String
    private let query: LiveQuery<Value>
    private let watcher: Watcher<Value>
    private var value: Value
    private(set) var changes = 0

    init(_ name: String, _ node: Node, _ query: LiveQuery<Value>) async throws {
      let watcher = Watcher(node.watch(query))
      value = try await watcher.next("the first value of \(name)")
      (self.name, self.query, self.watcher) = (name, query, watcher)
    }

    func follow(_ node: Node, _ change: String) async throws {
      let read = try await node.read(query)
      guard read != value else { return }
      value = try await watcher.next("\(name) after \(change)")
      #expect(value == read, "\(name) after \(change)")
      changes += 1
    }
  }

  @Test func `a watch delivers each value that differs when it is read, after changes of every kind`()
    async throws
  {
    let fixture = try await Fixture()
    let node = fixture.node
    let (rome, oslo, casa) = (fixture.rome, fixture.oslo, fixture.casa)
    let byAlpha = Lodging.all.filter(
      .refers(\.organizationID, to: Organization.all.filter(.hasPrefix(\.name, "Alpha"))))
    let withRooms = Trip.all.filter(.has(Lodging.all, \.tripID))
    var all: [any Following] = [try await Follower("trips", node, .records(Trip.all))]
    all.append(try await Follower("first room", node, .first(Lodging.all)))
    all.append(try await Follower("a room", node, .record(casa.id)))
    all.append(try await Follower("rooms by trip", node, .counts(of: Lodging.all, by: \.tripID)))
    all.append(try await Follower("rooms by Alpha", node, .records(byAlpha)))
    all.append(try await Follower("trips with rooms", node, .records(withRooms)))
    all.append(try await Follower("costs", node, .summary(of: \.cost, in: Lodging.all)))
    all.append(try await Follower("files", node, .records(Attachment.all)))
    all.append(try await Follower("deleted rooms", node, .deleted(Lodging.self)))
    all.append(try await Follower("deleted files", node, .deleted(Attachment.self)))
    all.append(try await Follower("trash", node, .trash))
    all.append(try await Follower("timeline", node, .timeline(of: rome.id)))
    all.append(try await Follower("overview", node, .overview(of: oslo.id)))
    all.append(try await Follower("overviews", node, .overviews(of: Trip.all)))
    all.append(try await Follower("today", node, .today))
    all.append(try await Follower("organizations", node, .organizations))
    all.append(try await Follower("progress", node, .progress(of: Habit.all)))
    all.append(try await Follower("one progress", node, .progress(of: fixture.habit.id)))
    all.append(try await Follower("litres", node, .summary(of: \.value, in: HabitEntry.all)))
    let followers = all
    func check(_ change: String) async throws {
      for follower in followers { try await follower.follow(node, change) }
    }
    try await node.update(casa.id) { $0.cost = Money(10, "EUR") }
    try await check("a cost")
    try await node.update(casa.id) { $0.tripID = oslo.id }
    try await check("a move")
    let airline = fixture.airline.id
    try await node.update(casa.id) { $0.organizationID = airline }
    try await check("an organization of a room")
    try await node.update(airline) { $0.name = "Beta Air" }
    try await check("another name of the organization")
    try await node.undoNewest()
    try await check("the undo of the name")
    try await node.delete(oslo)
    try await check("the deletion of a trip")
    try await node.restore(oslo.id)
    try await check("its restoration")
    try await node.update(casa.id) { $0.tripID = rome.id }
    try await check("a move back")
    try await node.delete(fixture.file)
    try await check("the deletion of a file")
    try await node.delete(casa)
    try await check("the deletion of a room")
    try await node.restore(casa.id)
    try await check("the restoration of the room")
    let entry = try await node.addEntry(to: fixture.habit.id, 2)
    try await check("an entry")
    try await node.delete(entry)
    try await check("the deletion of an entry")
    try await node.undoNewest()
    try await check("the undo of its deletion")
    try await node.delete(fixture.habit)
    try await check("the deletion of a habit")
    try await node.erase(casa)
    try await check("the erase of a room")
    for follower in followers { #expect(follower.changes > 0, "\(follower.name) has not changed at all") }
    await node.close()
  }
}

private protocol Following: AnyObject {
  var name: String { get }
  /// How often the value has changed.
  var changes: Int { get }
  /// Expects the watcher to deliver what is read now, if that differs from its last value.
  func follow(_ node: Node, _ change: String) async throws
}

extension Node {
  fileprivate var newestRevision: UInt64 { core.loop.watching.revision }

  fileprivate func haveChanged(_ topics: Set<Topic>, since revision: UInt64) -> Bool {
    core.loop.watching.haveChanged(topics, since: revision)
  }
}
