// Protocol/circle.md, "Prefixes": a signature or hash of one kind of data is never valid for another kind.

package import Sodium
package import Wire

/// The domain prefix of bytes that are signed or hashed, including its final zero byte.
struct Prefix {
  let bytes: [UInt8]

  init(_ text: String) { bytes = Array(text.utf8) + [0] }

  /// Returns the BLAKE2b-256 hash of the prefix followed by the parts.
  func hash(_ parts: [UInt8]...) -> Bytes32 {
    let words = Blake2b256.hash(prefix: bytes, parts: parts)
    return Bytes32(words.0, words.1, words.2, words.3)
  }

  static let statementID = Prefix("waymark/statement-id/v1")
  static let certificates = Prefix("waymark/certificates/v1")
  static let changeSetID = Prefix("waymark/change-set-id/v1")
  static let changeSetSignature = Prefix("waymark/change-set-signature/v1")
  static let joinProof = Prefix("waymark/join-proof/v1")
  static let ticketID = Prefix("waymark/ticket-id/v1")
  static let ticketKey = Prefix("waymark/ticket-psk/v1")
  static let sessionPreamble = Prefix("waymark/session-preamble/v1")
  static let pairingPreamble = Prefix("waymark/pairing-preamble/v1")
  static let ticketChecksum = Prefix("waymark/ticket-checksum/v1")
  static let appAccount = Prefix("waymark/app-account/v1")
  static let codeAnnouncement = Prefix("waymark/code-announcement/v1")

  static let beaconPair = Prefix("waymark/beacon-pair/v1")
  static let beaconSlot = Prefix("waymark/beacon-slot/v1")
  static let beaconFill = Prefix("waymark/beacon-fill/v1")
  static let beaconSeal = Prefix("waymark/beacon-seal/v1")
  static let beaconSignature = Prefix("waymark/beacon-signature/v1")

  /// Returns the prefix for signatures of a kind of statement. An unknown kind is named by its number.
  static func signature(ofKind kind: UInt8) -> Prefix {
    let name = StatementKind(rawValue: kind)?.prefixName ?? StatementKind.prefixName(ofUnknown: kind)
    return Prefix("waymark/\(name)-signature/v1")
  }
}

extension DeviceKey {
  /// Creates the identifier of a device, which is the public half of its signing key.
  package init(_ key: SigningKey) {
    guard let raw = Bytes32(key.publicKey) else { preconditionFailure("a public key has 32 bytes") }
    self.init(raw)
  }

  func hasSigned(_ message: [UInt8], _ prefix: Prefix, _ signature: [UInt8]) -> Bool {
    Signature.verify(signature, prefix: prefix.bytes, message: message, publicKey: bytes)
  }
}

extension CircleID {
  /// The preamble key of sessions between devices of this circle: Protocol/channel.md, "Preamble".
  package var preambleKey: [UInt8] { Prefix.sessionPreamble.hash(bytes).bytes }
}
