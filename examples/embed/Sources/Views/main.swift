// A view layer without a screen: views on the main actor observe models, draw, and write back. The program checks that
// each view draws exactly once for each change of what it shows, and never because of its own drawing.
import Foundation
import Observation
import WaymarkKinds
import WaymarkModels

/// Draws a view now, and again after each change of something that it has read, as SwiftUI does.
@MainActor func drawing(_ draw: @escaping @MainActor () -> Void) {
  withObservationTracking(draw) { Task { @MainActor in drawing(draw) } }
}

/// A list of trips that saves which trip it shows last, as an app does to restore its state.
@MainActor final class TripList {
  private(set) var renders = 0
  private(set) var names: [String] = []
  private let trips: Watched<[Trip]>
  private let lastShown: WatchedSetting<String>
  private let node: Node

  init(_ node: Node) {
    self.node = node
    trips = Watched(Trip.all.sorted(by: \.name), on: node)
    lastShown = WatchedSetting(Setting("lastShownTrip", default: ""), on: node)
    drawing { [weak self] in self?.draw() }
  }

  private func draw() {
    guard let trips = trips.value else { return }
    renders += 1
    names = trips.map(\.name)
    // Writing while drawing causes no loop: a setting is not a record, and an unchanged record is not written.
    Task { [lastShown, node] in
      lastShown.value = trips.last?.name ?? ""
      for trip in trips { _ = try? await node.save(trip) }
    }
  }
}

/// A view of one trip's timeline. It queries the trip by its id instead of taking values from the list.
@MainActor final class TripDetail {
  private(set) var renders = 0
  private(set) var items = 0
  let timeline: Watched<[TimelineItem]>

  init(_ node: Node, _ trip: Trip.ID) {
    timeline = Watched(.timeline(of: trip), on: node)
    drawing { [weak self] in self?.draw() }
  }

  private func draw() {
    guard let items = timeline.value else { return }
    renders += 1
    self.items = items.count
  }
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
var list: TripList? = TripList(node)
var details = (0..<100).map { _ in TripDetail(node, rome.id) }

try await settled("each view renders once at the start") {
  list?.renders == 1 && details.allSatisfy { $0.renders == 1 }
}
let reads = await node.watchCounts.reads
_ = try await node.save(Lodging(name: "Casa Rosa", tripID: rome.id))
try await settled("a new lodging renders every timeline once, and not the list") {
  list?.renders == 1 && details.allSatisfy { $0.renders == 2 && $0.items == 1 }
}
guard await node.watchCounts.reads == reads + 1 else { fatalError("equal queries do not share their reads") }
print("  the hundred timelines were read once")
_ = try await node.save(Trip(name: "Oslo"))
try await settled("a new trip renders the list once, and no timeline") {
  list?.renders == 2 && list?.names == ["Oslo", "Rome"] && details.allSatisfy { $0.renders == 2 }
}
_ = try await node.save(Habit(name: "Read"))
try await settled("a habit renders neither") { list?.renders == 2 && details.allSatisfy { $0.renders == 2 } }
let why = details.first?.timeline.lastChange.first
print("  the last timeline changed after \(why.map { "\($0)" } ?? "nothing")")
details.removeAll()
list = nil
let deadline = ContinuousClock.now + .seconds(20)
while await node.watchCounts.watchers > 0 {
  guard ContinuousClock.now < deadline else { fatalError("some watchers are still active after 20 seconds") }
  try await Task.sleep(for: .milliseconds(5))
}
print("  no watcher is left")
await node.close()
