import Foundation
import Testing
import Vectors
import Wire

/// The examples of RFC 8949, appendix A: those of the deterministic subset are accepted, all others are rejected.
@Suite struct CBORAppendixTests {
  private struct Example: Decodable {
    let hex: String
  }

  private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "shared/vectors/cbor-appendix-a.json")

  private static var isPresent: Bool { (try? Data(contentsOf: file)) != nil }

  /// The examples within the subset, in the order of the appendix; every other one breaks a rule.
  private static let accepted: Set<String> = [
    "00", "01", "0a", "17", "1818", "1819", "1864", "1903e8", "1a000f4240", "1b000000e8d4a51000", "20",
    "29", "3863", "3903e7", "fb3ff199999999999a", "fb7e37e43c8800759c", "fbc010666666666666", "f4", "f5",
    "f6", "40", "4401020304", "60", "6161", "6449455446", "62225c", "62c3bc", "63e6b0b4", "64f0908591",
    "80", "83010203", "8301820203820405",
    "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
  ]

  @Test(.enabled(if: isPresent, "../shared/vectors/cbor-appendix-a.json is not here"))
  func `the subset is accepted and the rest is rejected`() throws {
    let examples = try JSONDecoder().decode([Example].self, from: try Data(contentsOf: Self.file))
    #expect(examples.count == 82)
    var passed: Set<String> = []
    for example in examples {
      let bytes = try expand(example.hex)
      guard let value = try? Value(encoded: bytes[...]) else {
        #expect(failure { _ = try skipped(bytes) } != nil, "\(example.hex)")
        continue
      }
      passed.insert(example.hex)
      #expect(value.encoded == bytes, "\(example.hex)")
    }
    #expect(passed == Self.accepted)
  }
}
