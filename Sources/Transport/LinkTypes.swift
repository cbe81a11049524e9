package import SecureChannel
import Wire

/// Why a link ended.
package enum LinkEnd: Hashable, Sendable {
  // Before there was a connection.
  /// Nobody listens there.
  case refused
  /// No answer, or no complete handshake, in time.
  case timeout
  case noRoute
  /// The name has no address.
  case unresolved
  /// The system would not give us a socket.
  case failed(SystemError)

  // During the handshake.
  /// Neither side proved anything, or the other end hung up.
  case handshakeFailed
  case versionMismatch(theirs: UInt8)
  /// We would not talk to that key, or know no such ticket.
  case notAuthorized

  // After it.
  /// The other end closed in good order.
  case closedByPeer
  /// The connection broke, or the other end hung up without a word.
  case truncated
  /// Bytes or frames that no honest end sends.
  case violation
  /// A message that `decode` refused.
  case invalidMessage
  /// The other end sends or takes so slowly that it holds us up.
  case slow
  /// Nothing came for too long.
  case idle
  /// More to send than `LinkLimits.sendBufferBytesMax`.
  case bufferOverflow
  /// `close()` was called here.
  case closedHere
}

/// The numbers of a link; all from `Limits` unless a test wants others.
package struct LinkLimits: Sendable {
  package var connectMilliseconds = Limits.handshakeMillisecondsMax
  package var handshakeMilliseconds = Limits.handshakeMillisecondsMax
  package var idleMilliseconds = Limits.idleMillisecondsMax
  package var slowMilliseconds = Limits.slowMilliseconds
  package var slowBytesPerSecond = Limits.slowBytesPerSecondMin
  package var sendBufferBytesMax = Limits.sendBufferBytesMax
  package var receiveBufferBytesMax = Limits.receiveBufferBytesMax
  /// Below this the outbound buffer asks for more.
  package var sendBufferLowWater = Limits.sendBufferBytesMax / 8
  /// How long a closing link tries to say so.
  package var lingerMilliseconds: Int64 = 2_000

  package init() {}

  /// How often the deadlines are looked at while something is under way.
  var tickMilliseconds: Int64 {
    let shortest = min(
      connectMilliseconds, handshakeMilliseconds, idleMilliseconds, slowMilliseconds, lingerMilliseconds)
    return max(5, min(1_000, shortest / 4))
  }
}

/// What all links of a node have in common. `Message` is what a raw message becomes on the link's own queue.
package struct LinkSettings<Message: Sendable>: Sendable {
  /// The static key and an ephemeral one that is new at each call.
  package let makeKeys: @Sendable () throws -> ChannelKeys
  /// Parses and verifies one raw message, off the node's actor; throwing ends the link.
  package let decode: @Sendable ([UInt8]) throws -> Message
  package var limits: LinkLimits

  package init(
    limits: LinkLimits = LinkLimits(), makeKeys: @escaping @Sendable () throws -> ChannelKeys,
    decode: @escaping @Sendable ([UInt8]) throws -> Message
  ) {
    self.limits = limits
    self.makeKeys = makeKeys
    self.decode = decode
  }
}

/// What a link tells. All are called on its queue, in this order: `opened` once, then any of the middle two,
/// then `closed` once (without `opened` if it never was).
package struct LinkHandlers<Message: Sendable>: Sendable {
  package var opened: @Sendable (Link<Message>, ChannelOpening) -> Void
  /// The inbox was empty and is not any more: take it.
  package var received: @Sendable (Link<Message>) -> Void
  /// The outbound buffer was above the low-water mark and is below it again.
  package var drained: @Sendable (Link<Message>) -> Void
  package var closed: @Sendable (Link<Message>, LinkEnd) -> Void

  package init(
    opened: @escaping @Sendable (Link<Message>, ChannelOpening) -> Void,
    received: @escaping @Sendable (Link<Message>) -> Void,
    drained: @escaping @Sendable (Link<Message>) -> Void = { _ in },
    closed: @escaping @Sendable (Link<Message>, LinkEnd) -> Void
  ) {
    self.opened = opened
    self.received = received
    self.drained = drained
    self.closed = closed
  }
}

/// What has gone over a link.
package struct LinkCounters: Hashable, Sendable {
  package var bytesIn: Int = 0
  package var bytesOut: Int = 0
  /// Milliseconds since the last byte came; since the link began if none has.
  package var quietMilliseconds: Int64 = 0
}
