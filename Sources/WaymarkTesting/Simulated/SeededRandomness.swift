import CSodium
import Sodium
import Synchronization
import Wire

/// Random bytes that a seed decides, for all of the process. Keys that are made from them are no secrets.
package enum SeededRandomness {
  private static let random = Mutex(SplitMix(seed: 0))

  /// Lets libsodium draw its random bytes from a seed from now on.
  package static func begin(_ seed: UInt64) {
    random.withLock { $0 = SplitMix(seed: seed) }
    _ = isInstalled
  }

  private static func fill(_ bytes: UnsafeMutableRawBufferPointer) {
    random.withLock { random in
      for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: random.next() >> 40) }
    }
  }

  private static let isInstalled: Bool = {
    // The library draws once when it is initialised, and keeps the pointer.
    _ = randomBytes(1)
    let implementation = UnsafeMutablePointer<randombytes_implementation>.allocate(capacity: 1)
    implementation.initialize(
      to: randombytes_implementation(
        implementation_name: {
          // Safe: the bytes of a static string exist for as long as the process.
          UnsafeRawPointer(StaticString("seeded").utf8Start).assumingMemoryBound(to: CChar.self)
        },
        random: {
          var word: UInt32 = 0
          withUnsafeMutableBytes(of: &word) { SeededRandomness.fill($0) }
          return word
        }, stir: nil, uniform: nil,
        buf: { SeededRandomness.fill(UnsafeMutableRawBufferPointer(start: $0, count: $1)) },
        close: nil))
    return randombytes_set_implementation(implementation) == 0
  }()
}
