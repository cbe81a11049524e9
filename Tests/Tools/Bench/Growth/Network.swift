import Engine
import Membership
import Processes
import Replication
import Storage
import Wire

/// Nodes in memory, exchanging the real messages, under a clock that jumps.
///
/// Every message takes the same time, so that a period is a number of hops. Nothing gets lost and every node is
/// correct: all else is the simulator's task.
final class Network {
  static let start: Moment = 1_800_000_000_000

  let family: Family
  private let hopMilliseconds: Moment
  private(set) var nodes: [InMemoryNode] = []
  private(set) var traffic = Traffic()
  private(set) var now: Moment = 0
  private var links: [Link] = []
  private var due: [Moment: [Event]] = [:]
  /// The set under measurement, which nodes have it, and when the last one received it.
  private var awaited: (id: ChangeSetID, holders: Int, since: Moment)?

  private struct Link {
    let ends: [Int]
    var isOpen = true
    /// Bytes in flight to each end.
    var underWay = [0, 0]
    /// Whether each end was told that there is no room.
    var isFull = [false, false]
  }

  private enum Event {
    case input(node: Int, Input)
    case message(LinkID, end: Int, Message, bytes: Int)
    case timer(node: Int, ReplicaTimer, order: Int)
  }

  init(_ family: Family, hopMilliseconds: Moment = 10) {
    self.family = family
    self.hopMilliseconds = hopMilliseconds
  }

  var time: Now { Now(wall: Self.start + now, steady: now) }

  func add(_ node: InMemoryNode) {
    nodes.append(node)
    node.handle([.started])
  }

  // MARK: Links

  /// One node dials another.
  @discardableResult
  func connect(_ dialler: Int, _ dialled: Int) throws -> LinkID {
    let id = LinkID(UInt64(links.count))
    let replicator = nodes[dialler].replicator
    guard
      let introduction = replicator.circle.introduction(of: replicator.device, wallMilliseconds: time.wall)
    else {
      throw Failure("node \(dialler) is not a member")
    }
    links.append(Link(ends: [dialler, dialled]))
    later(
      hopMilliseconds,
      .input(
        node: dialled,
        .opened(id, remote: nodes[dialler].transport, introduction: introduction.encoded)))
    nodes[dialler].handle([.opened(id, remote: nodes[dialled].transport, introduction: nil)])
    return id
  }

  func disconnect(_ id: LinkID) {
    let index = Int(id.rawValue)
    guard links[index].isOpen else { return }
    links[index].isOpen = false
    for node in links[index].ends { later(1, .input(node: node, .closed(id))) }
  }

  func send(_ bytes: [UInt8], on id: LinkID, from node: Int) throws {
    let index = Int(id.rawValue)
    guard links[index].isOpen else { return }
    let end = links[index].ends[0] == node ? 1 : 0
    let message = try Message(decoding: bytes)
    let sealed = bytes.count + Self.sealBytes * (bytes.count / Limits.frameBytesMax + 1)
    traffic.count(message, bytes: sealed)
    links[index].underWay[end] += sealed
    later(hopMilliseconds, .message(id, end: end, message, bytes: sealed))
  }

  /// Overhead of a sealed frame: length, kind of fragment, authentication.
  private static let sealBytes = 2 + 1 + 16

  func isCongested(_ id: LinkID, from node: Int) -> Bool {
    let index = Int(id.rawValue)
    let end = links[index].ends[0] == node ? 1 : 0
    guard links[index].underWay[end] > Limits.sendBufferBytesMax / 8 else { return false }
    links[index].isFull[end] = true
    return true
  }

  func forgetTraffic() { traffic = Traffic() }

  // MARK: Time

  func schedule(_ timer: ReplicaTimer, after milliseconds: Moment, for node: Int, order: Int) {
    later(max(milliseconds, 1), .timer(node: node, timer, order: order))
  }

  private func later(_ milliseconds: Moment, _ event: Event) {
    due[now + milliseconds, default: []].append(event)
  }

  /// Lets time pass: a fixed period, or until a condition holds.
  @discardableResult
  func run(_ milliseconds: Moment, until isSo: () -> Bool = { false }) -> Bool {
    let end = now + milliseconds
    while !isSo() {
      guard let next = due.keys.min(), next <= end else {
        now = end
        return isSo()
      }
      now = next
      turn(due.removeValue(forKey: next) ?? [])
    }
    return true
  }

  /// Everything that reaches a node at one moment shares an event-loop turn, as in the real node.
  private func turn(_ events: [Event]) {
    var order: [Int] = []
    var inputs: [Int: [Input]] = [:]
    for event in events {
      guard let (node, input) = arrived(event) else { continue }
      if inputs[node] == nil { order.append(node) }
      inputs[node, default: []].append(input)
    }
    for node in order { nodes[node].handle(inputs[node] ?? []) }
  }

  private func arrived(_ event: Event) -> (node: Int, Input)? {
    switch event {
    case .input(let node, let input): return (node, input)
    case .timer(let node, let timer, let order):
      return nodes[node].takes(timer, order) ? (node, .timer(timer)) : nil
    case .message(let id, let end, let message, let bytes):
      let index = Int(id.rawValue)
      links[index].underWay[end] -= bytes
      if links[index].isFull[end], links[index].underWay[end] == 0 {
        links[index].isFull[end] = false
        later(1, .input(node: links[index].ends[1 - end], .drained(id)))
      }
      return links[index].isOpen ? (links[index].ends[end], .received(id, message)) : nil
    }
  }

  // MARK: One change

  /// The cost until all nodes had a change, and until they sent nothing more about it.
  struct Spread {
    let hops: Double
    let traffic: Traffic
  }

  /// One node writes; the others receive the change without the periodic comparison.
  func spread(from node: Int) throws -> Spread {
    forgetTraffic()
    let begun = now
    let ids = try nodes[node].write()
    guard let id = ids.last else { throw Failure("node \(node) wrote nothing") }
    awaited = (id, 1, now)
    defer { awaited = nil }
    let count = nodes.count
    guard run(60_000, until: { self.awaited?.holders == count }) else {
      throw Failure("a change of node \(node) reached \(awaited?.holders ?? 0) of \(count) nodes in a minute")
    }
    let hops = Double(now - begun) / Double(hopMilliseconds)
    run(Self.quietMilliseconds)
    return Spread(hops: hops, traffic: traffic)
  }

  func stored(_ heads: [LogHead]) {
    guard let awaited, heads.contains(where: { $0.id == awaited.id }) else { return }
    self.awaited = (awaited.id, awaited.holders + 1, now)
  }

  /// When all messages about the last change have been sent; nothing is compared again before the next change.
  static let quietMilliseconds: Moment = 3_000

  /// - Throws: if two nodes do not hold the same.
  func checkAgreement() throws {
    let digests = Set(nodes.map { $0.replicator.store.digest(.records).sum })
    guard digests.count == 1 else { throw Failure("the nodes hold \(digests.count) different states") }
  }
}
