import CSodium

/// SHA-256, as the Noise handshake uses it.
package enum SHA256 {
  package static func hash(_ first: [UInt8], _ second: [UInt8] = []) -> [UInt8] {
    second.withUnsafeBytes { hash(first, behind: $0) }
  }

  static func hash(_ first: [UInt8], behind second: UnsafeRawBufferPointer) -> [UInt8] {
    Library.ready
    var state = crypto_hash_sha256_state()
    crypto_hash_sha256_init(&state)
    crypto_hash_sha256_update(&state, first, UInt64(first.count))
    crypto_hash_sha256_update(
      &state, second.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(second.count))
    var output = [UInt8](repeating: 0, count: crypto_hash_sha256_bytes())
    crypto_hash_sha256_final(&state, &output)
    sodium_memzero(&state, MemoryLayout<crypto_hash_sha256_state>.size)
    return output
  }
}

/// HMAC-SHA256 with a 32-byte secret key.
package enum HMACSHA256 {
  package static func code(key: SymmetricKey, _ message: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, initialized in
      message.withUnsafeBytes { message in
        key.withBytes { key in
          authenticate(key: key, [message], into: UnsafeMutableRawBufferPointer(buffer))
        }
      }
      initialized = 32
    }
  }

  /// Computes the authentication code of the concatenated parts and writes it to the 32 bytes of `output`, which may
  /// itself be one of the parts.
  static func authenticate(
    key: UnsafeRawBufferPointer, _ parts: [UnsafeRawBufferPointer], into output: UnsafeMutableRawBufferPointer
  ) {
    guard let keyBase = key.baseAddress, let outputBase = output.baseAddress, key.count == 32,
      output.count >= 32
    else { preconditionFailure("HMAC-SHA256 needs a 32-byte key and 32 bytes of output") }
    Library.ready
    var state = crypto_auth_hmacsha256_state()
    crypto_auth_hmacsha256_init(&state, keyBase.assumingMemoryBound(to: UInt8.self), key.count)
    for part in parts {
      crypto_auth_hmacsha256_update(
        &state, part.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(part.count))
    }
    crypto_auth_hmacsha256_final(&state, outputBase.assumingMemoryBound(to: UInt8.self))
    sodium_memzero(&state, MemoryLayout<crypto_auth_hmacsha256_state>.size)
  }
}
