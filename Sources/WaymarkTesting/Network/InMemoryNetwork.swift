import SecureChannel
import Synchronization
import Transport
import Waymark

/// A network in memory: nodes listen and dial on it as they do on real ones, and nobody else can reach it.
final class InMemoryNetwork: Sendable {
  /// Two machines, in order.
  struct Pair: Hashable, Sendable {
    let first: Int
    let second: Int

    init(_ one: Int, _ other: Int) {
      first = min(one, other)
      second = max(one, other)
    }
  }

  /// Who answers at an address.
  struct Responder: Sendable {
    let machine: Int
    let roleFor: @Sendable (SocketAddress) -> ChannelRole
    let settings: LinkSettings<Inbound>
    let handlers: NodeLinkHandlers
  }

  private struct State {
    var responders: [SocketAddress: Responder] = [:]
    var cuts: Set<Pair> = []
    var links: [Pair: [ObjectIdentifier: InMemoryLink]] = [:]
    var nextPort: UInt16 = 49_152
  }

  let clock: VirtualClock
  private let state = Mutex(State())

  init(clock: VirtualClock) { self.clock = clock }

  // MARK: Reaching each other

  /// Cuts the way between two machines, or opens it. What is open over it breaks off.
  func cut(_ pair: Pair, _ isCut: Bool) {
    let broken = state.withLock { state -> [InMemoryLink] in
      guard isCut else {
        state.cuts.remove(pair)
        return []
      }
      state.cuts.insert(pair)
      return Array((state.links[pair] ?? [:]).values)
    }
    for link in broken { link.breakOff() }
  }

  func isCut(_ pair: Pair) -> Bool { state.withLock { $0.cuts.contains(pair) } }

  // MARK: What transports and links ask

  func listen(at address: SocketAddress, _ responder: Responder) -> Bool {
    state.withLock { state in
      guard state.responders[address] == nil else { return false }
      state.responders[address] = responder
      return true
    }
  }

  func forget(_ address: SocketAddress) { state.withLock { _ = $0.responders.removeValue(forKey: address) } }

  /// A port that nobody has had; gives the first again after all the others.
  func freePort() -> UInt16 {
    state.withLock { state in
      defer { state.nextPort = state.nextPort == .max ? 49_152 : state.nextPort + 1 }
      return state.nextPort
    }
  }

  /// Who answers at an address; nil if nobody listens there.
  func responder(at address: SocketAddress) -> Responder? { state.withLock { $0.responders[address] } }

  /// Takes note of a link; false if the way between its ends is cut.
  func opened(_ link: InMemoryLink, _ pair: Pair) -> Bool {
    state.withLock { state in
      guard !state.cuts.contains(pair) else { return false }
      state.links[pair, default: [:]][ObjectIdentifier(link)] = link
      return true
    }
  }

  func ended(_ link: InMemoryLink, _ pair: Pair) {
    state.withLock { _ = $0.links[pair]?.removeValue(forKey: ObjectIdentifier(link)) }
  }
}

/// One machine on a network in memory.
struct InMemoryTransport: NodeTransport {
  let network: InMemoryNetwork
  /// From 1.
  let machine: Int

  /// Of the prefix that is kept for documentation: no machine has it.
  var host: String { "2001:db8::\(String(machine, radix: 16))" }

  /// Where a node on it listens if it is not told.
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

  func close() { network.forget(address) }
}
