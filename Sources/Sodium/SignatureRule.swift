// Protocol/encoding.md, "Which signatures are valid".

import CSodium

/// The check that libsodium decides by the rule of this project which signatures are valid.
///
/// All devices of a circle must agree on that, but libsodium's developers intend to multiply the equation by the
/// cofactor in a future release. One member could then sign a change set that some devices accept and others refuse, and
/// the circle would never converge again. A node therefore does not start with such a library.
package enum SignatureRule {
  /// A signature of `Protocol/vectors/signatures.json`.
  package struct Sample: Sendable {
    package let publicKey: [UInt8]
    package let message: [UInt8]
    package let signature: [UInt8]
    package let isValid: Bool

    fileprivate init(_ publicKey: String, _ message: String, _ signature: String, isValid: Bool) {
      self.publicKey = bytes(publicKey)
      self.message = Array(message.utf8)
      self.signature = bytes(signature)
      self.isValid = isValid
    }
  }

  /// The version of libsodium that this process uses.
  package static var libraryVersion: String { String(cString: sodium_version_string()) }

  /// Whether this process's libsodium follows the rule. The result is computed once.
  package static let isFollowed = isFollowed {
    Signature.verify($0.signature, prefix: [], message: $0.message, publicKey: $0.publicKey)
  }

  /// Whether a verifier gives the right answer for every sample.
  package static func isFollowed(by verify: (Sample) -> Bool) -> Bool {
    samples.allSatisfy { verify($0) == $0.isValid }
  }

  /// One sample for each way in which verifiers are known to differ.
  package static let samples = [
    // An ordinary signature.
    Sample(
      "33db6857085094a5de62d0158c78726c4af569621ce4cfead4e8f46bed0040c2", "waymark",
      "da7fcd8c7b191b5eca010654010c1e0554b7cb2fbd80c7956acddb91a0dcc14f"
        + "84ca35a45b68acd6a4fad0b8e055af5ccb54389637740532249c19b98ead6e08",
      isValid: true),
    // A changed signature.
    Sample(
      "33db6857085094a5de62d0158c78726c4af569621ce4cfead4e8f46bed0040c2", "waymark",
      "de7fcd8c7b191b5eca010654010c1e0554b7cb2fbd80c7956acddb91a0dcc14f"
        + "84ca35a45b68acd6a4fad0b8e055af5ccb54389637740532249c19b98ead6e08",
      isValid: false),
    // S is not below the order of the group.
    Sample(
      "33db6857085094a5de62d0158c78726c4af569621ce4cfead4e8f46bed0040c2", "scalar",
      "082b822033819433f357092a370f5283ecf8ff006ba6d8371e3fa2cb8b0dff1d"
        + "1a495b9777ab09880c4d4f83e30a91e299cfeb81c7b79f5ad4d4c6f684b3451b",
      isValid: false),
    // R is the identity, and the equation holds.
    Sample(
      "33db6857085094a5de62d0158c78726c4af569621ce4cfead4e8f46bed0040c2", "small order",
      "0100000000000000000000000000000000000000000000000000000000000000"
        + "219bbb4afd7f78cb6a22b7ec85bd759d2ee2b70a5e7d9de83c41f94c05522000",
      isValid: false),
    // The key is the identity in a form that is not canonical, and the equation holds.
    Sample(
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "small key 2",
      "d48c1ae372e98e8f849f0c17c3b82d0dcb349129f024b0728f201f749491debc"
        + "79d95518113c951b7f21d48ef0241dd6ee440aad6c21ebcee084dbebade8dd0b",
      isValid: false),
    // The key has order 2, and the equation holds.
    Sample(
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "small key 4",
      "d48c1ae372e98e8f849f0c17c3b82d0dcb349129f024b0728f201f749491debc"
        + "79d95518113c951b7f21d48ef0241dd6ee440aad6c21ebcee084dbebade8dd0b",
      isValid: false),
    // R has a part of order 8: the equation holds only with the cofactor.
    Sample(
      "33db6857085094a5de62d0158c78726c4af569621ce4cfead4e8f46bed0040c2", "mixed R 1",
      "ce3b2340042570660f7039b07c4f1fb0609dbaec9f024ad4fecf42b595a4e37e"
        + "e3708827f64364345b0c21bb5776b7e27896138ee5af3bf52e40dac4c7d0380d",
      isValid: false),
    // R has a part of order 2: the equation holds only with the cofactor.
    Sample(
      "33db6857085094a5de62d0158c78726c4af569621ce4cfead4e8f46bed0040c2", "mixed R 4",
      "65f6550c18de7b41b34b0597b8c8f7a33fae6136be2d016d1603c9cd50140755"
        + "4d480ed9069f441a693acf9e11743ba464156b5286698530051ad37a0ffb2000",
      isValid: false),
    // The key has a part of order 8: the equation holds only with the cofactor.
    Sample(
      "91ecae85ce9b4181af73dfd9bbd405307e24dbb5284c3b244cb4b19f5d9ebf22", "mixed key 1 0",
      "08448dfa690995c9deb58d75a7cda03918c468b00e0bc82bff56d1d5bf39c317"
        + "dc32a98dea69285373aed769d5cc8f7a21323a77946457afe38288f113c5de0c",
      isValid: false),
    // The key has a part of order 8, and the equation holds.
    Sample(
      "91ecae85ce9b4181af73dfd9bbd405307e24dbb5284c3b244cb4b19f5d9ebf22", "mixed key 1 44",
      "10060feb6dfd7e3d48e48d2a362b91ca213fc2d92b0cf382cb2e50c3b2e1c727"
        + "9d715c8b85ae5c3f932f4140a2e9acdfab90edf540d332a9a1537037b7293b01",
      isValid: true),
    // The key has a part of order 8: the equation holds only if the hash is reduced.
    Sample(
      "91ecae85ce9b4181af73dfd9bbd405307e24dbb5284c3b244cb4b19f5d9ebf22", "mixed key 1 7",
      "69cb6949eb14b2229ebec1ddc97f891e46cef78f779d52a2c61223a89fd1d625"
        + "26fe08981ee451df2acd4eeb8d2ed3dd89de88424053238bad75878981167e01",
      isValid: true),
    // The key has a part of order 8: the equation holds only if the hash is not reduced.
    Sample(
      "91ecae85ce9b4181af73dfd9bbd405307e24dbb5284c3b244cb4b19f5d9ebf22", "mixed key 1 1",
      "78d15797595da4b8b135766095edafb6e89a42a4e47410b33795d399ceaee3b9"
        + "550c3cb383b38de129f465675af0531a2e7e6d2653c7e8684c8cd0a4c7f73d01",
      isValid: false),
    // The key and R have parts of order 8 that cancel, and the equation holds.
    Sample(
      "91ecae85ce9b4181af73dfd9bbd405307e24dbb5284c3b244cb4b19f5d9ebf22", "mixed key 1 18",
      "bf57a80e8dac4cf3e52fbf4b4e75f9ca3a3e5e5d301c07fe47c8f33a6d2e35b7"
        + "29066e13500f5980c3889043ab94e0379982dc5c9a8949c0896e5b1cff022506",
      isValid: true),
  ]
}

/// The bytes of a hexadecimal text.
private func bytes(_ text: String) -> [UInt8] {
  let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
  precondition(digits.count == text.utf8.count && digits.count.isMultiple(of: 2), "not hexadecimal: \(text)")
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
