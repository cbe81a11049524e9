import Foundation
import Model
import Observation
import Synchronization
import Testing
import WaymarkTesting

@testable import Waymark
@testable import WaymarkModels

/// Observable models, as views use them.
@MainActor struct ModelTests {
  @Test func `a model shows the value, its reason and its counts, and draws its view once for each value`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let trips = Watched(Trip.all.sorted(by: \.name), on: alice.node)
    #expect(trips.value == nil && trips.phase == .loading && trips.lastChange.isEmpty)
    let view = View { trips.value?.map(\.name) }
    try await view.shows([], "no trips")
    #expect(trips.phase == .current && trips.lastChange == [.start])
    let rome = try await alice.node.save(Trip(name: "Rome"))
    try await view.shows(["Rome"], "one trip")
    guard case .operation(let change) = trips.lastChange.first else {
      Issue.record("no operation in \(trips.lastChange)")
      return
    }
    #expect(change.operation.verb == "trip.add" && change.records.map { $0.id(as: Trip.self) } == [rome.id])
    #expect(trips.counts.deliveries == 2 && trips.counts.watchers == 1)
    // What the query does not show draws nothing.
    _ = try await alice.node.save(Habit(name: "Read"))
    try await alice.node.update(rome.id) { $0.notes = "by train" }
    _ = try await alice.node.save(Trip(name: "Oslo"))
    try await view.shows(["Oslo", "Rome"], "two trips")
    #expect(view.drawn.filter { $0 == nil }.count <= 1 && view.drawn.last == ["Oslo", "Rome"])
    #expect(view.drawn.count <= 5, "\(view.drawn)")
  }

  @Test func `a model ends with its node, and says why`() async throws {
    let alice = try await TestNode.founder("alice")
    let trips = Watched(.count(Trip.all), on: alice.node)
    try await eventually("it is current") { trips.phase == .current }
    await alice.close()
    try await eventually("it has ended") { if case .ended = trips.phase { true } else { false } }
    #expect(trips.phase == .ended(.closed) && trips.value == 0)
  }

  @Test func `a model without an owner stops watching`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    var trips: Watched<Int>? = Watched(.count(Trip.all), on: node)
    try await eventually("it waits") { await node.watchCounts.watchers == 1 }
    weak let model = trips
    trips = nil
    #expect(model == nil)
    try await eventually("no watcher is left") { await node.watchCounts.watchers == 0 }
  }

  @Test func `a view that is described again keeps its model, unless its query differs`() async throws {
    let alice = try await TestNode.founder("alice")
    let slot = WatchedSlot<[Trip]>()
    func model(_ query: Query<Trip>, on node: Node) -> Watched<[Trip]> {
      slot.model(of: .records(query), on: node)
    }
    let first = model(Trip.all.filter(\.name == "Rome"), on: alice.node)
    #expect(model(Trip.all.filter(\.name == "Rome"), on: alice.node) === first)
    let second = model(Trip.all.filter(\.name == "Oslo"), on: alice.node)
    #expect(second !== first && model(Trip.all.filter(\.name == "Oslo"), on: alice.node) === second)
    let bob = try await TestNode.founder("bob")
    #expect(model(Trip.all.filter(\.name == "Oslo"), on: bob.node) !== second)
  }
}

/// A setting as an observable value.
@MainActor struct SettingModelTests {
  @Test func `an assigned value shows at once, is saved, and names its author`() async throws {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    let scheme = WatchedSetting(.colorScheme, on: node)
    #expect(scheme.value == .system && scheme.setBy == nil)
    let view = View { scheme.value }
    scheme.value = .light
    scheme.value = .dark
    #expect(scheme.value == .dark)
    try await eventually("it is saved") { try await node.value(of: .colorScheme) == .dark }
    try await eventually("its author is known") { scheme.setBy?.isOwn == true }
    try await view.shows(.dark, "dark")
    try await node.set(.colorScheme, to: .light)
    try await view.shows(.light, "a value from elsewhere")
    #expect(scheme.error == nil)
  }

  @Test func `a value that can't be saved is replaced by the saved one, with the error`() async throws {
    let alice = try await TestNode.founder("alice")
    let minutes = WatchedSetting(.biometricTimeoutMinutes, on: alice.node)
    minutes.value = 10
    try await eventually("10 is saved") { try await alice.node.value(of: .biometricTimeoutMinutes) == 10 }
    minutes.value = 100_000
    try await eventually("it is refused") { minutes.error != nil }
    #expect(minutes.value == 10 && minutes.error?.code == .badValue)
    minutes.value = 20
    #expect(minutes.value == 20 && minutes.error == nil)
    try await eventually("20 is saved") { try await alice.node.value(of: .biometricTimeoutMinutes) == 20 }
  }

  @Test func `an assigned value is saved even if its view is gone`() async throws {
    let alice = try await TestNode.founder("alice")
    WatchedSetting(.colorScheme, on: alice.node).value = .dark
    try await eventually("it is saved") { try await alice.node.value(of: .colorScheme) == .dark }
  }
}

/// The suspension of a node with its app's scene.
@MainActor struct SceneSuspensionTests {
  @Test func `a node is suspended in the background and resumed in the foreground`() async throws {
    let node = SuspendedNode()
    let suspension = SceneSuspension(of: node)
    suspension.enterForeground()
    #expect(suspension.phase == .active)
    suspension.enterBackground()
    try await eventually("it is suspended") { suspension.phase == .suspended }
    suspension.enterForeground()
    try await eventually("it is active") { suspension.phase == .active }
    #expect(await node.calls == ["suspend", "resume"])
  }

  @Test func `an app that comes and goes quickly is taken to its last state`() async throws {
    let node = SuspendedNode()
    let suspension = SceneSuspension(of: node)
    await node.hold()
    suspension.enterBackground()
    try await eventually("suspending has begun") { await node.calls == ["suspend"] }
    suspension.enterForeground()
    suspension.enterBackground()
    suspension.enterForeground()
    #expect(suspension.phase == .suspending)
    await node.release()
    try await eventually("it is active") { suspension.phase == .active }
    #expect(await node.calls == ["suspend", "resume"])
  }

  @Test func `a node that can't be resumed says why, and the next attempt works`() async throws {
    let node = SuspendedNode()
    let suspension = SceneSuspension(of: node)
    suspension.enterBackground()
    try await eventually("it is suspended") { suspension.phase == .suspended }
    await node.fails(with: .closed)
    suspension.enterForeground()
    try await eventually("it has failed") { suspension.phase == .failed(.closed) }
    await node.fails(with: nil)
    suspension.enterForeground()
    try await eventually("it is active") { suspension.phase == .active }
  }
}

/// A view without a screen: it draws what it reads, again after each change.
@MainActor private final class View<Content: Equatable & Sendable> {
  private(set) var drawn: [Content] = []
  private let content: @MainActor () -> Content

  init(_ content: @escaping @MainActor () -> Content) {
    self.content = content
    draw()
  }

  private func draw() {
    let shown = withObservationTracking(content) { [weak self] in Task { @MainActor in self?.draw() } }
    drawn.append(shown)
  }

  func shows(_ wanted: Content, _ what: String) async throws {
    try await eventually("the view shows \(what)") { drawn.last == wanted }
  }
}

/// Stands in for a node that is suspended and resumed.
private actor SuspendedNode: Suspendable {
  private(set) var calls: [String] = []
  private var failure: WaymarkError?
  private var isHeld = false
  private var held: CheckedContinuation<Void, Never>?

  func suspend() async {
    calls.append("suspend")
    if isHeld { await withCheckedContinuation { held = $0 } }
  }

  func resume() async throws {
    calls.append("resume")
    if let failure { throw failure }
  }

  func fails(with error: WaymarkError?) { failure = error }

  func hold() { isHeld = true }

  func release() {
    isHeld = false
    held?.resume()
  }
}
