import Engine
import Foundation
import JSONDocument
import Model
import Synchronization
import Testing
import WaymarkCare
import WaymarkTesting

@testable import ChangeHistory
@testable import Waymark

/// A watch tells what it fired for.
struct WatchCauseTests {
  @Test func `an update names the operation, its device, the records and the fields`() async throws {
    let alice = try await TestNode.founder("alice")
    var trip = try await alice.node.save(Trip(name: "Rome"))
    let updates = Updates(alice.node.watch(Trip.all))
    let first = try await updates.next("what is there")
    #expect(first.value.map(\.name) == ["Rome"] && first.causes == [.start])
    #expect(first.counts.firings == 0 && first.counts.reads == 1 && first.counts.deliveries == 1)
    (trip.name, trip.notes) = ("Roma", "by train")
    trip = try await alice.node.save(trip)
    let second = try await updates.next("another name")
    let change = try #require(second.operations.first)
    #expect(second.causes.count == 1 && change.operation.verb == "trip.edit" && change.operation.isOwn)
    #expect(change.operation.id == (try await alice.node.history(limit: 1).first?.id))
    #expect(
      change.records == [
        RecordChange(kind: .trip, id: trip.id.uuid, change: .changed, fields: ["name", "notes"])
      ])
    #expect(change.otherRecords == 0)
    try await alice.node.delete(trip)
    #expect(try await updates.next("no trip").operations.first?.records.first?.change == .deleted)
    try await alice.node.restore(trip.id)
    #expect(try await updates.next("the trip again").operations.first?.records.first?.change == .restored)
    _ = try await alice.node.save(Trip(name: "Oslo"))
    #expect(try await updates.next("another trip").operations.first?.records.first?.change == .added)
  }

  @Test func `a change by another device has its name, and what does not concern the query is left out`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob")
    let trip = try await circle["alice"].save(Trip(name: "Rome"))
    try await circle.settle()
    let updates = Updates(circle["bob"].watch(Lodging.all))
    #expect(try await updates.next("no lodging").value.isEmpty)
    try await circle["alice"].change("plan") { changes in
      changes.save(Organization(name: "Casa Rosa"))
      for number in 1...20 { changes.save(Lodging(name: "Room \(number)", tripID: trip.id)) }
    }
    try await circle.settle()
    let change = try #require(try await updates.next("twenty rooms").operations.first)
    #expect(
      change.operation.deviceName == "alice" && !change.operation.isOwn && change.operation.verb == "plan")
    #expect(change.records.count == 16 && change.otherRecords == 4)
    #expect(change.records.allSatisfy { $0.kind == .lodging && $0.change == .added && $0.fields.isEmpty })
    // The trip's deletion hides the rooms without writing to them.
    try await circle["alice"].delete(trip)
    try await circle.settle()
    let hidden = try #require(try await updates.next("no rooms").operations.first)
    #expect(
      hidden.records.map { $0.id(as: Trip.self) } == [trip.id] && hidden.records.map(\.change) == [.deleted])
    await circle.close()
  }

  @Test func `time, the state of the node and a setting are causes of their own`() async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    _ = try await node.save(Trip(name: "Rome", startDate: VirtualClock.morning + 60))
    let upcoming = Updates(node.watch(.count(Trip.all.filter(\.startDate >= .now))))
    #expect(try await upcoming.next("one trip").value == 1)
    async let later = upcoming.next("no trip")
    try await eventually("the watcher waits") { await node.watchCounts.watchers == 1 }
    try await clock.advance(by: .seconds(61))
    #expect(try await later.causes == [.time])

    let scheme = Updates(node.watch(.setting(.colorScheme)))
    _ = try await scheme.next("the default")
    try await node.set(.colorScheme, to: .dark)
    let setting = try await scheme.next("dark")
    #expect(setting.value == .dark)
    let record = try #require(setting.operations.first?.records.first)
    #expect(record.kind == .setting && record.change == .changed && record.fields.contains("value"))

    let onboarding = Updates(node.watch(.onboarding))
    _ = try await onboarding.next("a new person")
    try await node.completeOnboarding()
    #expect(try await onboarding.next("a welcomed person").causes.contains(.nodeState))
    await node.close()
  }

  @Test func `too many operations are counted as more, and a rebuild forgets them`() async throws {
    let alice = try await TestNode.founder("alice")
    let updates = Updates(alice.node.watch(.count(Trip.all)))
    #expect(try await updates.next("no trips").value == 0)
    for number in 1...300 { _ = try await alice.node.save(Trip(name: "Trip to \(number)")) }
    let many = try await updates.next("three hundred trips")
    #expect(many.value == 300 && many.causes.first == .more && many.operations.count == 64)
    // The newest ones are listed, in the order in which they were written.
    let newest = try await alice.node.history(limit: 64).map(\.id)
    #expect(many.operations.map(\.id) == newest.reversed())
    _ = try await alice.node.save(Trip(name: "Rome"))
    await alice.node.rebuilt()
    #expect(try await updates.next("one more").causes == [.rebuild])
  }

  @Test func `each firing prints a line, also if the value is equal`() async throws {
    let alice = try await TestNode.founder("alice")
    let lines = Mutex<[String]>([])
    let trip = try await alice.node.save(Trip(name: "Rome"))
    let watcher = Watcher(
      alice.node.watch(.count(Trip.all)).printingChanges("Trips") { line in lines.withLock { $0.append(line) }
      })
    #expect(try await watcher.next("one trip") == 1)
    async let next = watcher.next("two trips")
    try await eventually("the watcher waits") { await alice.node.watchCounts.watchers == 1 }
    try await alice.node.update(trip.id) { $0.name = "Roma" }
    try await eventually("it reads an equal value") { lines.withLock { $0.count } == 2 }
    let oslo = try await alice.node.save(Trip(name: "Oslo"))
    #expect(try await next == 2)
    #expect(
      lines.withLock { $0 } == [
        "Trips: new value after the start of the watch [fired 0, read 1, delivered 1]",
        "Trips: equal value after trip.edit on this device: changed trip \(trip.id) (name) "
          + "[fired 1, read 2, delivered 1]",
        "Trips: new value after trip.add on this device: added trip \(oslo.id) [fired 2, read 3, delivered 2]",
      ])
    let counts = await alice.node.watchCounts
    #expect(counts.firings == 2 && counts.reads == 3 && counts.deliveries == 2)
  }
}

/// An explained watch whose updates a test consumes one by one.
actor Updates<Value: Sendable & Equatable> {
  private var iterator: ExplainedWatch<Value>.Iterator

  init(_ watch: Watch<Value>) { iterator = watch.explained.makeAsyncIterator() }

  func next(_ what: Comment, sourceLocation: SourceLocation = #_sourceLocation) async throws
    -> WatchUpdate<Value>
  {
    let update = try await within(what, sourceLocation: sourceLocation) { await self.advance() }
    return try #require(update, "the node closed before \(what)", sourceLocation: sourceLocation)
  }

  private func advance() async -> WatchUpdate<Value>? {
    var ahead = iterator
    let update = await ahead.next()
    iterator = ahead
    return update
  }
}

extension WatchUpdate {
  /// The operations among the causes.
  fileprivate var operations: [OperationChange] {
    causes.compactMap { if case .operation(let change) = $0 { change } else { nil } }
  }
}

extension Node {
  /// Tells the watchers that the tables were rebuilt.
  fileprivate func rebuilt() { core.shell.note(.logsRebuilt) }
}
