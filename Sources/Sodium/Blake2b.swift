import CSodium

/// A 32-byte hash as four big-endian words. Identifiers are built from these words without allocating memory.
package typealias HashWords = (UInt64, UInt64, UInt64, UInt64)

/// A BLAKE2b hasher with 32 bytes of output. It hashes data piece by piece; the static `hash` functions do it in one
/// call.
///
/// Swift can't import the C type of the state because of its 64-byte alignment, so the state is allocated by hand.
package struct Blake2b256: ~Copyable {
  private let state: OpaquePointer

  package init() {
    state = OpaquePointer(
      UnsafeMutableRawPointer.allocate(byteCount: Self.stateBytes, alignment: Self.stateAlignment))
    Self.begin(state)
  }

  deinit {
    // The state may depend on a secret.
    sodium_memzero(UnsafeMutableRawPointer(state), Self.stateBytes)
    UnsafeMutableRawPointer(state).deallocate()
  }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { Self.add($0, to: state) }
  }

  package mutating func update(_ bytes: ArraySlice<UInt8>) {
    bytes.withUnsafeBytes { Self.add($0, to: state) }
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) { Self.add(bytes, to: state) }

  /// Adds the bytes of a number in big-endian order.
  package mutating func update<Number: FixedWidthInteger>(bigEndian number: Number) {
    withUnsafeBytes(of: number.bigEndian) { Self.add($0, to: state) }
  }

  /// Returns the hash of everything that was added, and consumes the hasher.
  package consuming func finish() -> HashWords { Self.end(state) }

  // MARK: One-call hashes

  /// Hashes contiguous bytes. This is the fastest way to hash many small records.
  package static func hash(_ bytes: UnsafeRawBufferPointer) -> HashWords {
    Library.ready
    return words { output in
      crypto_generichash_blake2b(
        output, 32, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count), nil, 0)
    }
  }

  package static func hash(_ bytes: [UInt8]) -> HashWords {
    bytes.withUnsafeBytes { hash($0) }
  }

  package static func hash(prefix: [UInt8], _ part: [UInt8]) -> HashWords {
    hash(prefix: prefix, part[...])
  }

  /// Hashes a prefix followed by the given bytes, without allocating heap memory.
  package static func hash(prefix: [UInt8], _ part: ArraySlice<UInt8>) -> HashWords {
    // The state is aligned by hand, because a temporary allocation with 64-byte alignment would come from the heap.
    withUnsafeTemporaryAllocation(byteCount: stateBytes + stateAlignment, alignment: 16) { memory in
      guard let base = memory.baseAddress else { preconditionFailure("no memory for a hash state") }
      let state = OpaquePointer(base.alignedUp(toMultipleOf: stateAlignment))
      begin(state)
      prefix.withUnsafeBytes { add($0, to: state) }
      part.withUnsafeBytes { add($0, to: state) }
      return end(state)
    }
  }

  package static func hash(prefix: [UInt8], parts: [[UInt8]]) -> HashWords {
    var hasher = Blake2b256()
    hasher.update(prefix)
    for part in parts { hasher.update(part) }
    return hasher.finish()
  }

  /// Returns the hash of a prefix followed by several parts, as bytes.
  package static func hashBytes(prefix: [UInt8], parts: [[UInt8]]) -> [UInt8] {
    bytes(hash(prefix: prefix, parts: parts))
  }

  /// Returns the 32 bytes of a hash.
  package static func bytes(_ words: HashWords) -> [UInt8] {
    let ordered = (
      words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian
    )
    return withUnsafeBytes(of: ordered) { Array($0) }
  }

  // MARK: The C state

  private static let stateBytes = crypto_generichash_blake2b_statebytes()
  private static let stateAlignment = 64

  private static func begin(_ state: OpaquePointer) {
    Library.ready
    let code = crypto_generichash_blake2b_init(state, nil, 0, crypto_generichash_blake2b_bytes())
    precondition(code == 0, "BLAKE2b refused 32 bytes of output")
  }

  private static func add(_ bytes: UnsafeRawBufferPointer, to state: OpaquePointer) {
    crypto_generichash_blake2b_update(
      state, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
  }

  private static func end(_ state: OpaquePointer) -> HashWords {
    words { crypto_generichash_blake2b_final(state, $0, 32) }
  }
}

/// Lets `body` write 32 bytes, and returns them as big-endian words.
private func words(_ body: (UnsafeMutablePointer<UInt8>) -> CInt) -> HashWords {
  var output: HashWords = (0, 0, 0, 0)
  let code = withUnsafeMutableBytes(of: &output) { buffer in
    buffer.withMemoryRebound(to: UInt8.self) { bytes in bytes.baseAddress.map(body) ?? -1 }
  }
  precondition(code == 0, "BLAKE2b failed: \(code)")
  return (
    UInt64(bigEndian: output.0), UInt64(bigEndian: output.1),
    UInt64(bigEndian: output.2), UInt64(bigEndian: output.3)
  )
}

/// BLAKE2b with 64 bytes of output, for the derivation of several short values from one seed.
package enum Blake2b512 {
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    Library.ready
    return [UInt8](unsafeUninitializedCapacity: 64) { output, count in
      let code = bytes.withUnsafeBytes { input -> CInt in
        guard let start = output.baseAddress else { return -1 }
        return crypto_generichash_blake2b(
          start, 64, input.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(input.count), nil, 0)
      }
      precondition(code == 0, "BLAKE2b failed: \(code)")
      count = 64
    }
  }
}

// MARK: Keyed BLAKE2b

extension SymmetricKey {
  /// The length of an authentication code.
  package static let codeBytes = 16

  /// Returns the code that authenticates the bytes under this key: BLAKE2b with this key and 16 bytes of output.
  package func authenticationCode(of bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.codeBytes) { output, count in
      guard let start = output.baseAddress else { return }
      let code = crypto_generichash_blake2b(
        start, Self.codeBytes, bytes, UInt64(bytes.count), pointer, Self.count)
      precondition(code == 0, "BLAKE2b failed: \(code)")
      count = Self.codeBytes
    }
  }

  /// Whether `code` authenticates the bytes under this key. The time that this takes does not depend on the code.
  package func isAuthenticationCode(_ code: [UInt8], of bytes: [UInt8]) -> Bool {
    code.count == Self.codeBytes && sodium_memcmp(code, authenticationCode(of: bytes), Self.codeBytes) == 0
  }
}
