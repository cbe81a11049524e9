import FileFormat
import Records
import Testing
import Wire

struct BlobTests {
  private static let type = FieldType.blob

  @Test(arguments: [0, 1, 32_768, 32_769, 1_000_000])
  func `short bytes are stored in the field, longer ones as a file`(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let value = Blob.value(of: bytes)
    #expect(Self.type.accepts(value))
    #expect(Blob(value)?.byteCount == count)
    switch Blob(value) {
    case .inline(let held): #expect(held == bytes && count <= 32_768)
    case .file(let file): #expect(file == FileHasher.list(of: bytes)?.reference && count > 32_768)
    case nil: Issue.record("no content")
    }
  }

  @Test func `a value is converted to columns and back`() throws {
    let values: [Value] = [
      .null, .bytes([]), .bytes([1, 2]), Blob.value(of: [UInt8](repeating: 7, count: 100_000)),
      .array([.integer(0), .bytes([UInt8](repeating: 1, count: 32))]),
    ]
    for value in values {
      let columns = try #require(Self.type.columns(of: value))
      #expect(columns.count == 3)
      #expect(Self.type.value(from: columns[...]) == value)
    }
  }

  @Test func `other values are no content`() {
    let id = Value.bytes([UInt8](repeating: 1, count: 32))
    let values: [Value] = [
      .text(""), .integer(1), .array([]), .array([id]), .array([.integer(-1), id]),
      .array([.integer(1), .text("")]),
      .array([.integer(Int64(Limits.fileBytesMax) + 1), id]), .array([.integer(1), id, id]),
      .array([.bytes([UInt8](repeating: 1, count: 16))]),
      .bytes([UInt8](repeating: 1, count: 32_769)),
    ]
    for value in values { #expect(!Self.type.accepts(value), "\(value)") }
  }

  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"),
  ])
  func `base64 matches RFC 4648`(text: String, encoded: String) {
    #expect(Base64.encode(Array(text.utf8)) == encoded)
    #expect(Base64.decode(encoded) == Array(text.utf8))
  }

  @Test func `base64 in pieces is the same as in one piece`() {
    let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for size in [1, 2, 3, 4, 64, 999, 1_000] {
      for count in [0, 1, 2, 3, 997, 1_000] {
        var (encoder, text) = (Base64.Encoder(), [UInt8]())
        for start in stride(from: 0, to: count, by: size) {
          text += encoder.encode(Array(bytes[start..<min(start + size, count)]))
        }
        text += encoder.finish()
        #expect(String(decoding: text, as: UTF8.self) == Base64.encode(Array(bytes[..<count])))
      }
    }
  }

  @Test func `line breaks in base64 are skipped, everything else is refused`() {
    #expect(Base64.decode("Zm9v\r\nYmFy") == Array("foobar".utf8))
    for text in ["Z", "Zg=", "Zg", "Zg==Zg==", "=Zg=", "====", "Z===", "Zm9v!", "Zm 9v", "Zm9_"] {
      #expect(Base64.decode(text) == nil, "\(text)")
    }
  }
}
