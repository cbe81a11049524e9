/// Encodes and decodes base64 (RFC 4648): images and attachments in exported files, and signed tokens.
package enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let padding = UInt8(ascii: "=")
  private static let invalid: UInt8 = 0xff

  /// The six bits that each base64 digit stands for, indexed by the digit's ASCII code.
  private static let digits: [UInt8] = {
    var table = [UInt8](repeating: invalid, count: 256)
    for (bits, digit) in alphabet.enumerated() { table[Int(digit)] = UInt8(bits) }
    return table
  }()

  /// The forms of base64 in signed tokens (RFC 7515).
  package enum Form: Sendable {
    /// The standard alphabet, with padding: certificates.
    case standard
    /// The alphabet for URLs, without padding: the parts of a token.
    case url
  }

  /// Decodes the one text that encodes some bytes in a form; nil for anything else, such as line breaks or unused bits
  /// that are not zero.
  package static func decode(canonical text: some Collection<UInt8>, _ form: Form) -> [UInt8]? {
    var standard: [UInt8] = []
    standard.reserveCapacity(text.count + 2)
    for digit in text {
      switch (form, digit) {
      case (.standard, 0x0a), (.standard, 0x0d): return nil
      case (.url, UInt8(ascii: "-")): standard.append(UInt8(ascii: "+"))
      case (.url, UInt8(ascii: "_")): standard.append(UInt8(ascii: "/"))
      case (.url, padding), (.url, 0x0a), (.url, 0x0d), (.url, UInt8(ascii: "+")), (.url, UInt8(ascii: "/")):
        return nil
      default: standard.append(digit)
      }
    }
    let unpadded = standard.count % 4
    if form == .url, unpadded > 0 {
      standard += [UInt8](repeating: padding, count: 4 - unpadded)
    }
    guard let bytes = decode(standard), Array(encode(bytes).utf8) == standard else { return nil }
    return bytes
  }

  /// Encodes bytes in the alphabet for URLs, without padding.
  package static func encodeForURL(_ bytes: [UInt8]) -> String {
    let digits: [UInt8] = encode(bytes).utf8.compactMap { digit in
      switch digit {
      case padding: nil
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: digit
      }
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Whether base64 text may contain a byte.
  package static func isDigit(_ byte: UInt8) -> Bool { byte == padding || digits[Int(byte)] != invalid }

  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let second = start + 1 < bytes.count ? bytes[start + 1] : 0
      let third = start + 2 < bytes.count ? bytes[start + 2] : 0
      let word = UInt32(bytes[start]) << 16 | UInt32(second) << 8 | UInt32(third)
      text.append(alphabet[Int(word >> 18)])
      text.append(alphabet[Int(word >> 12 & 63)])
      text.append(start + 1 < bytes.count ? alphabet[Int(word >> 6 & 63)] : padding)
      text.append(start + 2 < bytes.count ? alphabet[Int(word & 63)] : padding)
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Encodes bytes that come in pieces.
  package struct Encoder {
    /// Bytes that do not fill a group of three yet.
    private var rest: [UInt8] = []

    package init() {}

    /// Returns the digits of all complete groups so far.
    package mutating func encode(_ bytes: [UInt8]) -> [UInt8] {
      let all = rest + bytes
      let whole = all.count - all.count % 3
      rest = Array(all[whole...])
      return Array(Base64.encode(Array(all[..<whole])).utf8)
    }

    /// Returns the last digits, with padding.
    package mutating func finish() -> [UInt8] {
      defer { rest = [] }
      return Array(Base64.encode(rest).utf8)
    }
  }

  /// Decodes padded base64 without line breaks that comes in pieces.
  package struct Decoder {
    /// Digits that do not fill a group of four yet.
    private var rest: [UInt8] = []
    private var hasEnded = false

    package init() {}

    /// Whether the digits so far are whole groups.
    package var isComplete: Bool { rest.isEmpty }

    /// Returns the bytes of all complete groups so far; nil if the text is not base64.
    package mutating func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
      let all = rest + text
      let whole = all.count - all.count % 4
      rest = Array(all[whole...])
      guard whole > 0 else { return [] }
      // Padding ends the text, so nothing may follow it.
      guard !hasEnded, !all.contains(0x0a), !all.contains(0x0d) else { return nil }
      hasEnded = all[whole - 1] == padding
      return Base64.decode(all[..<whole])
    }
  }

  /// Decodes padded base64, ignoring line breaks; nil if the text is anything else.
  package static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

  private static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    let table = digits
    var word: UInt32 = 0
    var count = 0
    var paddings = 0
    for digit in text {
      if digit == 0x0a || digit == 0x0d { continue }
      count += 1
      if digit == padding {
        paddings += 1
        word <<= 6
      } else {
        let bits = table[Int(digit)]
        guard bits != invalid, paddings == 0 else { return nil }
        word = word << 6 | UInt32(bits)
      }
      guard count.isMultiple(of: 4) else { continue }
      bytes.append(UInt8(truncatingIfNeeded: word >> 16))
      bytes.append(UInt8(truncatingIfNeeded: word >> 8))
      bytes.append(UInt8(truncatingIfNeeded: word))
    }
    guard count.isMultiple(of: 4), paddings <= 2 else { return nil }
    bytes.removeLast(min(paddings, bytes.count))
    return bytes
  }
}
