// Protocol/channel.md, "Failures".

/// Why a channel ends. Deliberately coarse; never sent to the other end.
package enum ChannelError: Error, Hashable, Sendable {
  /// The other end could not prove its key, or its bytes are not a handshake.
  case handshakeFailed
  /// The other end speaks another version of the protocol.
  case versionMismatch(theirs: UInt8)
  /// We refuse this key, or do not know the ticket.
  case refused
  /// After the handshake: bytes that were tampered with or that violate the protocol.
  case violation
  /// One of our own messages is larger than `Limits.messageBytesMax`, or a payload is too large for the handshake.
  case messageTooLarge
  /// A cipher's counter is exhausted; a new channel is needed.
  case exhausted
}
