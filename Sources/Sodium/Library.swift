import CSodium

/// What libsodium refuses. Coarse on purpose: callers can only give up.
package enum SodiumError: Error, Hashable, Sendable {
  /// A key, seed or other secret that has not the one right number of bytes.
  case wrongLength
  /// A public key that gives an all-zero shared secret.
  case weakPoint
  /// No memory for a secret.
  case outOfMemory
}

enum Library {
  /// Chooses the fast implementations and opens the random source, once per process.
  static let ready: Void = {
    precondition(sodium_init() >= 0, "libsodium can't be initialised")
  }()
}

/// Unpredictable bytes from the operating system.
package func randomBytes(_ count: Int) -> [UInt8] {
  Library.ready
  return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    if let base = buffer.baseAddress { randombytes_buf(base, count) }
    initialized = count
  }
}

/// The operating system's randomness as a Swift generator.
package struct SecureRandom: RandomNumberGenerator, Sendable {
  package init() {}

  package mutating func next() -> UInt64 {
    Library.ready
    var word: UInt64 = 0
    randombytes_buf(&word, MemoryLayout<UInt64>.size)
    return word
  }
}

/// Overwrites a secret that had to be in an ordinary array for a while.
///
/// The array must be the only holder of its storage, else a copy is wiped.
package func wipe(_ secret: inout [UInt8]) {
  secret.withUnsafeMutableBytes { buffer in
    if let base = buffer.baseAddress { sodium_memzero(base, buffer.count) }
  }
  secret.removeAll()
}
