import CSodium

/// A 32-byte secret that belongs to one session or ticket: a shared secret, a chaining key or a cipher key.
///
/// The key is wiped when it is released. Unlike a `SigningKey`, it is held in ordinary memory, because a handshake
/// creates a dozen such keys, and a peer that has not proved anything yet must not cause much work. Keys that live long
/// are replaced by their `guarded()` copies. `Sendable` is unchecked because the bytes never change after `init`.
package final class SymmetricKey: @unchecked Sendable {
  package static let count = 32
  private let storage: UnsafeMutablePointer<UInt8>
  private let isGuarded: Bool

  package convenience init(_ bytes: [UInt8]) throws(SodiumError) {
    guard bytes.count == Self.count else { throw .wrongLength }
    self.init { $0.update(from: bytes, count: Self.count) }
  }

  init(fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    Library.ready
    isGuarded = false
    storage = .allocate(capacity: Self.count)
    storage.initialize(repeating: 0, count: Self.count)
    fill(storage)
  }

  private init(guarding memory: UnsafeMutableRawPointer, _ key: SymmetricKey) {
    isGuarded = true
    storage = memory.bindMemory(to: UInt8.self, capacity: Self.count)
    storage.initialize(from: key.storage, count: Self.count)
    sodium_mprotect_readonly(memory)
  }

  /// Returns a copy of this key in memory for long-lived secrets, which has guard pages and is never swapped to disk.
  /// Returns this key itself if no such memory is left.
  package func guarded() -> SymmetricKey {
    sodium_malloc(Self.count).map { SymmetricKey(guarding: $0, self) } ?? self
  }

  deinit {
    guard !isGuarded else { return sodium_free(storage) }
    sodium_memzero(storage, Self.count)
    storage.deallocate()
  }

  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(UnsafeRawBufferPointer(start: storage, count: Self.count))
  }

  var pointer: UnsafePointer<UInt8> { UnsafePointer(storage) }
}

// MARK: HKDF as in the Noise specification, section 4.3

extension SymmetricKey {
  /// Derives two keys from this key, as the chaining key, and an input. A nil input counts as empty.
  package func derivedPair(_ input: SymmetricKey?) -> (SymmetricKey, SymmetricKey) {
    let temporary = extracted(input)
    let first = temporary.expanded(after: nil, 1)
    return (first, temporary.expanded(after: first, 2))
  }

  /// Derives three keys from this key, as the chaining key, and an input.
  package func derivedTriple(_ input: SymmetricKey) -> (SymmetricKey, SymmetricKey, SymmetricKey) {
    let temporary = extracted(input)
    let first = temporary.expanded(after: nil, 1)
    let second = temporary.expanded(after: first, 2)
    return (first, second, temporary.expanded(after: second, 3))
  }

  /// Returns the SHA-256 hash of the bytes followed by this key.
  package func hashed(after bytes: [UInt8]) -> [UInt8] {
    withBytes { SHA256.hash(bytes, behind: $0) }
  }

  private func extracted(_ input: SymmetricKey?) -> SymmetricKey {
    let parts = input.map { [UnsafeRawBufferPointer(start: $0.storage, count: Self.count)] } ?? []
    return authenticating(parts)
  }

  private func expanded(after previous: SymmetricKey?, _ number: UInt8) -> SymmetricKey {
    withUnsafeBytes(of: number) { number in
      let before = previous.map { [UnsafeRawBufferPointer(start: $0.storage, count: Self.count)] } ?? []
      return withExtendedLifetime(previous) { authenticating(before + [number]) }
    }
  }

  private func authenticating(_ parts: [UnsafeRawBufferPointer]) -> SymmetricKey {
    SymmetricKey { output in
      withBytes { key in
        HMACSHA256.authenticate(
          key: key, parts, into: UnsafeMutableRawBufferPointer(start: output, count: Self.count))
      }
    }
  }
}

// MARK: ChaCha20-Poly1305 (RFC 8439), whose nonce is four zero bytes followed by a counter

extension SymmetricKey {
  /// The length of the tag that sealing appends.
  package static var tagBytes: Int { crypto_aead_chacha20poly1305_ietf_abytes() }

  /// Encrypts the buffer in place from `start` to its end, and appends the authentication tag.
  ///
  /// No counter may be used twice with the same key.
  package func seal(
    _ buffer: inout [UInt8], from start: Int, counter: UInt64, associatedData: [UInt8] = []
  ) {
    precondition(start >= 0 && start <= buffer.count, "sealing from \(start) of \(buffer.count) bytes")
    let length = buffer.count - start
    for _ in 0..<Self.tagBytes { buffer.append(0) }
    let nonce = Nonce(counter)
    buffer.withUnsafeMutableBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return }
      let code = crypto_aead_chacha20poly1305_ietf_encrypt(
        base + start, nil, base + start, UInt64(length), associatedData, UInt64(associatedData.count), nil,
        nonce.bytes, pointer)
      precondition(code == 0, "ChaCha20-Poly1305 failed to seal \(length) bytes")
    }
  }

  /// Decrypts `range` of the buffer in place. The range includes the tag at its end.
  ///
  /// - Returns: the range of the plaintext; nil if authentication fails. After a failure, the bytes are undefined.
  package func open(
    _ buffer: inout [UInt8], _ range: Range<Int>, counter: UInt64, associatedData: [UInt8] = []
  ) -> Range<Int>? {
    guard range.lowerBound >= 0, range.upperBound <= buffer.count, range.count >= Self.tagBytes else {
      return nil
    }
    let nonce = Nonce(counter)
    let code = buffer.withUnsafeMutableBufferPointer { bytes -> CInt in
      guard let base = bytes.baseAddress else { return -1 }
      let start = base + range.lowerBound
      return crypto_aead_chacha20poly1305_ietf_decrypt(
        start, nil, nil, start, UInt64(range.count), associatedData, UInt64(associatedData.count),
        nonce.bytes, pointer)
    }
    return code == 0 ? range.lowerBound..<range.upperBound - Self.tagBytes : nil
  }
}

/// A nonce of four zero bytes followed by a little-endian counter.
private struct Nonce {
  let bytes: [UInt8]

  init(_ counter: UInt64) {
    bytes = withUnsafeBytes(of: counter.littleEndian) { [0, 0, 0, 0] + $0 }
  }
}
