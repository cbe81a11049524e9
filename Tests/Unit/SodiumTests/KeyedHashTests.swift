import Sodium
import Testing

@Suite struct `Authentication codes and copies of keys` {
  private let key: SymmetricKey

  init() throws { key = try SymmetricKey((0..<32).map { UInt8($0) }) }

  @Test func `a code is keyed BLAKE2b with sixteen bytes of output`() {
    // Python: hashlib.blake2b(b"abc", digest_size=16, key=bytes(range(32)))
    #expect(hex(key.authenticationCode(of: bytes("abc"))) == "1a64be47e4729d951c302ee543f97cf3")
    #expect(hex(key.authenticationCode(of: [])) == "3daf97bce7888fd59773c66bf647459c")
  }

  @Test func `a code is accepted for its bytes under its key only, and as a whole`() throws {
    let code = key.authenticationCode(of: bytes("abc"))
    #expect(key.isAuthenticationCode(code, of: bytes("abc")))
    #expect(!key.isAuthenticationCode(code, of: bytes("abd")))
    #expect(!key.isAuthenticationCode(code, of: bytes("abcd")))
    for index in code.indices {
      var changed = code
      changed[index] ^= 1
      #expect(!key.isAuthenticationCode(changed, of: bytes("abc")), "byte \(index)")
    }
    let others: [[UInt8]] = [[], Array(code.dropLast()), code + [0], code + code]
    for wrong in others {
      #expect(!key.isAuthenticationCode(wrong, of: bytes("abc")), "\(wrong.count) bytes")
    }
    let other = try SymmetricKey([UInt8](repeating: 1, count: 32))
    #expect(!other.isAuthenticationCode(code, of: bytes("abc")))
  }

  @Test func `a guarded copy of a key is the same key, and outlives the key`() throws {
    var original: SymmetricKey? = try SymmetricKey((0..<32).map { UInt8($0) })
    let copy = try #require(original).guarded()
    original = nil
    #expect(copy.authenticationCode(of: bytes("abc")) == key.authenticationCode(of: bytes("abc")))
    #expect(copy.hashed(after: bytes("x")) == key.hashed(after: bytes("x")))
    // Python: hashlib.sha256(b"x" + bytes(range(32)))
    #expect(
      hex(copy.hashed(after: bytes("x")))
        == "c0d9730ed221dcff5d7e5ef591e27b7c131877aac37ce3a0507dbee852e33466")
  }

  @Test func `BLAKE2b-512 of abc matches RFC 7693`() {
    #expect(
      hex(Blake2b512.hash(bytes("abc")))
        == "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
        + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
  }
}
