import CSodium

/// An error from libsodium. The cases are deliberately coarse, because callers can't recover from any of them.
package enum SodiumError: Error, Hashable, Sendable {
  /// A key, seed or other secret has the wrong number of bytes.
  case wrongLength
  /// A public key results in an all-zero shared secret.
  case weakPoint
  /// There is not enough memory to hold or derive a secret.
  case outOfMemory
}

enum Library {
  /// Prepares libsodium once per process: selects the fastest implementations and opens the source of random bytes.
  static let ready: Void = {
    precondition(sodium_init() >= 0, "libsodium can't be initialised")
  }()
}

/// Returns random bytes from the operating system.
package func randomBytes(_ count: Int) -> [UInt8] {
  Library.ready
  return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    if let base = buffer.baseAddress { randombytes_buf(base, count) }
    initialized = count
  }
}

/// A random number generator that draws from the operating system's source of randomness.
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
/// The array must be the only owner of its storage. Otherwise, Swift copies the storage first, and only the copy is
/// wiped.
package func wipe(_ secret: inout [UInt8]) {
  secret.withUnsafeMutableBytes { buffer in
    if let base = buffer.baseAddress { sodium_memzero(base, buffer.count) }
  }
  secret.removeAll()
}
