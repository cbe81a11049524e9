// Protocol/records.md, "Types": JSON columns

/// Compares JSON text with a field value without converting either of them.
enum PlainJSON {
  /// Whether JSON text represents the item's value. Floats must have a point or an exponent, and bytes are written as
  /// `{"bytes":"hex"}`.
  static func says(_ text: [UInt8], _ item: PlainItem, in content: [UInt8]) -> Bool {
    var reader = Reader(text: text)
    return reader.matches(item, content) && reader.offset == text.count
  }

  private struct Reader {
    let text: [UInt8]
    var offset = 0

    mutating func matches(_ item: PlainItem, _ content: [UInt8]) -> Bool {
      switch item.form {
      case .null: return take("null")
      case .bool(let flag): return take(flag ? "true" : "false")
      case .unsigned, .negative: return item.integer.map { take("\($0)") && !isInNumber } ?? false
      case .float(let number):
        let digits = numberText()
        return digits.contains { ".eE".contains($0) } && Double(digits)?.bitPattern == number.bitPattern
      case .text: return string().map { $0 == Array(content[item.content]) } ?? false
      case .bytes: return take("{\"bytes\":\"\(plainHex(Array(content[item.content])))\"}")
      case .array(let items):
        guard take("[") else { return false }
        for (index, item) in items.enumerated() {
          if index > 0, !take(",") { return false }
          guard matches(item, content) else { return false }
        }
        return take("]")
      case .map: return false
      }
    }

    private var isInNumber: Bool { offset < text.count && "0123456789.eE+-".utf8.contains(text[offset]) }

    private mutating func take(_ word: String) -> Bool {
      let bytes = Array(word.utf8)
      guard text[offset...].starts(with: bytes) else { return false }
      offset += bytes.count
      return true
    }

    private mutating func numberText() -> String {
      let start = offset
      while isInNumber { offset += 1 }
      return String(decoding: text[start..<offset], as: UTF8.self)
    }

    private mutating func string() -> [UInt8]? {
      guard take("\"") else { return nil }
      var units: [UInt8] = []
      while offset < text.count, text[offset] != 0x22 {
        if text[offset] == 0x5c {
          guard let scalar = escaped() else { return nil }
          units += Array(String(scalar).utf8)
        } else {
          units.append(text[offset])
          offset += 1
        }
      }
      return take("\"") ? units : nil
    }

    private mutating func escaped() -> Unicode.Scalar? {
      offset += 1
      guard offset < text.count else { return nil }
      let letter = text[offset]
      offset += 1
      let plain: [UInt8: UInt8] = [
        0x22: 0x22, 0x5c: 0x5c, 0x2f: 0x2f, 0x62: 8, 0x66: 12, 0x6e: 10, 0x72: 13, 0x74: 9,
      ]
      if let byte = plain[letter] { return Unicode.Scalar(byte) }
      guard letter == 0x75, let unit = hexUnit() else { return nil }
      guard (0xd800..<0xdc00).contains(unit) else { return Unicode.Scalar(unit) }
      guard take("\\u"), let low = hexUnit(), (0xdc00..<0xe000).contains(low) else { return nil }
      return Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00))
    }

    private mutating func hexUnit() -> UInt32? {
      guard offset + 4 <= text.count else { return nil }
      defer { offset += 4 }
      return UInt32(String(decoding: text[offset..<offset + 4], as: UTF8.self), radix: 16)
    }
  }
}
