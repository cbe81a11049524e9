import Testing
import Wire

/// Base64 that arrives in pieces, as in a large file: the result does not depend on where the pieces end.
@Suite struct Base64PieceTests {
  private func pieces(_ text: String, of size: Int) -> [ArraySlice<UInt8>] {
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count, by: size).map { digits[$0..<min($0 + size, digits.count)] }
  }

  /// Returns the bytes of all pieces; nil if one of them is refused.
  private func decoded(_ pieces: [ArraySlice<UInt8>]) -> (bytes: [UInt8], isComplete: Bool)? {
    var decoder = Base64.Decoder()
    var bytes: [UInt8] = []
    for piece in pieces {
      guard let more = decoder.decode(piece) else { return nil }
      bytes += more
    }
    return (bytes, decoder.isComplete)
  }

  @Test(arguments: [1, 2, 3, 4, 5, 7, 64])
  func `text in pieces is decoded like the whole`(size: Int) throws {
    for count in [0, 1, 2, 3, 4, 47, 48, 49] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 5) }
      let result = try #require(decoded(pieces(Base64.encode(bytes), of: size)))
      #expect(result.bytes == bytes && result.isComplete, "\(count) bytes")
    }
  }

  @Test(arguments: ["Q", "QU", "QUJ", "QUJDQ", "QQ=", "="])
  func `text that ends within a group is not complete`(text: String) throws {
    for size in [1, 4] {
      let result = try #require(decoded(pieces(text, of: size)))
      #expect(!result.isComplete)
      #expect(result.bytes == (text == "QUJDQ" ? [0x41, 0x42, 0x43] : []))
    }
  }

  @Test(
    arguments: [
      "QQ==QUJD", "QUI=QUI=", "QUJD\nQUJD", "QU\r\nJDQQ", "QUJDQU D", "QQ=A", "====", "QUJD-_-_",
    ])
  func `nothing follows padding, and there are no line breaks or other characters`(text: String) {
    for size in [1, 2, 3, 4, 5, 64] {
      let isRefused = decoded(pieces(text, of: size)) == nil
      #expect(isRefused, "in pieces of \(size)")
    }
  }
}
