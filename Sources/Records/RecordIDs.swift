// Protocol/records.md, "Ids"

import Replication
package import Wire

private let stringIDPrefix = HashPrefix("waymark/string-id/v1\0")

extension RecordID {
  /// Creates the id of the record that a text identifies in files. The id is the text itself if that is a UUID, and
  /// otherwise a hash of the kind and the text.
  package init(kind: Kind, key: String) {
    if let id = RecordID(uuid: key) {
      self = id
    } else {
      let number = UInt64(kind.number.rawValue) << 32
      var message: [UInt8] = []
      appendBigEndian(number, to: &message)
      self.init(hash: blake2b256(stringIDPrefix, Array(message.prefix(4)) + Array(key.utf8)))
    }
  }

  private init(hash: Bytes32) { self.init(Bytes16(hash.word0, hash.word1)) }

  /// Creates a version 7 UUID (RFC 9562), so that new records sort by their time of creation.
  ///
  /// - Parameters:
  ///   - milliseconds: the time of creation in milliseconds since 1970, of which 48 bits are used.
  ///   - random: random bytes, of which 74 bits are used.
  package init(milliseconds: Int64, random: Bytes16) {
    let time = UInt64(bitPattern: milliseconds) << 16
    let word0 = time | 0x7000 | (random.word0 & 0x0fff)
    let word1 = 0x8000_0000_0000_0000 | (random.word1 & 0x3fff_ffff_ffff_ffff)
    self.init(Bytes16(word0, word1))
  }

  /// Parses a UUID in the form `8-4-4-4-12`, with hexadecimal digits in upper or lower case.
  package init?(uuid text: String) {
    let bytes = Array(text.utf8)
    self.init(uuid: bytes.span)
  }

  /// Parses a UUID of the same form from the bytes of a file.
  package init?(uuid text: Span<UInt8>) {
    guard text.count == 36 else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    for position in 0..<36 {
      let byte = text[position]
      if position == 8 || position == 13 || position == 18 || position == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
      } else {
        guard let digit = hexadecimalDigit(byte) else { return nil }
        if position < 18 { words.0 = words.0 << 4 | digit } else { words.1 = words.1 << 4 | digit }
      }
    }
    self.init(Bytes16(words.0, words.1))
  }

  /// The id in the form that exported files use: in upper case, with hyphens.
  package var uuid: String {
    asciiText(36) { text in
      for place in 0..<32 {
        if place == 8 || place == 12 || place == 16 || place == 20 { text.append(UInt8(ascii: "-")) }
        let word = place < 16 ? raw.word0 : raw.word1
        let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - place % 16 * 4) & 15)
        text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
      }
    }
  }
}

private func hexadecimalDigit(_ byte: UInt8) -> UInt64? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
  case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
  case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A") + 10)
  default: nil
  }
}
