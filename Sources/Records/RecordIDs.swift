// Protocol/records.md, "Ids"

import Replication
package import Wire

private let stringIDPrefix = HashPrefix("waymark/string-id/v1\0")
private let contentIDPrefix = HashPrefix("waymark/content-id/v1\0")

extension RecordID {
  /// The id of the record that a text names in files: the UUID, if it is one, else a hash of kind and text.
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

  /// The id of the Content record that holds these bytes.
  package init(contentOf bytes: [UInt8]) {
    self.init(hash: blake2b256(contentIDPrefix, bytes))
  }

  private init(hash: Bytes32) { self.init(Bytes16(hash.word0, hash.word1)) }

  /// A version 7 UUID (RFC 9562): new records sort by when they were made.
  ///
  /// - Parameters:
  ///   - milliseconds: since 1970; 48 bits are used.
  ///   - random: of these, 74 bits are used.
  package init(milliseconds: Int64, random: Bytes16) {
    let time = UInt64(bitPattern: milliseconds) << 16
    let word0 = time | 0x7000 | (random.word0 & 0x0fff)
    let word1 = 0x8000_0000_0000_0000 | (random.word1 & 0x3fff_ffff_ffff_ffff)
    self.init(Bytes16(word0, word1))
  }

  /// Reads `8-4-4-4-12` hexadecimal digits of either case.
  package init?(uuid text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 36 else { return nil }
    var digits: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      if [8, 13, 18, 23].contains(index) {
        guard byte == UInt8(ascii: "-") else { return nil }
      } else {
        digits.append(byte)
      }
    }
    self.init(hex: String(decoding: digits, as: UTF8.self))
  }

  /// As exported files write it: upper case, with hyphens.
  package var uuid: String {
    var text: [UInt8] = []
    for (index, digit) in hexadecimal(bytes).utf8.enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append(UInt8(ascii: "-")) }
      text.append(digit >= UInt8(ascii: "a") ? digit - 32 : digit)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
