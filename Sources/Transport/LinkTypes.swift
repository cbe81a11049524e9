package import SecureChannel
import Wire

/// Why a link ended.
package enum LinkEnd: Hashable, Sendable {
  // Before the connection.
  /// Nothing is listening at the address.
  case refused
  /// The peer did not answer, or the handshake was not complete, in time.
  case timeout
  case noRoute
  /// The host name does not resolve to an address.
  case unresolved
  /// The system did not provide a socket.
  case failed(SystemError)

  // During the handshake.
  /// One side failed to prove that it has its keys, or the peer hung up.
  case handshakeFailed
  case versionMismatch(theirs: UInt8)
  /// We do not accept the peer's key, or do not know the ticket that it used.
  case notAuthorized

  // After the handshake.
  /// The peer closed the channel.
  case closedByPeer
  /// The connection broke, or the peer hung up without a close.
  case truncated
  /// The peer sent bytes or frames that no correct peer sends.
  case violation
  /// The peer sent a message that `decode` rejected.
  case invalidMessage
  /// The peer sends or receives too slowly.
  case slow
  /// Nothing was received for too long.
  case idle
  /// There was more to send than `LinkLimits.sendBufferBytesMax` allows.
  case bufferOverflow
  /// `close()` was called here.
  case closedHere
}

/// The limits of a link. Most defaults come from `Limits`; tests may set other limits.
package struct LinkLimits: Sendable {
  package var connectMilliseconds = Limits.handshakeMillisecondsMax
  /// How long an accepted link waits for an authentic preamble. Until then, it behaves the same whatever it receives.
  package var preambleMilliseconds = Limits.preambleMillisecondsMax
  /// How long a handshake may take, including the preamble.
  package var handshakeMilliseconds = Limits.handshakeMillisecondsMax
  package var idleMilliseconds = Limits.idleMillisecondsMax
  package var slowMilliseconds = Limits.slowMilliseconds
  package var slowBytesPerSecond = Limits.slowBytesPerSecondMin
  package var sendBufferBytesMax = Limits.sendBufferBytesMax
  package var receiveBufferBytesMax = Limits.receiveBufferBytesMax
  /// Once the outbound buffer drains to this size, the owner is asked for more.
  package var sendBufferLowWater = Limits.sendBufferBytesMax / 8
  /// How long a closing link tries to send its close.
  package var lingerMilliseconds: Int64 = 2_000

  package init() {}

  /// The interval at which deadlines are checked while something is in progress.
  var tickMilliseconds: Int64 {
    let shortest = min(
      connectMilliseconds, preambleMilliseconds, handshakeMilliseconds, idleMilliseconds, slowMilliseconds,
      lingerMilliseconds)
    return max(5, min(1_000, shortest / 4))
  }
}

/// The settings that all links of a node share. `Message` is the type to which a link decodes each raw message, on its
/// own queue.
package struct LinkSettings<Message: Sendable>: Sendable {
  /// Creates the channel's keys: the static key, and an ephemeral key that is new for each call.
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

/// The callbacks of a link, all called on its queue: `opened` once, then `received` and `drained` any number of times,
/// then `closed` once. `closed` is called even if `opened` never was.
package struct LinkHandlers<Message: Sendable>: Sendable {
  package var opened: @Sendable (Link<Message>, ChannelOpening) -> Void
  /// Called when the inbox was empty and has messages now.
  package var received: @Sendable (Link<Message>) -> Void
  /// Called when a class of messages for which the link was congested has room again.
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

/// The numbers of bytes that a link has received and sent so far, and the time since it last received any.
package struct LinkCounters: Hashable, Sendable {
  package var bytesIn: Int = 0
  package var bytesOut: Int = 0
  /// Milliseconds since the last byte was received, or since the link was created if none has been received.
  package var quietMilliseconds: Int64 = 0
}
