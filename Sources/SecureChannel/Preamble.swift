// Protocol/channel.md, "Preamble".

package import Sodium
package import Wire

/// The first bytes that an initiator sends, unencrypted. Their MAC proves that the initiator knows the circle or holds
/// a ticket, before the responder does anything for it.
///
/// The form is the same in all versions, so that a responder can tell a member with another version from a stranger.
package struct Preamble: Hashable, Sendable {
  /// The text "WAYMARK" and a zero byte. If its first two bytes are read as the length of a frame, that length exceeds
  /// the length of any handshake message.
  package static let magic: [UInt8] = [0x57, 0x41, 0x59, 0x4d, 0x41, 0x52, 0x4b, 0x00]
  /// The version that this program speaks.
  package static let currentVersion: UInt8 = 2
  /// The length of a preamble, and of an answer.
  package static let count = magic.count + 1 + Bytes16.count + SymmetricKey.codeBytes
  private static let codeStart = count - SymmetricKey.codeBytes
  private static let nonceStart = magic.count + 1

  package let bytes: [UInt8]

  /// Creates the preamble of a new connection, for which `nonce` must be random.
  package init(nonce: Bytes16, key: SymmetricKey, version: UInt8 = Preamble.currentVersion) {
    let start = Self.magic + [version] + nonce.bytes
    bytes = start + key.authenticationCode(of: start)
  }

  /// Takes the preamble at the start of `bytes`. Returns nil if more bytes are needed. The result may be anything until
  /// `isAuthentic` has returned true.
  package init?(receiving bytes: ArraySlice<UInt8>) {
    guard bytes.count >= Self.count else { return nil }
    self.bytes = Array(bytes.prefix(Self.count))
  }

  package var version: UInt8 { bytes[Self.magic.count] }

  /// Whether the sender knows the preamble key of this circle or ticket.
  package func isAuthentic(under key: SymmetricKey) -> Bool {
    bytes.starts(with: Self.magic)
      && key.isAuthenticationCode(Array(bytes[Self.codeStart...]), of: Array(bytes[..<Self.codeStart]))
  }

  /// Returns the bytes with which a responder answers this preamble of another version, before it closes the connection.
  package func answer(under key: SymmetricKey) -> Preamble { Preamble(nonce: nonce, key: key) }

  /// Whether an authentic `other` is an answer to this preamble.
  func isAnswered(by other: Preamble) -> Bool { nonce == other.nonce && version != other.version }

  /// The initiator's random bytes.
  package var nonce: Bytes16 {
    guard let nonce = Bytes16(bytes[Self.nonceStart..<Self.codeStart]) else {
      preconditionFailure("a preamble of \(bytes.count) bytes")
    }
    return nonce
  }
}
