import Foundation
import JSONDocument
import Testing
import WaymarkCare
import WaymarkFiles
import WaymarkTesting

@testable import Waymark

/// A watcher reads when something has changed, and never because something was read.
struct CalmTests {
  @Test(arguments: LiveQueryName.allCases)
  func `a read wakes no watcher`(_ name: LiveQueryName) async throws {
    let clock = VirtualClock()
    let node = try Node.inMemory(name: "alice", clock: clock)
    let trip = try await node.save(Trip(name: "Rome"))
    let habit = try await node.save(Habit(name: "Read"))
    let hotel = try await node.save(Lodging(name: "Casa", tripID: trip.id))
    let file = try await node.attach(Data(count: 40_000), named: "a.pdf", to: .lodging(hotel.id))
    // All live queries: a new one does not compile without a line here.
    switch name {
    case .conflicts: try await expectCalm(node, clock, .conflicts)
    case .count: try await expectCalm(node, clock, .count(Trip.all))
    case .counts: try await expectCalm(node, clock, .counts(of: Lodging.all, by: \.tripID))
    case .day: try await expectCalm(node, clock, .day)
    case .deleted: try await expectCalm(node, clock, .deleted(Trip.self))
    case .fileState: try await expectCalm(node, clock, .fileState(of: file))
    case .files: try await expectCalm(node, clock, .files(limit: 5))
    case .first: try await expectCalm(node, clock, .first(Trip.all))
    case .habitProgress: try await expectCalm(node, clock, .progress(of: habit.id))
    case .history: try await expectCalm(node, clock, .history(limit: 5))
    case .massDeletions: try await expectCalm(node, clock, .massDeletions)
    case .members: try await expectCalm(node, clock, .members)
    case .onboarding: try await expectCalm(node, clock, .onboarding)
    case .organizations: try await expectCalm(node, clock, .organizations)
    case .overview: try await expectCalm(node, clock, .overview(of: trip.id))
    case .overviews: try await expectCalm(node, clock, .overviews(of: Trip.all))
    case .peers: try await expectCalm(node, clock, .peers)
    case .profile: try await expectCalm(node, clock, .profile)
    case .progress: try await expectCalm(node, clock, .progress(of: Habit.all))
    case .record: try await expectCalm(node, clock, .record(trip.id))
    case .records: try await expectCalm(node, clock, .records(Trip.all.filter(\.startDate >= .now)))
    case .setting: try await expectCalm(node, clock, .setting(.colorScheme))
    case .settingState: try await expectCalm(node, clock, .settingState(.colorScheme))
    case .status: try await expectCalm(node, clock, .status)
    case .summaries:
      try await expectCalm(node, clock, .summaries(of: \.cost, in: Lodging.all, by: \.tripID))
    case .summary: try await expectCalm(node, clock, .summary(of: \.cost, in: Lodging.all))
    case .storeHealth: try await expectCalm(node, clock, .storeHealth)
    case .syncState: try await expectCalm(node, clock, .syncState)
    case .timeline: try await expectCalm(node, clock, .timeline(of: trip.id))
    case .today: try await expectCalm(node, clock, .today)
    case .trash: try await expectCalm(node, clock, .trash)
    }
    await node.close()
  }

  private func expectCalm<Value>(
    _ node: Node, _ clock: VirtualClock, _ reading: LiveQuery<Value>,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let reads = Counter()
    let watched = reading.counted(by: reads)
    let task = Task { for await _ in node.watch(watched) {} }
    defer { task.cancel() }
    try await within("\(reading.name) to settle", sourceLocation: sourceLocation) {
      try await eventually("\(reading.name) was read") { await node.watchCounts.watchers == 1 }
      for _ in 0..<5 {
        _ = try await node.count(Trip.all)
        _ = try await node.read(reading)
        try await clock.quiet()
      }
    }
    // Changes just before the watch may have been delivered separately.
    #expect(reads.count <= 2, "\(reading.name)", sourceLocation: sourceLocation)
  }

  @Test func `a local-only change wakes its watchers`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let alice = circle["alice"]
    let bob = try await circle["bob"].status().device
    func sees<Value>(
      _ what: Comment, _ reading: LiveQuery<Value>, _ holds: @escaping @Sendable (Value) -> Bool,
      _ change: () async throws -> Void
    ) async throws {
      let watching = await alice.watchCounts.watchers
      async let seen: Void = wait(for: what, alice, reading, until: holds)
      try await eventually("a watcher waits") { await alice.watchCounts.watchers > watching }
      try await change()
      try await seen
    }
    try await sees("another name", .peers, { $0.first?.name == "Bobby" }) {
      try await alice.rename(bob, to: "Bobby")
    }
    try await alice.completeOnboarding()
    try await sees("the device welcomes again", .onboarding, { $0 != .completedHere }) {
      try await alice.resetOnboarding()
    }
    try await sees("no welcome", .onboarding, { $0 == .completedHere }) {
      try await alice.completeOnboarding()
    }
    try await sees("a pause", .peers, { $0.first?.state == .paused }) { try await alice.pause(bob) }
    await circle.close()
  }
}
