import Foundation
import JSONDocument
import Processes
import Wire

/// The resources of an idle node with eight peers.
struct IdleMeasure {
  private let stage: Stage
  private let seconds = 30.0

  init(_ stage: Stage) { self.stage = stage }

  func run() throws -> [Row] {
    let circle = try BenchCircle(stage, 9, .star)
    defer { circle.remove() }
    let hub = circle.nodes[0]
    sleep(3)
    let (before, used) = (try hub.wire(), hub.processorSeconds)
    usleep(UInt32(seconds * 1e6))
    let after = try hub.wire()
    let part = (hub.processorSeconds - used) / seconds * 100
    let bytes = (after.sent - before.sent + after.received - before.received) / seconds / 8
    return [
      Row("nothing to do, eight peers", part, "% of a core", goal: "≤ 0.2", isMet: part <= 0.2),
      Row("  on the wire", bytes, "B/s a peer", goal: "≤ 50", isMet: bytes <= 50),
    ]
  }
}

/// The propagation of one change through eight nodes.
struct MeshMeasure {
  private let stage: Stage
  private let shape: BenchCircle.Shape
  private let changes = 200

  init(_ stage: Stage, _ shape: BenchCircle.Shape) {
    self.stage = stage
    self.shape = shape
  }

  func run() throws -> [Row] {
    let circle = try BenchCircle(stage, 8, shape)
    defer { circle.remove() }
    let trip =
      try circle.nodes[0].ask("trip.add", ["fields": [["name", "Rome"], ["notes", "0"]]])["id"]?.string ?? ""
    for node in circle.nodes { try node.wait() }
    sleep(1)
    let eyes = try Eyes(circle.nodes.dropFirst().map { ($0.store, trip) })
    let before = try circle.bytesSent()
    var (all, hops) = ([Double](), [Double]())
    for number in 1...changes {
      let begun = now()
      try circle.nodes[0].ask("trip.edit", Pair.edit(trip, number))
      let arrivals = try eyes.wait(for: number, since: begun)
      all.append((arrivals.max() ?? .nan) * 1e3)
      if let first = arrivals.first, let last = arrivals.last {
        hops.append((last - first) * 1e3 / Double(arrivals.count - 1))
      }
      usleep(2_000)
    }
    usleep(300_000)
    let sent = (try circle.bytesSent() - before) / Double(changes)
    // The size of one change where there are only two.
    let useful = Double(circle.nodes.count - 1) * (try setBytes(circle.nodes[0]))
    switch shape {
    case .line:
      return [
        Row("one change along a line of eight, all have it", all.quantile(0.99), "ms p99"),
        Row("  each relay adds", hops.median, "ms p50", goal: "≤ 2", isMet: hops.median <= 2),
      ]
    default:
      return [
        Row(
          "one change in a mesh of eight, all have it", all.quantile(0.99), "ms p99", goal: "≤ 20",
          isMet: all.quantile(0.99) <= 20),
        Row("", all.median, "ms p50"),
        try BareDisk.row(devices: 8, changes: changes, every: 0.01, in: stage.folder),
        Row(
          "  bytes sent for each that is of use", sent / useful, "×", goal: "≤ 2.5",
          isMet: sent / useful <= 2.5),
      ]
    }
  }

  /// The bytes of the newest stored set: header, signature and body.
  private func setBytes(_ node: BenchNode) throws -> Double { try Eye.newestSetBytes(node.store) }
}

/// Several nodes of one circle, and which dials which.
final class BenchCircle {
  enum Shape { case mesh, line, star }

  private(set) var nodes: [BenchNode] = []
  private let stage: Stage

  init(_ stage: Stage, _ count: Int, _ shape: Shape) throws {
    self.stage = stage
    let founder = try stage.founder("\(shape)-0")
    try founder.start()
    nodes = [founder]
    for index in 1..<count {
      let node = try stage.member("\(shape)-\(index)", of: founder)
      // A node dials only after it has started, and then only the peers that it may dial.
      for (other, known) in nodes.enumerated() where !Self.touch(shape, other, index) {
        try node.command("peers", "pause", known.name)
      }
      let dialled = nodes.indices.filter { Self.touch(shape, $0, index) }
      try node.start("--peer", nodes[dialled.last ?? 0].address)
      for other in dialled.dropLast() {
        try node.ask("peers.add", ["address": .string(nodes[other].address)])
      }
      nodes.append(node)
    }
    try awaitLinks(shape)
  }

  private static func touch(_ shape: Shape, _ one: Int, _ other: Int) -> Bool {
    switch shape {
    case .mesh: true
    case .line: abs(one - other) == 1
    case .star: one == 0 || other == 0
    }
  }

  private func awaitLinks(_ shape: Shape) throws {
    let deadline = now() + 60
    for (index, node) in nodes.enumerated() {
      let wanted = nodes.indices.filter { $0 != index && Self.touch(shape, $0, index) }
      while try !wanted.allSatisfy({ try node.isConnected(to: nodes[$0].name) }) {
        guard now() < deadline else { throw Failure("\(node.name) did not find all its peers in 60 seconds") }
        usleep(20_000)
      }
    }
  }

  func bytesSent() throws -> Double { try nodes.reduce(0) { try $0 + $1.wire().sent } }

  func remove() { for node in nodes.reversed() { stage.forget(node) } }
}
