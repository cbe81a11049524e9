// Protocol/channel.md, "Failures".

/// The reason why a channel ends. The cases are deliberately coarse, and the reason is never sent to the other end.
package enum ChannelError: Error, Hashable, Sendable {
  /// The other end could not prove its key, or its bytes are not a handshake.
  case handshakeFailed
  /// The other end speaks another version of the protocol.
  case versionMismatch(theirs: UInt8)
  /// This end refuses the other end's key.
  case refused
  /// After the handshake, bytes were received that were tampered with or that violate the protocol.
  case violation
  /// A message that this end was to send is larger than `Limits.messageBytesMax`, or a payload is too large for the
  /// handshake.
  case messageTooLarge
  /// There is no memory for the keys of the handshake.
  case noKeys
  /// The counter of a cipher is exhausted, so a new channel is needed.
  case exhausted
}
