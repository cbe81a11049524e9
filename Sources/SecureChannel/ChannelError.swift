// Protocol/channel.md, "Failures".

/// Why a channel ends. Coarse on purpose, and nothing of it goes out on the wire.
package enum ChannelError: Error, Hashable, Sendable {
  /// The other end is not who it must be, or what it sent is not a handshake.
  case handshakeFailed
  /// The other end speaks this version of the protocol, not ours.
  case versionMismatch(theirs: UInt8)
  /// We would not talk to this key, or know no such ticket.
  case refused
  /// After the handshake: bytes that no honest end sends, among them every tampered one.
  case violation
  /// A message of our own over `Limits.messageBytesMax`, or a payload that no handshake can carry.
  case messageTooLarge
  /// A cipher's counter is at its end; only a new channel helps.
  case exhausted
}
