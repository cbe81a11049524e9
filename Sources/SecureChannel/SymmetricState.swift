// Protocol/channel.md, "Handshake"; the Noise specification, section 5.2.

import Sodium

/// The keys and the transcript hash of a handshake in progress.
struct SymmetricState {
  private(set) var hash: [UInt8]
  private var chainingKey: SymmetricKey
  private var cipherKey: SymmetricKey?
  private var counter: UInt64 = 0

  /// Starts with the protocol name as the hash. The name is padded with zeros if it is no longer than a hash;
  /// otherwise, it is hashed.
  init(protocolName: String) {
    let name = Array(protocolName.utf8)
    hash =
      name.count <= SymmetricKey.count ? name + zeros(SymmetricKey.count - name.count) : SHA256.hash(name)
    chainingKey = Self.key(hash)
  }

  mutating func mixHash(_ data: [UInt8]) { hash = SHA256.hash(hash, data) }

  mutating func mixKey(_ input: SymmetricKey) {
    let (chaining, cipher) = chainingKey.derivedPair(input)
    begin(chaining, cipher)
  }

  mutating func mixKeyAndHash(_ input: SymmetricKey) {
    let (chaining, mixed, cipher) = chainingKey.derivedTriple(input)
    hash = mixed.hashed(after: hash)
    begin(chaining, cipher)
  }

  mutating func encryptAndHash(_ plaintext: [UInt8]) throws(ChannelError) -> [UInt8] {
    var text = plaintext
    if let cipherKey {
      cipherKey.seal(&text, from: 0, counter: counter, associatedData: hash)
      counter += 1
    }
    mixHash(text)
    return text
  }

  mutating func decryptAndHash(_ ciphertext: ArraySlice<UInt8>) throws(ChannelError) -> [UInt8] {
    var text = Array(ciphertext)
    let associated = hash
    mixHash(text)
    guard let cipherKey else { return text }
    guard let range = cipherKey.open(&text, 0..<text.count, counter: counter, associatedData: associated)
    else { throw .handshakeFailed }
    counter += 1
    return Array(text[range])
  }

  /// Returns the initiator's sending key and the responder's sending key.
  func split() -> (SymmetricKey, SymmetricKey) { chainingKey.derivedPair(nil) }

  private mutating func begin(_ chaining: SymmetricKey, _ cipher: SymmetricKey) {
    chainingKey = chaining
    cipherKey = cipher
    counter = 0
  }

  private static func key(_ bytes: [UInt8]) -> SymmetricKey {
    guard let key = try? SymmetricKey(bytes) else {
      preconditionFailure("expected a 32-byte hash, got \(bytes.count) bytes")
    }
    return key
  }
}

private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
