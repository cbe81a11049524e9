import CSodium

/// A buffer for secret bytes that are read from a file or written to one. Its memory is locked, has guard pages, and is
/// wiped when the buffer is released.
///
/// The buffer has a single owner and is never copied or moved in memory, so no code path, not even one that throws an
/// error, leaves a secret behind. `Sendable` is unchecked because the single owner has exclusive access.
package struct SecretBuffer: ~Copyable, @unchecked Sendable {
  private let address: UnsafeMutablePointer<UInt8>
  package let capacity: Int
  package private(set) var count = 0

  /// Creates an empty buffer with room for `capacity` bytes.
  package init(capacity: Int) throws(SodiumError) {
    precondition(capacity > 0, "a secret of \(capacity) bytes")
    Library.ready
    guard let memory = sodium_malloc(capacity) else { throw .outOfMemory }
    address = memory.bindMemory(to: UInt8.self, capacity: capacity)
    address.initialize(repeating: 0, count: capacity)
    self.capacity = capacity
  }

  /// Moves the bytes of an array into a new buffer and wipes the array, which must be the only owner of its storage.
  package init(taking bytes: inout [UInt8]) throws(SodiumError) {
    defer { wipe(&bytes) }
    try self.init(capacity: max(1, bytes.count))
    append(contentsOf: bytes)
  }

  deinit { sodium_free(address) }

  package subscript(index: Int) -> UInt8 {
    precondition(index >= 0 && index < count, "byte \(index) of a secret of \(count)")
    return address[index]
  }

  package mutating func append(_ byte: UInt8) {
    precondition(count < capacity, "a secret has room for \(capacity) bytes")
    address[count] = byte
    count += 1
  }

  package mutating func append(contentsOf bytes: some Collection<UInt8>) {
    for byte in bytes { append(byte) }
  }

  package mutating func append(contentsOf other: borrowing SecretBuffer) {
    for index in 0..<other.count { append(other[index]) }
  }

  /// Lets `body` write bytes into the free part of the buffer, and appends them. `body` returns how many bytes it
  /// wrote.
  package mutating func fill<Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    let free = UnsafeMutableRawBufferPointer(start: address + count, count: capacity - count)
    let added = try body(free)
    precondition(added >= 0 && added <= free.count, "\(added) bytes were written to a space of \(free.count)")
    count += added
  }

  package func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: address, count: count))
  }

  /// Whether both buffers have the same content. How long the comparison takes depends only on their lengths.
  package func equals(_ other: borrowing SecretBuffer) -> Bool {
    count == other.count && sodium_memcmp(address, other.address, count) == 0
  }

  var pointer: UnsafePointer<UInt8> { UnsafePointer(address) }
}

extension SigningKey {
  /// Creates a key pair from the seed at `offset` in a buffer.
  package convenience init(seed: borrowing SecretBuffer, at offset: Int = 0) throws(SodiumError) {
    guard offset >= 0, offset + Self.seedBytes <= seed.count else { throw .wrongLength }
    let bytes = seed.pointer + offset
    try self.init { publicKey, secret in crypto_sign_ed25519_seed_keypair(publicKey, secret, bytes) }
  }

  /// Appends the seed to a buffer that is to be written to a key file.
  package func exportSeed(to buffer: inout SecretBuffer) {
    secret.withBytes { seed in
      for index in 0..<Self.seedBytes { buffer.append(seed[index]) }
    }
  }
}

extension AgreementKey {
  /// Creates a key pair from the secret at `offset` in a buffer.
  package convenience init(secret: borrowing SecretBuffer, at offset: Int = 0) throws(SodiumError) {
    guard offset >= 0, offset + Self.secretBytes <= secret.count else { throw .wrongLength }
    let bytes = secret.pointer + offset
    try self.init { $0.update(from: bytes, count: Self.secretBytes) }
  }

  /// Appends the secret to a buffer that is to be written to a key file.
  package func exportSecret(to buffer: inout SecretBuffer) {
    secret.withBytes { bytes in
      for index in 0..<Self.secretBytes { buffer.append(bytes[index]) }
    }
  }
}
