import Sodium
import Testing

/// Keys that are sealed with a passphrase: a home that was sealed by one version must open in all later ones.
@Suite struct `Sealing with a passphrase` {
  private func secret(_ content: [UInt8]) throws -> SecretBuffer {
    var bytes = content
    return try SecretBuffer(taking: &bytes)
  }

  private func opened(
    _ sealed: [UInt8], _ key: SymmetricKey, _ nonce: [UInt8], _ data: [UInt8]
  ) throws -> [UInt8]? {
    guard let secret = try key.opened(sealed, nonce: nonce, associatedData: data) else { return nil }
    return secret.withBytes { Array($0) }
  }

  /// The example of draft-irtf-cfrg-xchacha, appendix A.3.1.
  private let text =
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would "
    + "be it."
  private let data = unhex("50515253c0c1c2c3c4c5c6c7")
  private let nonce = Array(0x40..<0x58 as Range<UInt8>)
  private let sealed = unhex(
    "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39"
      + "ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
      + "21f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49")

  private func key() throws -> SymmetricKey { try SymmetricKey(Array(0x80..<0xa0 as Range<UInt8>)) }

  @Test func `the example of XChaCha20-Poly1305 is sealed and opened`() throws {
    let key = try key()
    let plain = try secret(bytes(text))
    let result = key.sealed(plain, nonce: nonce, associatedData: data)
    #expect(hex(result) == hex(sealed))
    #expect(try opened(sealed, key, nonce, data) == bytes(text))
  }

  @Test func `nothing opens that was changed, cut short, or sealed for something else`() throws {
    let key = try key()
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 0x10
      #expect(try opened(changed, key, nonce, data) == nil, "byte \(index)")
    }
    for count in [0, 1, SymmetricKey.longTagBytes, SymmetricKey.longTagBytes + 1, sealed.count - 1] {
      #expect(try opened(Array(sealed.prefix(count)), key, nonce, data) == nil, "\(count) bytes")
    }
    #expect(try opened(sealed + [0], key, nonce, data) == nil)
    #expect(try opened(sealed, key, nonce, Array(data.dropLast())) == nil)
    #expect(try opened(sealed, key, nonce, []) == nil)
    #expect(try opened(sealed, key, Array(nonce.reversed()), data) == nil)
    for other in [Array(nonce.dropLast()), nonce + [0], []] {
      #expect(try opened(sealed, key, other, data) == nil, "a nonce of \(other.count) bytes")
    }
    #expect(try opened(sealed, SymmetricKey([UInt8](repeating: 1, count: 32)), nonce, data) == nil)
  }

  /// HMAC-SHA256 codes of "waymark" under the keys that libsodium derives when it is called from Python.
  @Test(arguments: [
    // columns: passes, bytes of memory, code
    (1, 8_192, "731fd6278545fb93d88fcc6aa43283019077d89462b8754bbb9b638d76143259"),
    (2, 8_192, "01a6d9feb3f1799b7985c2c80ca817da5df9f486fc3746c078c979a73a9ae6e6"),
    (1, 16_384, "b8dec984bc3cd7bccf72f968057e0aee59e8a38a90c2e8857a686d6d313d94ba"),
    (3, 65_536, "d4e54e292dc12e04b62b8a72437f6d3fa95d789431cee9c29dc67c07750ea41b"),
  ])
  func `a key follows from the passphrase, the salt and the cost`(
    passes: Int, memory: Int, code: String
  ) throws {
    let cost = PassphraseCost(passes: passes, memoryBytes: memory)
    let salt = Array(0..<16 as Range<UInt8>)
    let derived = try SymmetricKey(passphrase: try secret(bytes("correct horse")), salt: salt, cost: cost)
    #expect(hex(HMACSHA256.code(key: derived, bytes("waymark"))) == code)
    let others = [
      ("correct hors", salt), ("correct horse ", salt), ("correct horse", Array(salt.reversed())),
    ]
    for (words, salt) in others {
      let other = try SymmetricKey(passphrase: try secret(bytes(words)), salt: salt, cost: cost)
      #expect(hex(HMACSHA256.code(key: other, bytes("waymark"))) != code)
    }
  }

  @Test func `a salt of another length, or a cost below the least, is refused`() throws {
    let least = PassphraseCost.memoryBytesMin
    let rows = [(15, 1, least), (17, 1, least), (0, 1, least), (16, 0, least), (16, 1, least - 1)]
    for (salt, passes, memory) in rows {
      #expect(throws: SodiumError.wrongLength, "salt \(salt), passes \(passes), memory \(memory)") {
        try SymmetricKey(
          passphrase: try secret(bytes("words")), salt: [UInt8](repeating: 1, count: salt),
          cost: PassphraseCost(passes: passes, memoryBytes: memory))
      }
    }
  }

  @Test func `a buffer takes its bytes away from the array, and equals only the same content`() throws {
    var source = bytes("secret")
    let taken = try SecretBuffer(taking: &source)
    #expect(source.isEmpty)
    let count = taken.count
    #expect(count == 6)
    let others = [("secret", true), ("secreT", false), ("secre", false), ("secrets", false), ("", false)]
    for (other, isEqual) in others {
      let buffer = try secret(bytes(other))
      let (forth, back) = (taken.equals(buffer), buffer.equals(taken))
      #expect(forth == isEqual && back == isEqual, "\(other)")
    }
    // A larger buffer with the same content.
    var roomy = try SecretBuffer(capacity: 100)
    roomy.append(contentsOf: taken)
    let isSame = roomy.equals(taken)
    #expect(isSame)
  }

  @Test func `two keys in one buffer are read at their positions, and none beyond its end`() throws {
    let (signing, agreement) = (try SigningKey(), try AgreementKey())
    var buffer = try SecretBuffer(capacity: 100)
    signing.exportSeed(to: &buffer)
    agreement.exportSecret(to: &buffer)
    let first = try SigningKey(seed: buffer, at: 0)
    let second = try AgreementKey(secret: buffer, at: 32)
    #expect(first.publicKey == signing.publicKey && second.publicKey == agreement.publicKey)
    for offset in [33, 64, 100, -1] {
      let late = try? SigningKey(seed: buffer, at: offset)
      let lateSecret = try? AgreementKey(secret: buffer, at: offset)
      #expect(late == nil && lateSecret == nil, "at \(offset)")
    }
  }
}
