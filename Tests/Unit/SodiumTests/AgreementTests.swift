import Sodium
import Testing

@Suite struct `X25519 and ChaCha20-Poly1305` {
  @Test func `Alice and Bob of RFC 7748 agree`() throws {
    let alice = try AgreementKey(
      secret: unhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
    let bob = try AgreementKey(
      secret: unhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
    #expect(hex(alice.publicKey) == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    #expect(hex(bob.publicKey) == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
    let expected = try SymmetricKey(
      unhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"))
    let message = bytes("same key, same code")
    let code = HMACSHA256.code(key: expected, message)
    #expect(HMACSHA256.code(key: try alice.sharedSecret(with: bob.publicKey), message) == code)
    #expect(HMACSHA256.code(key: try bob.sharedSecret(with: alice.publicKey), message) == code)
  }

  @Test func `a secret key survives its export`() throws {
    let alice = try AgreementKey()
    var exported = try SecretBuffer(capacity: 32)
    alice.exportSecret(to: &exported)
    let again = try AgreementKey(secret: exported)
    #expect(again.publicKey == alice.publicKey)
    #expect(throws: SodiumError.wrongLength) { try AgreementKey(secret: [1]) }
  }

  /// The points of small order, which give an all-zero secret.
  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ]) func `a point of small order is rejected`(point: String) throws {
    let alice = try AgreementKey()
    #expect(throws: SodiumError.weakPoint) { try alice.sharedSecret(with: unhex(point)) }
    #expect(throws: SodiumError.wrongLength) { try alice.sharedSecret(with: [9]) }
  }

  @Test func `the sealed text of RFC 8439 appendix A 5 opens`() throws {
    let key = try SymmetricKey(
      unhex("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0"))
    var sealed = unhex(
      "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb24c6cfc18755d43eea09ee94e382d26b0"
        + "bdb7b73c321b0100d4f03b7f355894cf332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c855"
        + "9797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4b9166c767b804d46a59b5216cde7a4e9"
        + "9040c5a40433225ee282a1b0a06c523eaf4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a"
        + "0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a1049e617d91d361094fa68f0ff77987130"
        + "305beaba2eda04df997b714d6c6f2c29a6ad5cb4022b02709beead9d67890cbb22392336fea1851f38")
    let data = unhex("f33388860000000000004e91")
    let range = try #require(
      key.open(&sealed, 0..<sealed.count, counter: 0x0807_0605_0403_0201, associatedData: data))
    let text = String(decoding: sealed[range], as: UTF8.self)
    #expect(text.hasPrefix("Internet-Drafts are draft documents valid for a maximum of six months"))
    var again = Array(sealed[range])
    key.seal(&again, from: 0, counter: 0x0807_0605_0403_0201, associatedData: data)
    #expect(hex(again.suffix(16)) == "eead9d67890cbb22392336fea1851f38")
  }

  @Test func `sealing starts at the given counter and any changed bit is rejected`() throws {
    let key = try SymmetricKey(randomBytes(32))
    var buffer: [UInt8] = [9, 9, 1, 2, 3]
    key.seal(&buffer, from: 2, counter: 5)
    #expect(buffer.count == 5 + SymmetricKey.tagBytes && buffer[0..<2] == [9, 9])
    for index in 2..<buffer.count {
      var changed = buffer
      changed[index] ^= 1
      #expect(key.open(&changed, 2..<buffer.count, counter: 5) == nil)
    }
    var wrong = buffer
    #expect(key.open(&wrong, 2..<buffer.count, counter: 6) == nil)
    #expect(key.open(&wrong, 0..<2, counter: 5) == nil)
    #expect(key.open(&wrong, 0..<buffer.count + 1, counter: 5) == nil)
    #expect(key.open(&buffer, 2..<buffer.count, counter: 5) == 2..<5)
    #expect(buffer[2..<5] == [1, 2, 3])
  }

  @Test func `HMAC-SHA256 matches RFC 4231 with a key filled to 32 bytes`() throws {
    // HMAC pads keys with zeros, so test case 2 holds for "Jefe" and 28 zeros.
    let key = try SymmetricKey(bytes("Jefe") + [UInt8](repeating: 0, count: 28))
    #expect(
      hex(HMACSHA256.code(key: key, bytes("what do ya want for nothing?")))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(throws: SodiumError.wrongLength) { try SymmetricKey([1, 2]) }
  }

  @Test func `random bytes differ and a wiped secret is empty`() {
    #expect(randomBytes(32) != randomBytes(32))
    #expect(randomBytes(0).isEmpty)
    var secret: [UInt8] = [1, 2, 3]
    wipe(&secret)
    #expect(secret.isEmpty)
    var generator = SecureRandom()
    #expect(generator.next() != generator.next())
  }
}
