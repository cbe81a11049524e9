import NodeRuntime
import SecureChannel
import Synchronization
import Transport
import Waymark

/// An isolated in-memory network on which nodes listen and dial as on a real network.
final class InMemoryNetwork: Sendable {
  /// An unordered pair of machines.
  struct Pair: Hashable, Sendable {
    let first: Int
    let second: Int

    init(_ one: Int, _ other: Int) {
      first = min(one, other)
      second = max(one, other)
    }
  }

  /// A node's listener at an address.
  struct Responder: Sendable {
    let machine: Int
    let roleFor: @Sendable (SocketAddress) -> ChannelRole
    let settings: LinkSettings<Inbound>
    let handlers: NodeLinkHandlers
  }

  private struct State {
    var responders: [SocketAddress: Responder] = [:]
    var cuts: Set<Pair> = []
    /// The machines that have stopped: they reach no other, whatever is cut.
    var stopped: Set<Int> = []
    var links: [Pair: [InMemoryLink]] = [:]
    var nextPort: UInt16 = 49_152

    func isCut(_ pair: Pair) -> Bool {
      cuts.contains(pair) || stopped.contains(pair.first) || stopped.contains(pair.second)
    }

    /// The links of a machine, or of all, in a fixed order.
    func links(of machine: Int?) -> [InMemoryLink] {
      let wanted = links.filter { pair, _ in machine.map { $0 == pair.first || $0 == pair.second } ?? true }
      return wanted.sorted { ($0.key.first, $0.key.second) < ($1.key.first, $1.key.second) }.flatMap(\.value)
    }
  }

  let clock: VirtualClock
  private let state = Mutex(State())

  init(clock: VirtualClock) { self.clock = clock }

  // MARK: Cuts

  /// Cuts the path between two machines and breaks their connections, or restores the path.
  func cut(_ pair: Pair, _ isCut: Bool) {
    let broken = state.withLock { state -> [InMemoryLink] in
      guard isCut else {
        state.cuts.remove(pair)
        return []
      }
      state.cuts.insert(pair)
      return state.links[pair] ?? []
    }
    for link in broken { link.breakOff() }
  }

  func isCut(_ pair: Pair) -> Bool { state.withLock { $0.isCut(pair) } }

  /// Stops a machine: breaks its connections, and prevents others until it runs again.
  func stop(_ machine: Int, _ isStopped: Bool) {
    let broken = state.withLock { state -> [InMemoryLink] in
      guard isStopped else {
        state.stopped.remove(machine)
        return []
      }
      state.stopped.insert(machine)
      return state.links(of: machine)
    }
    for link in broken { link.breakOff() }
  }

  /// Breaks all connections. The machines may connect again at once.
  func breakConnections() {
    for link in state.withLock({ $0.links(of: nil) }) { link.breakOff() }
  }

  // MARK: Listeners and links

  func listen(at address: SocketAddress, _ responder: Responder) -> Bool {
    state.withLock { state in
      guard state.responders[address] == nil else { return false }
      state.responders[address] = responder
      return true
    }
  }

  func forget(_ address: SocketAddress) { state.withLock { _ = $0.responders.removeValue(forKey: address) } }

  /// Returns the next ephemeral port; starts over after the last one.
  func freePort() -> UInt16 {
    state.withLock { state in
      defer { state.nextPort = state.nextPort == .max ? 49_152 : state.nextPort + 1 }
      return state.nextPort
    }
  }

  /// Returns the listener at an address; nil if there is none.
  func responder(at address: SocketAddress) -> Responder? { state.withLock { $0.responders[address] } }

  /// Registers a link; returns false, without registering it, if the path between its ends is cut.
  func opened(_ link: InMemoryLink, _ pair: Pair) -> Bool {
    state.withLock { state in
      guard !state.isCut(pair) else { return false }
      state.links[pair, default: []].append(link)
      return true
    }
  }

  func ended(_ link: InMemoryLink, _ pair: Pair) {
    state.withLock { _ = $0.links[pair]?.removeAll { $0 === link } }
  }
}

/// The transport of one machine on an in-memory network.
struct InMemoryTransport: NodeTransport {
  let network: InMemoryNetwork
  /// The number of the machine, from 1.
  let machine: Int

  /// An address with the IPv6 documentation prefix, which no real machine has.
  var host: String { "2001:db8::\(String(machine, radix: 16))" }

  /// The default address on which a node listens.
  var listen: String { "[\(host)]:7433" }

  func listen(
    on endpoint: Endpoint, roleFor: @escaping @Sendable (SocketAddress) -> ChannelRole,
    settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeListener {
    let port = endpoint.port == 0 ? network.freePort() : endpoint.port
    guard let address = SocketAddress.numeric(host, port: port) else { throw ListenError.notHere(endpoint) }
    let responder = InMemoryNetwork.Responder(
      machine: machine, roleFor: roleFor, settings: settings, handlers: handlers)
    return InMemoryListener(network: network, address: address, responder: responder)
  }

  func dial(
    _ endpoint: Endpoint, role: ChannelRole, settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeLink {
    try InMemoryLink(
      network: network, machine: machine, dialling: endpoint,
      from: SocketAddress.numeric(host, port: network.freePort()), role: role, settings: settings,
      handlers: handlers)
  }

  var hasInterfaces: Bool { false }
  var interfaces: [NetworkInterface]? { nil }
}

private struct InMemoryListener: NodeListener {
  let network: InMemoryNetwork
  let address: SocketAddress
  let responder: InMemoryNetwork.Responder

  func start() { _ = network.listen(at: address, responder) }

  func close(whenClosed: @escaping @Sendable () -> Void) {
    network.forget(address)
    whenClosed()
  }
}
