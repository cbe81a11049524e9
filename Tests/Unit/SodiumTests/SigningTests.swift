import Sodium
import Testing

struct SigningVector: Sendable {
  var seed: String
  var publicKey: String
  var message: String
  var signature: String
}

/// RFC 8032, section 7.1, tests 1 to 3.
let signingVectors = [
  SigningVector(
    seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    message: "",
    signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
      + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
  SigningVector(
    seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    message: "72",
    signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
  SigningVector(
    seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    message: "af82",
    signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
      + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
]

@Suite struct `Ed25519` {
  @Test(arguments: signingVectors) func `signs and verifies as in RFC 8032`(vector: SigningVector) throws {
    let key = try SigningKey(seed: unhex(vector.seed))
    #expect(hex(key.publicKey) == vector.publicKey)
    var exported = try SecretBuffer(capacity: 32)
    key.exportSeed(to: &exported)
    #expect(hex(exported.withBytes { Array($0) }) == vector.seed)
    let message = unhex(vector.message)
    #expect(hex(key.sign(prefix: message, [])) == vector.signature)
    #expect(hex(key.sign(prefix: [], message)) == vector.signature)
    let signature = unhex(vector.signature)
    #expect(Signature.verify(signature, prefix: [], message: message, publicKey: key.publicKey))
    #expect(Signature.verify(signature, prefix: message, message: [], publicKey: key.publicKey))
  }

  @Test func `any changed byte is rejected`() throws {
    let key = try SigningKey()
    let signature = key.sign(prefix: bytes("a/v1\0"), bytes("message"))
    func verifies(_ signature: [UInt8], _ prefix: String, _ message: String, _ publicKey: [UInt8]) -> Bool {
      Signature.verify(
        signature, prefix: bytes(prefix), message: bytes(message), publicKey: publicKey)
    }
    #expect(verifies(signature, "a/v1\0", "message", key.publicKey))
    #expect(!verifies(signature, "b/v1\0", "message", key.publicKey))
    #expect(!verifies(signature, "a/v1\0", "massage", key.publicKey))
    #expect(!verifies(signature, "a/v1\0", "message", try SigningKey().publicKey))
    for index in signature.indices {
      var changed = signature
      changed[index] ^= 0x40
      #expect(!verifies(changed, "a/v1\0", "message", key.publicKey))
    }
  }

  @Test func `wrong lengths are rejected and never trap`() throws {
    let key = try SigningKey()
    let signature = key.sign(prefix: [], [1])
    let empty: [UInt8] = []
    #expect(!Signature.verify(empty, prefix: [], message: [1], publicKey: key.publicKey))
    #expect(!Signature.verify(signature + [0], prefix: [], message: [1], publicKey: key.publicKey))
    #expect(!Signature.verify(signature, prefix: [], message: [1], publicKey: empty))
    #expect(throws: SodiumError.wrongLength) { try SigningKey(seed: [1, 2, 3]) }
  }

  @Test func `a message that exceeds the stack buffer can be signed too`() throws {
    let key = try SigningKey()
    let message = [UInt8](repeating: 7, count: 300_000)
    let signature = key.sign(prefix: [1], message[1000...])
    #expect(Signature.verify(signature, prefix: [1], message: message[1000...], publicKey: key.publicKey))
  }

  @Test func `the malleated signature s plus L is refused`() throws {
    // The order of the group, little-endian.
    let order = unhex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
    let key = try SigningKey(seed: [UInt8](repeating: 3, count: 32))
    var signature = key.sign(prefix: [], [1])
    var carry = 0
    for index in 0..<32 {
      let sum = Int(signature[32 + index]) + Int(order[index]) + carry
      signature[32 + index] = UInt8(truncatingIfNeeded: sum)
      carry = sum >> 8
    }
    #expect(!Signature.verify(signature, prefix: [], message: [1], publicKey: key.publicKey))
  }

  @Test func `only points of the main subgroup are valid public keys`() throws {
    #expect(Signature.isValidPublicKey(try SigningKey().publicKey))
    #expect(!Signature.isValidPublicKey([UInt8](repeating: 0, count: 32)))
    #expect(!Signature.isValidPublicKey([1] + [UInt8](repeating: 0, count: 31)))
    #expect(!Signature.isValidPublicKey([UInt8](repeating: 0xff, count: 32)))
    #expect(!Signature.isValidPublicKey([]))
  }
}
