// Protocol/encoding.md, "Hashes and signatures"

import Sodium

/// Hashes and signatures with their prefixes. The primitives are libsodium's; everything else is the judge's own.
enum PlainSealing {
  static func prefix(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

  private static let setID = prefix("waymark/change-set-id/v1")
  private static let setSignature = prefix("waymark/change-set-signature/v1")
  private static let plan = prefix("waymark/plan/v1")
  private static let values = prefix("waymark/values/v1")
  private static let commitment = prefix("waymark/commitment/v1")
  private static let salts = prefix("waymark/salts/v1")
  private static let recordDigest = prefix("waymark/record-digest/v1")
  private static let statementID = prefix("waymark/statement-id/v1")

  static func hash(_ prefix: [UInt8], _ message: [UInt8]) -> Name32 {
    Name32(Blake2b256.hash(prefix: prefix, message))
  }

  static func hash(_ text: String, _ message: [UInt8]) -> Name32 { hash(prefix(text), message) }

  static func setID(_ header: [UInt8]) -> Name32 { hash(setID, header) }
  static func planHash(_ bytes: [UInt8]) -> Name32 { hash(plan, bytes) }
  static func recordDigest(_ input: [UInt8]) -> Name32 { hash(recordDigest, input) }
  static func statementID(kind: UInt8, body: [UInt8]) -> Name32 { hash(statementID, [kind] + body) }

  /// Returns the salts of all slots, 16 bytes each. Four salts derive from each hash of the seed.
  static func salts(seed: [UInt8], count: Int) -> [ArraySlice<UInt8>] {
    var block: [UInt8] = []
    return (0..<count).map { slot in
      if slot % 4 == 0 { block = Blake2b512.hash(salts + seed + plainBigEndian(UInt32(slot / 4))) }
      let start = slot % 4 * 16
      return block[start..<start + 16]
    }
  }

  static func commitment(salt: ArraySlice<UInt8>, _ content: ArraySlice<UInt8>) -> Name32 {
    hash(commitment, Array(salt) + content)
  }

  /// The hash over the commitments of all slots, in their order.
  static func commitmentsHash(_ commitments: [Name32]) -> Name32 {
    hash(values, commitments.flatMap(\.bytes))
  }

  static func isSet(_ header: [UInt8], signedBy device: Name32, _ signature: [UInt8]) -> Bool {
    Signature.verify(signature, prefix: setSignature, message: header, publicKey: device.bytes)
  }

  static func isSigned(_ message: [UInt8], by key: Name32, as text: String, _ signature: [UInt8]) -> Bool {
    Signature.verify(signature, prefix: prefix(text), message: message, publicKey: key.bytes)
  }
}
