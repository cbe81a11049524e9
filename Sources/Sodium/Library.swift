import CSodium

/// Errors of libsodium. Coarse on purpose: callers can't recover from any of them.
package enum SodiumError: Error, Hashable, Sendable {
  /// A key, seed or other secret has the wrong number of bytes.
  case wrongLength
  /// A public key results in an all-zero shared secret.
  case weakPoint
  /// No memory is available for a secret.
  case outOfMemory
}

enum Library {
  /// Selects the fast implementations and opens the random source, once per process.
  static let ready: Void = {
    precondition(sodium_init() >= 0, "libsodium can't be initialised")
  }()
}

/// Random bytes from the operating system.
package func randomBytes(_ count: Int) -> [UInt8] {
  Library.ready
  return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    if let base = buffer.baseAddress { randombytes_buf(base, count) }
    initialized = count
  }
}

/// A Swift generator of the operating system's randomness.
package struct SecureRandom: RandomNumberGenerator, Sendable {
  package init() {}

  package mutating func next() -> UInt64 {
    Library.ready
    var word: UInt64 = 0
    randombytes_buf(&word, MemoryLayout<UInt64>.size)
    return word
  }
}

/// Overwrites a secret that was held in an ordinary array.
///
/// The array must be the only owner of its storage; otherwise only a copy is wiped.
package func wipe(_ secret: inout [UInt8]) {
  secret.withUnsafeMutableBytes { buffer in
    if let base = buffer.baseAddress { sodium_memzero(base, buffer.count) }
  }
  secret.removeAll()
}
