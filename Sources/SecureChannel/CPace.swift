// Protocol/pairing-code.md, "CPace"; draft-irtf-cfrg-cpace, CPACE-RISTR255-SHA512.
//
// CPace turns a password of low entropy into a strong key. Both ends derive the same generator from the password, each
// multiplies it by a secret scalar and sends the result as its share, and each multiplies the other's share by its own
// scalar. Someone who does not know the password gets one guess for each run and can't test others afterwards.
//
//     initiator                              responder
//       share Ya ──────────────────────────▶
//                ◀────────────────────────── share Yb
//       key(Ya, Yb)                          key(Ya, Yb)        equal only if the passwords are

package import Sodium

/// One run of CPace with one password. A value without state: the scalar is new for each run and used once.
package struct CPace: Sendable {
  /// A message of CPace: a share, and associated data that the key confirms.
  package struct Message: Hashable, Sendable {
    package let share: [UInt8]
    package let associatedData: [UInt8]

    package init(share: [UInt8], associatedData: [UInt8] = []) {
      self.share = share
      self.associatedData = associatedData
    }

    /// The message as the key derivation hashes it.
    var bytes: [UInt8] { lengthAndValue(share) + lengthAndValue(associatedData) }
  }

  private static let groupName = Array("CPaceRistretto255".utf8)
  private static let keyName = Array("CPaceRistretto255_ISK".utf8)

  private let session: [UInt8]
  private let scalar: RistrettoScalar
  /// The share to send to the other end.
  package let share: [UInt8]

  /// - Parameters:
  ///   - password: what both ends have to know, of at most 127 bytes.
  ///   - channel: what identifies the ends and the purpose: `CI` in the draft.
  ///   - session: what is different in each run: `sid` in the draft.
  package init(
    password: borrowing SecretBuffer, channel: [UInt8], session: [UInt8], scalar: RistrettoScalar
  ) throws(SodiumError) {
    var hash = Self.generatorHash(password, channel, session)
    defer { wipe(&hash) }
    share = try scalar.multiple(of: try Ristretto.secretPoint(ofHash: hash))
    self.session = session
    self.scalar = scalar
  }

  /// The hash of the draft's `generator_string`, which pads the password to a block of the hash function.
  private static func generatorHash(
    _ password: borrowing SecretBuffer, _ channel: [UInt8], _ session: [UInt8]
  ) -> [UInt8] {
    precondition(password.count < 128, "a password of \(password.count) bytes")
    let head = lengthAndValue(groupName)
    let padding = max(0, SHA512.blockBytes - 1 - (1 + password.count) - head.count)
    var hasher = SHA512()
    hasher.update(head)
    hasher.update([UInt8(password.count)])
    hasher.update(password)
    hasher.update(lengthAndValue([UInt8](repeating: 0, count: padding)))
    hasher.update(lengthAndValue(channel))
    hasher.update(lengthAndValue(session))
    return hasher.finish()
  }

  /// Returns the key that both ends share if their passwords are equal: 64 bytes, which the caller wipes.
  ///
  /// - Parameters:
  ///   - isInitiator: whether the first of the two messages is this end's.
  /// - Throws: `weakPoint` if the other end's share is not a point, is the identity or is this end's own share.
  package func key(_ first: Message, _ second: Message, isInitiator: Bool) throws(SodiumError) -> [UInt8] {
    let remote = isInitiator ? second.share : first.share
    guard remote != share else { throw .weakPoint }
    let shared = try scalar.sharedPoint(with: remote)
    var hasher = SHA512()
    hasher.update(lengthAndValue(Self.keyName))
    hasher.update(lengthAndValue(session))
    hasher.update([UInt8(SymmetricKey.count)])
    hasher.update(shared)
    hasher.update(first.bytes)
    hasher.update(second.bytes)
    return hasher.finish()
  }
}

/// The draft's `prepend_len` for values of at most 127 bytes, whose length takes one byte.
private func lengthAndValue(_ bytes: [UInt8]) -> [UInt8] {
  precondition(bytes.count < 128, "a value of \(bytes.count) bytes")
  return [UInt8(bytes.count)] + bytes
}
