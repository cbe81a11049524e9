import Enrolment
import NodeRuntime
import SecureChannel
import Synchronization
import Testing
import Waymark
import WaymarkTesting
import Wire

@testable import Transport

/// A transport without a network. The test decides how each attempt to connect ends, and which addresses this machine
/// has.
final class ScriptedTransport: NodeTransport {
  private struct State {
    var address: SocketAddress
    var interfaces: [NetworkInterface]?
    var refusal: ListenError?
    var dialled: [String] = []
  }

  private let end: LinkEnd
  private let state: Mutex<State>

  /// - Parameters:
  ///   - address: where the node listens.
  ///   - hosts: the addresses of this machine's interfaces.
  ///   - end: how each attempt to connect ends.
  init(at address: String, hosts: [String] = [], end: LinkEnd = .refused) throws {
    self.end = end
    state = Mutex(
      State(
        address: try ScriptedTransport.address(address),
        interfaces: try hosts.map { try ScriptedTransport.interface($0) }))
  }

  static func address(_ text: String) throws -> SocketAddress {
    let endpoint = try #require(Endpoint(text))
    return try #require(SocketAddress.numeric(endpoint.host, port: endpoint.port))
  }

  static func interface(
    _ host: String, name: String = "eth0", flags: UInt32 = 0
  ) throws -> NetworkInterface {
    NetworkInterface(
      name: name, flags: flags, address: try #require(SocketAddress.numeric(host, port: 0)),
      mask: SocketAddress.numeric("255.255.255.0", port: 0))
  }

  /// Creates a founder whose node uses this transport.
  func node(clock: VirtualClock, log: NodeLog = .silent) throws -> Node {
    try Node(
      CircleCreation(name: "alice", now: clock.wall()), in: NodeEnvironment(clock: clock, transport: self),
      log: log)
  }

  // MARK: What the test sets and sees

  /// Where the node listens.
  var address: SocketAddress {
    get { state.withLock { $0.address } }
    set { state.withLock { $0.address = newValue } }
  }

  /// The interfaces; nil if the system can't tell.
  var interfaces: [NetworkInterface]? {
    get { state.withLock { $0.interfaces } }
    set { state.withLock { $0.interfaces = newValue } }
  }

  /// Why the node can't listen; nil if it can.
  var refusal: ListenError? {
    get { state.withLock { $0.refusal } }
    set { state.withLock { $0.refusal = newValue } }
  }

  /// The addresses that were dialled, in order.
  var dialled: [String] { state.withLock { $0.dialled } }

  var listener: any NodeListener { ScriptedListener(transport: self) }

  // MARK: NodeTransport

  func listen(
    on endpoint: Endpoint, roleFor: @escaping @Sendable (SocketAddress) -> ChannelRole,
    settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeListener {
    if let refusal { throw refusal }
    return listener
  }

  func dial(
    _ endpoint: Endpoint, role: ChannelRole, settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeLink {
    state.withLock { $0.dialled.append(endpoint.description) }
    return ScriptedLink(whenStarted: { [end] link in handlers.closed(link, end) })
  }

  var hasInterfaces: Bool { true }
}

private struct ScriptedListener: NodeListener {
  let transport: ScriptedTransport

  var address: SocketAddress { transport.address }

  func start() {}

  func close(whenClosed: @escaping @Sendable () -> Void) { whenClosed() }
}

/// A link on which nothing arrives. It notes how it was ended.
final class ScriptedLink: NodeLink {
  private struct State {
    var endings: [String] = []
    var hosts: [Set<String>] = []
  }

  private let state = Mutex(State())
  private let whenStarted: (@Sendable (ScriptedLink) -> Void)?

  init(whenStarted: (@Sendable (ScriptedLink) -> Void)? = nil) { self.whenStarted = whenStarted }

  /// The calls that end a link, in order.
  var endings: [String] { state.withLock { $0.endings } }

  /// The addresses of this machine, each time the link was told to end unless it has one of them.
  var hosts: [Set<String>] { state.withLock { $0.hosts } }

  private func end(_ how: String) { state.withLock { $0.endings.append(how) } }

  func start() { whenStarted?(self) }

  @discardableResult
  func send(_ message: [UInt8], as sendClass: SendClass) -> Bool { true }

  func takeInbox(atMost bytesMax: Int) -> (messages: [Inbound], isMore: Bool) { ([], false) }

  func admit() {}

  func close() { end("close") }

  func closeAtOnce() { end("closeAtOnce") }

  func abandon() { end("abandon") }

  func leave(unlessOn hosts: Set<String>) { state.withLock { $0.hosts.append(hosts) } }

  var inboxBytes: Int { 0 }

  func isCongested(for sendClass: SendClass) -> Bool { false }

  var byteCounts: (received: Int, sent: Int) { (0, 0) }

  var remoteAddress: SocketAddress? { nil }

  var quietMilliseconds: Int64 { 0 }
}
