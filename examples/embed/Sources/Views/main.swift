// A view layer without a screen: views on the main actor watch queries, render, and write back. The program checks that
// each view renders exactly once for each change of what it shows, and never because of its own rendering.
import Foundation
import Waymark

/// Watches a query on behalf of a view. A model is created once, and lives until its view leaves the screen.
@MainActor final class Model<Value: Sendable & Equatable> {
  private(set) var value: Value?
  private var task: Task<Void, Never>?

  /// - Parameter changed: renders the view; called with each new value.
  init(_ watch: Watch<Value>, changed: @escaping @MainActor (Value) async -> Void) {
    task = Task { [weak self] in
      for await value in watch {
        self?.value = value
        await changed(value)
      }
    }
  }

  func end() { task?.cancel() }
}

/// A list of trips that saves which trip it shows last, as an app does to restore its state.
@MainActor final class TripList {
  private(set) var renders = 0
  private(set) var names: [String] = []
  private var model: Model<[Trip]>?

  init(_ node: Node) {
    model = Model(node.watch(Trip.all.sorted(by: \.name))) { [weak self] trips in
      self?.render(trips)
      // Writing while rendering causes no loop: a setting is not a record, and an unchanged record is not written.
      try? await node.set(Setting("lastShownTrip", default: ""), to: trips.last?.name ?? "")
      for trip in trips { _ = try? await node.save(trip) }
    }
  }

  private func render(_ trips: [Trip]) {
    renders += 1
    names = trips.map(\.name)
  }

  func end() { model?.end() }
}

/// A view of one trip's timeline. It queries the trip by its id instead of taking values from the list.
@MainActor final class TripDetail {
  private(set) var renders = 0
  private(set) var items = 0
  private var model: Model<[TimelineItem]>?

  init(_ node: Node, _ trip: Trip.ID) {
    model = Model(node.watch(.timeline(of: trip))) { [weak self] timeline in
      self?.renders += 1
      self?.items = timeline.count
    }
  }

  func end() { model?.end() }
}

/// Waits until a condition is true, and then a moment longer, in which a render loop would make the condition false
/// again.
@MainActor func settled(_ what: String, _ isSo: () -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(20)
  while !isSo() {
    guard ContinuousClock.now < deadline else { fatalError("timed out: \(what)") }
    try await Task.sleep(for: .milliseconds(5))
  }
  try await Task.sleep(for: .milliseconds(100))
  guard isSo() else { fatalError("true only briefly: \(what)") }
  print("  \(what)")
}

let folder = URL.temporaryDirectory.appending(path: "waymark-views-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: folder) }
let node = try await Node.open(Home(folder), name: "phone")
let rome = try await node.save(Trip(name: "Rome"))
let list = TripList(node)
let details = (0..<100).map { _ in TripDetail(node, rome.id) }

try await settled("each view renders once at the start") {
  list.renders == 1 && details.allSatisfy { $0.renders == 1 }
}
_ = try await node.save(Lodging(name: "Casa Rosa", tripID: rome.id))
try await settled("a new lodging renders every timeline once, and not the list") {
  list.renders == 1 && details.allSatisfy { $0.renders == 2 && $0.items == 1 }
}
_ = try await node.save(Trip(name: "Oslo"))
try await settled("a new trip renders the list once, and no timeline") {
  list.renders == 2 && list.names == ["Oslo", "Rome"] && details.allSatisfy { $0.renders == 2 }
}
_ = try await node.save(Habit(name: "Read"))
try await settled("a habit renders neither") { list.renders == 2 && details.allSatisfy { $0.renders == 2 } }
for detail in details { detail.end() }
_ = try await node.save(Activity(name: "Colosseum", tripID: rome.id))
try await settled("views that left the screen no longer render") { details.allSatisfy { $0.renders == 2 } }
list.end()
let deadline = ContinuousClock.now + .seconds(20)
while await node.watchCounts.watchers > 0 {
  guard ContinuousClock.now < deadline else { fatalError("some watchers are still active after 20 seconds") }
  try await Task.sleep(for: .milliseconds(5))
}
print("  no watcher is left")
await node.close()
