import Foundation
import Sodium
import Testing

/// Protocol/vectors/signatures.json.
private struct SignatureVectors: Decodable, Sendable {
  struct Row: Decodable, Sendable, CustomTestStringConvertible {
    var flag, name, publicKey, message, signature: String
    var valid, withCofactor: Bool
    var testDescription: String { "\(flag): \(name)" }
  }

  struct Key: Decodable, Sendable, CustomTestStringConvertible {
    var name, publicKey: String
    var valid: Bool
    var testDescription: String { name }
  }

  var signatures: [Row]
  var keys: [Key]

  static let all: SignatureVectors = {
    do {
      let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
      let data = try Data(contentsOf: root.appending(path: "Protocol/vectors/signatures.json"))
      return try JSONDecoder().decode(SignatureVectors.self, from: data)
    } catch {
      fatalError("Protocol/vectors/signatures.json can't be read: \(error)")
    }
  }()
}

@Suite struct `The rule for signatures` {
  @Test(arguments: SignatureVectors.all.signatures)
  fileprivate func `decides each vector as the independent arithmetic does`(row: SignatureVectors.Row) {
    let isValid = Signature.verify(
      unhex(row.signature), prefix: [], message: unhex(row.message), publicKey: unhex(row.publicKey))
    #expect(isValid == row.valid)
  }

  @Test(arguments: SignatureVectors.all.keys)
  fileprivate func `admits only keys of the main subgroup`(key: SignatureVectors.Key) {
    #expect(Signature.isValidPublicKey(unhex(key.publicKey)) == key.valid)
  }

  @Test func `is followed by this library`() {
    #expect(SignatureRule.isFollowed, "libsodium \(SignatureRule.libraryVersion)")
  }

  @Test func `is checked at start by samples of the vectors`() throws {
    for sample in SignatureRule.samples {
      let found = try #require(vector(of: sample))
      #expect(found.valid == sample.isValid)
    }
  }

  @Test func `is not followed by a library that verifies with the cofactor`() {
    #expect(!SignatureRule.isFollowed { vector(of: $0)?.withCofactor ?? false })
  }

  @Test func `is not followed by a library that differs in one sample`() {
    for odd in SignatureRule.samples {
      #expect(!SignatureRule.isFollowed { $0.signature == odd.signature ? !$0.isValid : $0.isValid })
    }
  }

  private func vector(of sample: SignatureRule.Sample) -> SignatureVectors.Row? {
    SignatureVectors.all.signatures.first {
      unhex($0.signature) == sample.signature && unhex($0.message) == sample.message
        && unhex($0.publicKey) == sample.publicKey
    }
  }
}
