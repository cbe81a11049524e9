import Records
import Testing
import Wire

struct ContentTests {
  @Test(arguments: [0, 1, 32_768, 32_769, 49_152, 49_153, 1_000_000])
  func `bytes are split and joined again`(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let cut = Contents.cut(bytes)
    #expect(cut.records.isEmpty == (count <= 32_768))
    #expect(Registry.attachment.fields.last?.type.accepts(cut.value) == true)
    var parts: [RecordID: [UInt8]] = [:]
    for record in cut.records {
      guard case .bytes(let part) = record[Contents.bytesField] else { continue }
      #expect(part.count <= 49_152)
      #expect(record.id == RecordID(contentOf: part))
      parts[record.id] = part
    }
    #expect(Contents.join(cut.value) { parts[$0] } == bytes)
    #expect(Contents.parts(of: cut.value).count == cut.records.count)
  }

  @Test func `incomplete content cannot be joined`() {
    let cut = Contents.cut([UInt8](repeating: 7, count: 100_000))
    #expect(Contents.join(cut.value) { _ in nil } == nil)
    #expect(Contents.join(.null) { _ in nil } == nil)
  }

  @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")])
  func `base64 matches RFC 4648`(text: String, encoded: String) {
    #expect(Base64.encode(Array(text.utf8)) == encoded)
    #expect(Base64.decode(encoded) == Array(text.utf8))
  }

  @Test func `line breaks in base64 are skipped, everything else is refused`() {
    #expect(Base64.decode("Zm9v\r\nYmFy") == Array("foobar".utf8))
    for text in ["Z", "Zg=", "Zg", "Zg==Zg==", "=Zg=", "====", "Z===", "Zm9v!", "Zm 9v", "Zm9_"] {
      #expect(Base64.decode(text) == nil, "\(text)")
    }
  }

  @Test func `bytes that do not match their id are not part of a file`() {
    let cut = Contents.cut([UInt8](repeating: 7, count: 100_000))
    #expect(Contents.join(cut.value) { _ in [1, 2, 3] } == nil)
  }

  @Test func `a content that refers to one part thousands of times does not expand to gigabytes`() {
    let part = [UInt8](repeating: 7, count: Limits.blobBytesMax)
    let id = Value.bytes(RecordID(contentOf: part).bytes)
    let most = Limits.attachmentBytesMax / part.count
    #expect(
      Contents.join(.array([Value](repeating: id, count: most))) { _ in part }?.count == most * part.count)
    var asked = 0
    let joined = Contents.join(.array([Value](repeating: id, count: 13_000))) { _ in
      asked += 1
      return part
    }
    #expect(joined == nil)
    #expect(asked <= most + 1)
  }
}
