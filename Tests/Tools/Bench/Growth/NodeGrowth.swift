import Processes
import Replication
import Wire

/// A growing number of nodes: what one change costs each of them, and how many hops it takes to reach all.
struct NodeGrowth {
  private let network: Network
  private let edges: [(Int, Int)]
  private var random: SplitMix

  private static let authorCount = 20

  /// Which nodes are connected.
  enum Shape: String {
    case mesh
    /// Each with eight random others.
    case sparse = "8 each"
  }

  static func grids(_ sizes: [Int], hopMilliseconds: Int) throws -> [Grid] {
    let columns = [
      "nodes", "links a node", "hops to all", "messages a node", "B a node", "of these sets, B", "heads, B",
      "state, B", "copies of the set for each that lacks it", "an author's first: hops", "messages a node",
      "ms of processor a node",
    ]
    var grid = Grid(
      "Nodes: the third change in a row of up to \(authorCount) authors, medians; \(hopMilliseconds) ms a hop; a circle "
        + "admits \(Limits.devicesMax) devices, more only show how it goes on", columns)
    for size in sizes {
      for shape in shapes(size) {
        progress("\(size) nodes, \(shape.rawValue) …")
        var growth = try NodeGrowth(size, shape, Moment(hopMilliseconds))
        grid.add("\(size), \(shape.rawValue)", try growth.figures())
      }
    }
    return [grid]
  }

  /// A real node connects to every member it finds. Beyond the member limit of a circle, only the sparse graph is of
  /// interest.
  private static func shapes(_ size: Int) -> [Shape] {
    if size <= Limits.pushToAllPeersMax + 1 { return [.mesh] }
    return size <= Limits.devicesMax ? [.mesh, .sparse] : [.sparse]
  }

  init(_ size: Int, _ shape: Shape, _ hopMilliseconds: Moment) throws {
    random = SplitMix(seed: UInt64(size))
    edges = shape == .mesh ? Self.mesh(size) : Self.sparse(size, &random)
    network = Network(try Family(size), hopMilliseconds: hopMilliseconds)
    for number in 0..<size { network.add(try InMemoryNode(number, network)) }
    for (dialler, dialled) in edges { try network.connect(dialler, dialled) }
    network.run(10_000)
  }

  private static func mesh(_ size: Int) -> [(Int, Int)] {
    (0..<size).flatMap { first in (first + 1..<size).map { (first, $0) } }
  }

  /// Four rings through all nodes, each in a random order: connected, and eight links per node unless two rings share
  /// one.
  private static func sparse(_ size: Int, _ random: inout SplitMix) -> [(Int, Int)] {
    var seen: Set<[Int]> = []
    var edges: [(Int, Int)] = []
    for _ in 0..<4 {
      let ring = shuffled(size, &random)
      for index in 0..<size {
        let edge = (ring[index], ring[(index + 1) % size])
        if seen.insert([min(edge.0, edge.1), max(edge.0, edge.1)]).inserted { edges.append(edge) }
      }
    }
    return edges
  }

  private static func shuffled(_ size: Int, _ random: inout SplitMix) -> [Int] {
    var items = Array(0..<size)
    for index in items.indices.dropFirst().reversed() {
      items.swapAt(index, Int(random.below(UInt64(index + 1))))
    }
    return items
  }

  /// Changes by some random authors: the first of each, and the third in a row, when all nodes know where its changes
  /// come from and the author has received nothing new from others.
  private mutating func figures() throws -> [Double] {
    let authors = Array(Self.shuffled(network.nodes.count, &random).prefix(Self.authorCount))
    var (first, later) = ([Network.Spread](), [Network.Spread]())
    let begun = now()
    for author in authors {
      first.append(try network.spread(from: author))
      _ = try network.spread(from: author)
      later.append(try network.spread(from: author))
    }
    let seconds = now() - begun
    for node in network.nodes { if let trouble = node.trouble { throw trouble } }
    try network.checkAgreement()
    let count = Double(network.nodes.count)
    func each(_ spreads: [Network.Spread], _ value: (Traffic) -> Int) -> Double {
      spreads.map { Double(value($0.traffic)) / count }.median
    }
    return [
      2 * Double(edges.count) / count, later.map(\.hops).median, each(later, \.messages),
      each(later, \.bytes), each(later) { $0[.sets].bytes }, each(later) { $0[.heads].bytes },
      each(later) { $0[.state].bytes }, each(later, \.sets) * count / (count - 1), first.map(\.hops).median,
      each(first, \.messages), seconds / Double(3 * authors.count) / count * 1e3,
    ]
  }
}
