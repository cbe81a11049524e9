// Protocol/encoding.md, "Hashes and signatures"

import Sodium

/// Hashes and signatures with their prefixes. The primitives are libsodium's; everything else is the judge's own.
enum PlainSealing {
  static func prefix(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

  private static let setID = prefix("waymark/change-set-id/v1")
  private static let setSignature = prefix("waymark/change-set-signature/v1")
  private static let body = prefix("waymark/body/v1")
  private static let recordDigest = prefix("waymark/record-digest/v1")
  private static let statementID = prefix("waymark/statement-id/v1")

  static func hash(_ prefix: [UInt8], _ message: [UInt8]) -> Name32 {
    Name32(Blake2b256.hash(prefix: prefix, message))
  }

  static func hash(_ text: String, _ message: [UInt8]) -> Name32 { hash(prefix(text), message) }

  static func setID(_ header: [UInt8]) -> Name32 { hash(setID, header) }
  static func bodyHash(_ bytes: [UInt8]) -> Name32 { hash(body, bytes) }
  static func recordDigest(_ input: [UInt8]) -> Name32 { hash(recordDigest, input) }
  static func statementID(kind: UInt8, body: [UInt8]) -> Name32 { hash(statementID, [kind] + body) }

  static func isSet(_ header: [UInt8], signedBy device: Name32, _ signature: [UInt8]) -> Bool {
    Signature.verify(signature, prefix: setSignature, message: header, publicKey: device.bytes)
  }

  static func isSigned(_ message: [UInt8], by key: Name32, as text: String, _ signature: [UInt8]) -> Bool {
    Signature.verify(signature, prefix: prefix(text), message: message, publicKey: key.bytes)
  }
}
