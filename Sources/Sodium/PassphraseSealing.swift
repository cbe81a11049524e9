import CSodium

/// The cost of trying one passphrase, in passes and memory, for Argon2id with a parallelism of one.
package struct PassphraseCost: Hashable, Sendable {
  package let passes: Int
  package let memoryBytes: Int

  package init(passes: Int, memoryBytes: Int) {
    self.passes = passes
    self.memoryBytes = memoryBytes
  }

  /// The smallest amount of memory, in bytes, for which Argon2id is defined.
  package static var memoryBytesMin: Int { crypto_pwhash_argon2id_memlimit_min() }
}

extension SymmetricKey {
  package static var saltBytes: Int { crypto_pwhash_argon2id_saltbytes() }

  /// Derives a key from a passphrase and a salt, at the given cost in time and memory.
  ///
  /// - Throws: `outOfMemory` if the machine does not have as much memory as `cost` requires.
  package convenience init(
    passphrase: borrowing SecretBuffer, salt: [UInt8], cost: PassphraseCost
  ) throws(SodiumError) {
    guard salt.count == Self.saltBytes, cost.passes >= 1, cost.memoryBytes >= PassphraseCost.memoryBytesMin
    else { throw .wrongLength }
    let (words, length) = (UnsafeRawPointer(passphrase.pointer), UInt64(passphrase.count))
    var code: CInt = -1
    self.init { output in
      code = crypto_pwhash_argon2id(
        output, UInt64(Self.count), words.assumingMemoryBound(to: CChar.self), length, salt,
        UInt64(cost.passes), cost.memoryBytes, crypto_pwhash_argon2id_alg_argon2id13())
    }
    guard code == 0 else { throw .outOfMemory }
  }

  // MARK: XChaCha20-Poly1305, whose nonces are long enough to be chosen at random

  package static var longNonceBytes: Int { crypto_aead_xchacha20poly1305_ietf_npubbytes() }
  package static var longTagBytes: Int { crypto_aead_xchacha20poly1305_ietf_abytes() }

  /// Encrypts a secret and returns it, followed by the authentication tag. The nonce must never have been used with
  /// this key before.
  package func sealed(
    _ secret: borrowing SecretBuffer, nonce: [UInt8], associatedData: [UInt8]
  ) -> [UInt8] {
    precondition(nonce.count == Self.longNonceBytes, "a nonce of \(nonce.count) bytes")
    var output = [UInt8](repeating: 0, count: secret.count + Self.longTagBytes)
    let (bytes, count) = (secret.pointer, UInt64(secret.count))
    let code = crypto_aead_xchacha20poly1305_ietf_encrypt(
      &output, nil, bytes, count, associatedData, UInt64(associatedData.count), nil, nonce, pointer)
    precondition(code == 0, "XChaCha20-Poly1305 failed to seal \(count) bytes")
    return output
  }

  /// Decrypts a sealed secret. Returns nil if the key is wrong or any byte was changed.
  package func opened(
    _ sealed: [UInt8], nonce: [UInt8], associatedData: [UInt8]
  ) throws(SodiumError) -> SecretBuffer? {
    guard sealed.count > Self.longTagBytes, nonce.count == Self.longNonceBytes else { return nil }
    var secret = try SecretBuffer(capacity: sealed.count - Self.longTagBytes)
    var code: CInt = -1
    secret.fill { room in
      code = crypto_aead_xchacha20poly1305_ietf_decrypt(
        room.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, nil, sealed, UInt64(sealed.count),
        associatedData, UInt64(associatedData.count), nonce, pointer)
      return code == 0 ? room.count : 0
    }
    guard code == 0 else { return nil }
    return secret
  }
}
