import CSodium

/// An Ed25519 key pair whose secret half stays in guarded memory.
package final class SigningKey: Sendable {
  /// The 32-byte public key.
  package let publicKey: [UInt8]
  let secret: SecretMemory

  package static var seedBytes: Int { crypto_sign_ed25519_seedbytes() }
  package static var signatureBytes: Int { crypto_sign_ed25519_bytes() }

  /// Creates a pair from a 32-byte seed in an ordinary array. This is only for seeds that need no protection, such as
  /// those of test vectors.
  package convenience init(seed: [UInt8]) throws(SodiumError) {
    guard seed.count == Self.seedBytes else { throw .wrongLength }
    try self.init { publicKey, secret in crypto_sign_ed25519_seed_keypair(publicKey, secret, seed) }
  }

  /// Generates a new pair.
  package convenience init() throws(SodiumError) {
    try self.init { publicKey, secret in crypto_sign_ed25519_keypair(publicKey, secret) }
  }

  /// Creates a pair from the public key and the 64-byte secret key that `fill` writes. The secret key begins with the
  /// seed.
  init(
    fill: (_ publicKey: UnsafeMutablePointer<UInt8>, _ secret: UnsafeMutablePointer<UInt8>) -> Void
  ) throws(SodiumError) {
    var publicKey = [UInt8](repeating: 0, count: crypto_sign_ed25519_publickeybytes())
    secret = try SecretMemory(count: crypto_sign_ed25519_secretkeybytes()) { secret in
      publicKey.withUnsafeMutableBufferPointer { if let base = $0.baseAddress { fill(base, secret) } }
    }
    self.publicKey = publicKey
  }

  /// Returns the 64-byte signature of the prefix followed by the message.
  package func sign(prefix: [UInt8], _ message: ArraySlice<UInt8>) -> [UInt8] {
    var signature = [UInt8](repeating: 0, count: Self.signatureBytes)
    let code = joined(prefix, message) { signed, count in
      secret.withBytes { crypto_sign_ed25519_detached(&signature, nil, signed, count, $0) }
    }
    precondition(code == 0, "Ed25519 failed to sign: \(code)")
    return signature
  }

  package func sign(prefix: [UInt8], _ message: [UInt8]) -> [UInt8] {
    sign(prefix: prefix, message[...])
  }
}

/// Verifies Ed25519 signatures by the rule of `Protocol/encoding.md`, because all devices must agree on which signatures
/// are valid. `SignatureRule` checks that libsodium follows it.
package enum Signature {
  package static let byteCount = 64

  /// Whether `signature` is the key's signature of the prefix followed by the message. The result is false if the
  /// signature or the key has the wrong length.
  package static func verify(
    _ signature: [UInt8], prefix: [UInt8], message: ArraySlice<UInt8>, publicKey: [UInt8]
  ) -> Bool {
    guard signature.count == SigningKey.signatureBytes,
      publicKey.count == crypto_sign_ed25519_publickeybytes()
    else { return false }
    Library.ready
    return joined(prefix, message) { signed, count in
      crypto_sign_ed25519_verify_detached(signature, signed, count, publicKey) == 0
    }
  }

  package static func verify(
    _ signature: [UInt8], prefix: [UInt8], message: [UInt8], publicKey: [UInt8]
  ) -> Bool {
    verify(signature, prefix: prefix, message: message[...], publicKey: publicKey)
  }

  /// Whether the bytes are a point of the main subgroup in canonical form, and not the identity. This is checked before
  /// a key is certified.
  package static func isValidPublicKey(_ publicKey: [UInt8]) -> Bool {
    Library.ready
    return publicKey.count == crypto_core_ed25519_bytes()
      && crypto_core_ed25519_is_valid_point(publicKey) == 1 && isHalfOfItsDouble(publicKey)
  }

  /// Whether half of twice a point is that point. This is false for points of the main subgroup plus the point of order
  /// 2, which libsodium before 1.0.21 takes for valid (CVE-2025-69277).
  private static func isHalfOfItsDouble(_ point: [UInt8]) -> Bool {
    var double = [UInt8](repeating: 0, count: point.count)
    var half = double
    return crypto_core_ed25519_add(&double, point, point) == 0
      && crypto_scalarmult_ed25519_noclamp(&half, oneHalf, double) == 0 && half == point
  }

  /// One half modulo the order of the main subgroup, that is, (L + 1) / 2 in little-endian order.
  private static let oneHalf: [UInt8] = [
    0xf7, 0xe9, 0x7a, 0x2e, 0x8d, 0x31, 0x09, 0x2c, 0x6b, 0xce, 0x7b, 0x51, 0xef, 0x7c, 0x6f, 0x0a,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08,
  ]
}

/// Calls `body` with the prefix and the message as contiguous bytes. If they are short, no heap memory is allocated.
private func joined<Result>(
  _ prefix: [UInt8], _ message: ArraySlice<UInt8>, _ body: (UnsafePointer<UInt8>?, UInt64) -> Result
) -> Result {
  let count = prefix.count + message.count
  return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { buffer in
    let middle = buffer[..<prefix.count].initialize(fromContentsOf: prefix)
    _ = buffer[middle...].initialize(fromContentsOf: message)
    return body(UnsafePointer(buffer.baseAddress), UInt64(count))
  }
}
