import CSodium

/// An X25519 key pair whose secret half stays in guarded memory.
package final class AgreementKey: Sendable {
  /// The 32-byte public key.
  package let publicKey: [UInt8]
  let secret: SecretMemory

  package static var secretBytes: Int { crypto_scalarmult_curve25519_scalarbytes() }

  /// Creates a pair from a 32-byte secret in an ordinary array. This is only for values that need no protection, such
  /// as test vectors.
  package convenience init(secret bytes: [UInt8]) throws(SodiumError) {
    guard bytes.count == Self.secretBytes else { throw .wrongLength }
    try self.init { secret in secret.update(from: bytes, count: bytes.count) }
  }

  /// Generates a new pair.
  package convenience init() throws(SodiumError) {
    try self.init { secret in randombytes_buf(secret, Self.secretBytes) }
  }

  init(fill: (UnsafeMutablePointer<UInt8>) -> Void) throws(SodiumError) {
    secret = try SecretMemory(count: Self.secretBytes, fill: fill)
    var publicKey = [UInt8](repeating: 0, count: crypto_scalarmult_curve25519_bytes())
    secret.withBytes { _ = crypto_scalarmult_curve25519_base(&publicKey, $0) }
    self.publicKey = publicKey
  }

  /// Returns the shared secret that both ends compute, each from its own secret key and the other end's public key.
  ///
  /// - Throws: `weakPoint` if the other end's public key makes the shared secret all zero.
  package func sharedSecret(with publicKey: [UInt8]) throws(SodiumError) -> SymmetricKey {
    guard publicKey.count == crypto_scalarmult_curve25519_bytes() else { throw .wrongLength }
    var code: CInt = -1
    let shared = SymmetricKey { output in
      code = secret.withBytes { crypto_scalarmult_curve25519(output, $0, publicKey) }
    }
    guard code == 0 else { throw .weakPoint }
    return shared
  }
}
