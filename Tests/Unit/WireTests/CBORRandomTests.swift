import Testing
import Vectors
import Wire

@Suite struct CBORRandomTests {
  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func `random values are decoded unchanged`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<500 {
      let value = random.value(depth: 1)
      let bytes = value.encoded
      #expect(try Value(encoded: bytes[...]) == value)
      #expect(try skipped(bytes) == 0..<bytes.count)
    }
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func `damaged bytes that are accepted are still the only encoding of their value`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var accepted = 0
    for _ in 0..<3_000 {
      var bytes = random.value(depth: 3).encoded
      let index = random.below(bytes.count)
      bytes[index] = UInt8(random.below(256))
      let value = try? Value(encoded: bytes[...])
      #expect((value == nil) == (failure { _ = try skipped(bytes) } != nil))
      guard let value else { continue }
      accepted += 1
      #expect(value.encoded == bytes)
    }
    #expect(accepted > 100)
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func `random bytes are rejected, or are the one encoding of a value`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<3_000 {
      let bytes = (0..<random.below(24)).map { _ in UInt8(random.below(256)) }
      guard let value = try? Value(encoded: bytes[...]) else { continue }
      #expect(value.encoded == bytes)
    }
  }
}
