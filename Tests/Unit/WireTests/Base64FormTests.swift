import Testing
import Wire

/// The one text of some bytes, as signed tokens need it: another text of the same bytes would have another signature.
@Suite struct Base64FormTests {
  private struct Row {
    let text: String
    let standard: [UInt8]?
    let url: [UInt8]?
  }

  private static let rows: [Row] = [
    Row(text: "", standard: [], url: []),
    Row(text: "QUJD", standard: [0x41, 0x42, 0x43], url: [0x41, 0x42, 0x43]),
    Row(text: "QUI=", standard: [0x41, 0x42], url: nil),
    Row(text: "QUI", standard: nil, url: [0x41, 0x42]),
    Row(text: "QQ==", standard: [0x41], url: nil),
    Row(text: "QQ", standard: nil, url: [0x41]),
    Row(text: "QQ=", standard: nil, url: nil),
    Row(text: "Q", standard: nil, url: nil),
    Row(text: "Q===", standard: nil, url: nil),
    Row(text: "====", standard: nil, url: nil),
    // Unused bits that are not zero.
    Row(text: "QUJ=", standard: nil, url: nil),
    Row(text: "QUJ", standard: nil, url: nil),
    Row(text: "QR==", standard: nil, url: nil),
    Row(text: "QR", standard: nil, url: nil),
    // The two digits that differ.
    Row(text: "+/+/", standard: [0xfb, 0xff, 0xbf], url: nil),
    Row(text: "-_-_", standard: nil, url: [0xfb, 0xff, 0xbf]),
    Row(text: "-_+/", standard: nil, url: nil),
    // Line breaks, blanks, and more after the padding.
    Row(text: "QUJD\n", standard: nil, url: nil),
    Row(text: "QU\r\nJD", standard: nil, url: nil),
    Row(text: "QU JD", standard: nil, url: nil),
    Row(text: "QQ==QQ==", standard: nil, url: nil),
    Row(text: "QUJD.", standard: nil, url: nil),
    Row(text: "QUJé", standard: nil, url: nil),
  ]

  @Test func `of all texts of some bytes, each form accepts one`() {
    for row in Self.rows {
      #expect(Base64.decode(canonical: row.text.utf8, .standard) == row.standard, "\(row.text)")
      #expect(Base64.decode(canonical: row.text.utf8, .url) == row.url, "\(row.text)")
      if let bytes = row.standard { #expect(Base64.encode(bytes) == row.text) }
      if let bytes = row.url { #expect(Base64.encodeForURL(bytes) == row.text) }
    }
  }
}
