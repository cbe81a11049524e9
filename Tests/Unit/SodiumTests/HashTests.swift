import Sodium
import Testing

@Suite struct `Hashes match their RFCs` {
  @Test func `BLAKE2b-256 of abc is the same through every interface`() {
    // BLAKE2b with 32 bytes of output has no RFC vector; this one is Python's hashlib.
    let expected = "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"
    #expect(hex(Blake2b256.bytes(Blake2b256.hash(bytes("abc")))) == expected)
    #expect(hex(Blake2b256.bytes(Blake2b256.hash(prefix: bytes("ab"), bytes("c")))) == expected)
    #expect(hex(Blake2b256.bytes(Blake2b256.hash(prefix: [], bytes("xabcx")[1..<4]))) == expected)
    #expect(hex(Blake2b256.hashBytes(prefix: bytes("a"), parts: [bytes("b"), [], bytes("c")])) == expected)
  }

  @Test func `BLAKE2b-256 of empty input matches the known value`() {
    let expected = "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"
    #expect(hex(Blake2b256.bytes(Blake2b256.hash([]))) == expected)
    #expect(hex(Blake2b256.bytes(Blake2b256().finish())) == expected)
  }

  @Test func `words are the bytes read big-endian`() {
    let words = Blake2b256.hash(bytes("abc"))
    #expect(words.0 == 0xbddd_813c_6342_3972)
    #expect(words.3 == 0x7262_c8c0_68d5_2319)
  }

  @Test func `a number is hashed as its big-endian bytes`() {
    var hasher = Blake2b256()
    hasher.update([1, 2][...])
    hasher.update(bigEndian: UInt32(0x0304_0506))
    hasher.update(bigEndian: UInt64(7))
    let parts: [UInt8] = [1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 7]
    #expect(hasher.finish() == Blake2b256.hash(parts))
  }

  @Test func `many small updates equal one large hash`() {
    let data = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
    var hasher = Blake2b256()
    for start in stride(from: 0, to: data.count, by: 37) {
      hasher.update(data[start..<min(start + 37, data.count)])
    }
    #expect(hasher.finish() == Blake2b256.hash(data))
  }

  @Test func `SHA-256 of abc matches FIPS 180-4`() {
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    #expect(hex(SHA256.hash(bytes("a"), bytes("bc"))) == expected)
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    #expect(hex(SHA256.hash([])) == empty)
  }
}
