import CSodium

/// The group ristretto255 (RFC 9496), as CPace uses it. Points are their encodings of 32 bytes.
package enum Ristretto {
  package static var pointBytes: Int { crypto_core_ristretto255_bytes() }
  package static var hashBytes: Int { crypto_core_ristretto255_hashbytes() }

  /// Maps 64 bytes of a hash to a point, which is kept like a key because anyone who knows it can test passwords.
  package static func secretPoint(ofHash hash: [UInt8]) throws(SodiumError) -> SymmetricKey {
    Library.ready
    guard hash.count == hashBytes else { throw .wrongLength }
    return SymmetricKey { crypto_core_ristretto255_from_hash($0, hash) }
  }
}

/// A secret scalar of ristretto255, in guarded memory.
package final class RistrettoScalar: Sendable {
  private let secret: SecretMemory

  /// Generates a new scalar.
  package init() throws(SodiumError) {
    secret = try SecretMemory(count: crypto_core_ristretto255_scalarbytes()) {
      crypto_core_ristretto255_scalar_random($0)
    }
  }

  /// Creates a scalar from an ordinary array. This is only for values that need no protection, such as test vectors.
  package init(_ bytes: [UInt8]) throws(SodiumError) {
    let count = crypto_core_ristretto255_scalarbytes()
    guard bytes.count == count else { throw .wrongLength }
    secret = try SecretMemory(count: count) { $0.update(from: bytes, count: count) }
  }

  /// Multiplies a point that is derived from a password.
  ///
  /// - Throws: `weakPoint` if the result is the identity.
  package func multiple(of point: SymmetricKey) throws(SodiumError) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: Ristretto.pointBytes)
    let code = secret.withBytes { crypto_scalarmult_ristretto255(&result, $0, point.pointer) }
    guard code == 0 else { throw .weakPoint }
    return result
  }

  /// Multiplies a point that the other end has sent.
  ///
  /// - Throws: `weakPoint` if the bytes do not encode a point, or if the result is the identity.
  package func sharedPoint(with point: [UInt8]) throws(SodiumError) -> SymmetricKey {
    guard point.count == Ristretto.pointBytes else { throw .wrongLength }
    // libsodium 1.0.18 ignores the highest bit, which no canonical encoding has.
    guard point[Ristretto.pointBytes - 1] < 0x80 else { throw .weakPoint }
    var code: CInt = -1
    let shared = SymmetricKey { output in
      code = secret.withBytes { crypto_scalarmult_ristretto255(output, $0, point) }
    }
    guard code == 0 else { throw .weakPoint }
    return shared
  }
}

/// A SHA-512 hasher. `finish` wipes its state, because that may depend on a secret; every hasher has to be finished.
package struct SHA512: ~Copyable {
  /// The size of the blocks that the hash function processes.
  package static let blockBytes = 128
  private var state = crypto_hash_sha512_state()

  package init() {
    Library.ready
    crypto_hash_sha512_init(&state)
  }

  package mutating func update(_ bytes: [UInt8]) {
    crypto_hash_sha512_update(&state, bytes, UInt64(bytes.count))
  }

  package mutating func update(_ key: SymmetricKey) {
    _ = withExtendedLifetime(key) {
      crypto_hash_sha512_update(&state, key.pointer, UInt64(SymmetricKey.count))
    }
  }

  package mutating func update(_ secret: borrowing SecretBuffer) {
    crypto_hash_sha512_update(&state, secret.pointer, UInt64(secret.count))
  }

  /// Returns the hash of everything that was added. The caller wipes it if it is a secret.
  package mutating func finish() -> [UInt8] {
    var output = [UInt8](repeating: 0, count: crypto_hash_sha512_bytes())
    crypto_hash_sha512_final(&state, &output)
    sodium_memzero(&state, MemoryLayout<crypto_hash_sha512_state>.size)
    return output
  }
}
