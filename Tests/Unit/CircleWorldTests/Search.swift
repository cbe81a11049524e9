import Membership
import Replication
import VirtualDisk
import Wire

// The search through all orders of delivery.
//
// A state is the set of delivered items and everything about the node that may matter later, seen or hidden. The search
// is depth first, and goes on from each state once, however many orders lead to it:
//
//     state ──┬── item a ──▶ the same process goes on ──▶ …
//             ├── item b ──▶ a new process on a copy of the disk ──▶ …
//             └── item c ──▶ another one ──▶ …
//
// So each state with several next items is also left by restarts, and each restart is compared with the state before.
// Two orders that lead to the same delivered items must lead to the same lines, because both are compared with the same
// expectation. Hidden parts may differ: whether a set was ever stored decides whether it is in quarantine.
//
// A delivered set is offered again after each further item, as a peer offers what the node lacks. So a state is compared
// twice: before that, when the node has only the item and what it holds, in quarantine or in its logs, and after that.

/// The items that were delivered.
struct Delivered: Hashable {
  var sets: Mask = 0
  var statements: Mask
  var isLate = false
}

enum Item: CustomStringConvertible {
  case set(Int)
  case statement(Int)
  case time

  var description: String {
    switch self {
    case .set(let position): "set \(position)"
    case .statement(let position): "statement \(position)"
    case .time: "time"
    }
  }
}

/// How much was searched.
struct SearchCounts {
  var worlds = 0
  var states = 0
  var deliveries = 0
  var restarts = 0
  var orders = 0.0

  static func + (left: SearchCounts, right: SearchCounts) -> SearchCounts {
    SearchCounts(
      worlds: left.worlds + right.worlds, states: left.states + right.states,
      deliveries: left.deliveries + right.deliveries, restarts: left.restarts + right.restarts,
      orders: left.orders + right.orders)
  }
}

struct Search {
  private struct State: Hashable {
    let delivered: Delivered
    let hidden: String
  }

  private let world: SignedWorld
  private var visited: Set<State> = []
  private(set) var counts = SearchCounts(worlds: 1)
  /// The shortest order that led to a difference, with the difference.
  private(set) var failure: (order: [Item], difference: String)?
  private var failures = 0
  private var expectations: [Expectation.Given: Expectation] = [:]

  init(_ world: SignedWorld) { self.world = world }

  /// Searches a world from a node that holds only the statements of every world.
  mutating func run(from disk: Disk) throws {
    let node = try Node(disk.copy())
    for position in 0..<world.script.heldAtStart { node.receive(world.statements[position]) }
    let start = Delivered(statements: Mask(0..<world.script.heldAtStart))
    try go(on: node, start, held: 0, [])
    var known: [Delivered: Double] = [:]
    counts.orders = orders(from: start, &known)
  }

  // MARK: Orders

  private func next(_ delivered: Delivered) -> [Item] {
    let sets = world.script.sets.indices.filter {
      !delivered.sets.has($0) && world.ancestry.known[$0] & ~delivered.sets == 0
    }
    let statements = world.statements.indices.filter { !delivered.statements.has($0) }
    let time: [Item] = world.script.timePasses && !delivered.isLate ? [.time] : []
    return sets.map(Item.set) + statements.map(Item.statement) + time
  }

  private func adding(_ item: Item, to delivered: Delivered) -> Delivered {
    var delivered = delivered
    switch item {
    case .set(let position): delivered.sets = delivered.sets.with(position)
    case .statement(let position): delivered.statements = delivered.statements.with(position)
    case .time: delivered.isLate = true
    }
    return delivered
  }

  private func orders(from delivered: Delivered, _ known: inout [Delivered: Double]) -> Double {
    if let count = known[delivered] { return count }
    let items = next(delivered)
    let count =
      items.isEmpty ? 1 : items.reduce(0) { $0 + orders(from: adding($1, to: delivered), &known) }
    known[delivered] = count
    return count
  }

  // MARK: Searching

  /// - Parameter held: the sets in the node's logs and in quarantine.
  private mutating func go(
    on node: Node, _ delivered: Delivered, held: Mask, _ order: [Item]
  ) throws {
    let items = next(delivered)
    // Without this, the running process would always receive sets first.
    let turned = items.indices.map { items[($0 + order.count) % items.count] }
    let image = turned.count > 1 ? node.disk.copy() : nil
    var running: Node? = node
    for (number, item) in turned.enumerated() where failures < 20 {
      let current: Node
      if let node = running {
        current = node
      } else {
        guard let image else { return }
        current = try Node(image.copy(), isLate: delivered.isLate)
        counts.restarts += 1
        if number == 1 { _ = try compare(current, delivered, order, nil, "after a restart") }
      }
      running = nil
      let after = adding(item, to: delivered)
      guard let observed = try deliver(item, to: current, after, held: held, order + [item]) else { continue }
      if visited.insert(State(delivered: after, hidden: observed.hidden)).inserted {
        counts.states += 1
        try go(on: current, after, held: observed.stored | observed.quarantined, order + [item])
      }
    }
  }

  /// - Returns: the state after that; nil if it is wrong.
  private mutating func deliver(
    _ item: Item, to node: Node, _ delivered: Delivered, held: Mask, _ order: [Item]
  ) throws -> Observation? {
    counts.deliveries += 1
    var held = held
    switch item {
    case .set(let position):
      held = held.with(position)
      node.receive([world.sets[position]])
    case .statement(let position): node.receive(world.statements[position])
    case .time: node.letTimePass()
    }
    if held != delivered.sets {
      let observed = try compare(node, delivered, order, held, "before peers send more")
      if observed == nil { return nil }
    }
    try offer(delivered.sets, to: node)
    return try compare(node, delivered, order, nil, "in the end")
  }

  /// Sends the sets that the node does not hold until it holds no more of them. Quarantined sets have to return by
  /// themselves, because no peer may have kept them.
  private func offer(_ sets: Mask, to node: Node) throws {
    var held = try Observation.held(node, world)
    while sets & ~held != 0 {
      node.receive((sets & ~held).positions.map { world.sets[$0] })
      let now = try Observation.held(node, world)
      if now == held { return }
      held = now
    }
  }

  private mutating func compare(
    _ node: Node, _ delivered: Delivered, _ order: [Item], _ held: Mask?, _ moment: String
  ) throws -> Observation? {
    let observed = try Observation(node, world)
    let given = Expectation.Given(
      sets: held ?? delivered.sets, delivered: delivered, absent: observed.absent)
    let expected = expectations[given] ?? Expectation(world, given)
    expectations[given] = expected
    guard let difference = expected.difference(from: observed) else { return observed }
    failures += 1
    if failure.map({ order.count < $0.order.count }) ?? true { failure = (order, "\(moment): \(difference)") }
    return nil
  }
}
