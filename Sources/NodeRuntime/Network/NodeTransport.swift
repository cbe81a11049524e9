import Home
import Reasons
package import Replication
package import SecureChannel
package import Transport
package import Wire

/// The transport of a node: TCP sockets, unless the node is opened with another transport.
package protocol NodeTransport: Sendable {
  /// Binds to the endpoint at once. The listener accepts connections once its `start()` is called.
  ///
  /// - Throws: `ListenError`
  func listen(
    on endpoint: Endpoint, roleFor: @escaping @Sendable (SocketAddress) -> ChannelRole,
    settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeListener

  /// Creates a link that dials once its `start()` is called.
  func dial(
    _ endpoint: Endpoint, role: ChannelRole, settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeLink

  /// Whether this machine's addresses can change.
  var hasInterfaces: Bool { get }
  /// The interfaces that this machine has now, with their addresses; nil if the system can't tell.
  var interfaces: [NetworkInterface]? { get }
}

/// Accepts incoming connections.
package protocol NodeListener: Sendable {
  /// The address at which the listener accepts connections.
  var address: SocketAddress { get }
  func start()
  /// Stops accepting; existing links continue.
  ///
  /// - Parameter whenClosed: called once the address is free, on any thread.
  func close(whenClosed: @escaping @Sendable () -> Void)
}

/// A connection as seen by a node. All members may be called from any thread; `Link` documents them.
package protocol NodeLink: AnyObject, Sendable {
  func start()
  @discardableResult func send(_ message: [UInt8], as sendClass: SendClass) -> Bool
  func takeInbox(atMost bytesMax: Int) -> (messages: [Inbound], isMore: Bool)
  func admit()
  func close()
  func closeAtOnce()
  func abandon()
  func leave(unlessOn hosts: Set<String>)
  var inboxBytes: Int { get }
  func isCongested(for sendClass: SendClass) -> Bool
  var byteCounts: (received: Int, sent: Int) { get }
  var remoteAddress: SocketAddress? { get }
  /// The number of milliseconds since the last byte was received or, if none was, since the link started.
  var quietMilliseconds: Int64 { get }
}

/// The callbacks of a link to its node; `LinkHandlers` documents their order.
package struct NodeLinkHandlers: Sendable {
  package let opened: @Sendable (any NodeLink, ChannelOpening) -> Void
  package let received: @Sendable (any NodeLink) -> Void
  package let drained: @Sendable (any NodeLink) -> Void
  package let closed: @Sendable (any NodeLink, LinkEnd) -> Void
}

/// A decoded message of a link. Session messages are CBOR arrays, pairing messages are maps.
package enum Inbound: Sendable {
  case session(Message)
  case pairing([UInt8])

  init(decoding bytes: [UInt8]) throws {
    if let first = bytes.first, first >> 5 == 5 {
      self = .pairing(bytes)
    } else {
      self = .session(try Message(decoding: bytes))
    }
  }
}

// MARK: Sockets

/// The transport over TCP sockets.
struct SocketTransport: NodeTransport {
  func listen(
    on endpoint: Endpoint, roleFor: @escaping @Sendable (SocketAddress) -> ChannelRole,
    settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeListener {
    try Listener(on: endpoint, roleFor: roleFor, settings: settings, handlers: LinkHandlers(handlers))
  }

  func dial(
    _ endpoint: Endpoint, role: ChannelRole, settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeLink {
    try Link(dialing: endpoint, role: role, settings: settings, handlers: LinkHandlers(handlers))
  }

  var hasInterfaces: Bool { true }
  var interfaces: [NetworkInterface]? { NetworkInterface.all }
}

extension Listener<Inbound>: NodeListener {}

extension Link<Inbound>: NodeLink {
  package nonisolated var quietMilliseconds: Int64 { counters.quietMilliseconds }
}

extension LinkHandlers<Inbound> {
  fileprivate init(_ handlers: NodeLinkHandlers) {
    self.init(
      opened: { handlers.opened($0, $1) }, received: { handlers.received($0) },
      drained: { handlers.drained($0) }, closed: { handlers.closed($0, $1) })
  }
}

extension ProcessGuard {
  /// Raises this process's limit on open files as far as the system allows, up to what a node can use.
  ///
  /// - Throws: `WaymarkError` if the limit is too low; failing now is better than failing in the middle of work.
  package static func takeDescriptors() throws {
    guard let count = DescriptorLimit.raise(), count < Limits.descriptorsMin else { return }
    throw WaymarkError.failed(
      .tooFewFiles,
      "The limit on open files is \(count) per process here; a node needs at least \(Limits.descriptorsMin).",
      next: "ulimit -n \(Limits.descriptorsUseful), then \(waymark: "run")")
  }
}
