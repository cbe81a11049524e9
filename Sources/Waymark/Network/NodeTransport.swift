package import Replication
package import SecureChannel
package import Transport

/// Where a node's connections come from: sockets, unless it is opened with another.
package protocol NodeTransport: Sendable {
  /// Binds at once; accepts from the listener's `start()` on.
  ///
  /// - Throws: `ListenError`
  func listen(
    on endpoint: Endpoint, roleFor: @escaping @Sendable (SocketAddress) -> ChannelRole,
    settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeListener

  /// A link that will dial: nothing happens until its `start()`.
  func dial(
    _ endpoint: Endpoint, role: ChannelRole, settings: LinkSettings<Inbound>, handlers: NodeLinkHandlers
  ) throws -> any NodeLink

  /// Whether this machine can come to have other addresses.
  var hasInterfaces: Bool { get }
  /// The addresses that this node's end of a connection can have now; nil if the system can't tell.
  var interfaces: [NetworkInterface]? { get }
}

/// Lets others in where a node listens.
package protocol NodeListener: Sendable {
  /// The address in use.
  var address: SocketAddress { get }
  func start()
  /// Accepts no more; links that exist go on.
  func close()
}

/// One connection, as a node sees it; all of it may be called from anywhere. What each does, `Link` says.
package protocol NodeLink: AnyObject, Sendable {
  func start()
  @discardableResult func send(_ message: [UInt8]) -> Bool
  func takeInbox(atMost bytesMax: Int) -> (messages: [Inbound], isMore: Bool)
  func admit()
  func close()
  func closeAtOnce()
  func abandon()
  func leave(unlessOn hosts: Set<String>)
  var inboxBytes: Int { get }
  var outboundBytes: Int { get }
  var byteCounts: (received: Int, sent: Int) { get }
  var remoteAddress: SocketAddress? { get }
  /// Milliseconds since the last byte came; since the link began if none has.
  var quietMilliseconds: Int64 { get }
}

/// What a link tells its node; in which order, `LinkHandlers` says.
package struct NodeLinkHandlers: Sendable {
  package let opened: @Sendable (any NodeLink, ChannelOpening) -> Void
  package let received: @Sendable (any NodeLink) -> Void
  package let drained: @Sendable (any NodeLink) -> Void
  package let closed: @Sendable (any NodeLink, LinkEnd) -> Void
}

/// What a raw message of a link is: sessions speak in arrays, pairing in maps.
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

/// Connections over TCP.
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
  /// Takes as many open files as the system allows, up to what a node can use.
  ///
  /// - Throws: `WaymarkError` if they are too few: then it is better to say so than to fail in the middle of work.
  package static func takeDescriptors() throws {
    guard let count = DescriptorLimit.raise(), count < Limits.descriptorsMin else { return }
    throw WaymarkError.failed(
      .tooFewFiles,
      "A process may have only \(count) files open at once here; a node needs \(Limits.descriptorsMin).",
      next: "ulimit -n \(Limits.descriptorsUseful), then \(waymark: "run")")
  }
}
