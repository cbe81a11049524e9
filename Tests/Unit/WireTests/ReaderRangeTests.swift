import Testing
import Vectors
import Wire

/// A reader of a part of a buffer, such as one slot of a change set, sees nothing of what follows.
@Suite struct ReaderRangeTests {
  private func isTruncated(_ error: WireError?) -> Bool {
    if case .truncated? = error { true } else { false }
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `a value is read up to the end of the range, and is truncated there`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<100 {
      let value = random.value(depth: 4)
      let bytes = value.encoded
      let before = [UInt8](repeating: 0x01, count: random.below(4))
      // The bytes that follow would complete any item that is cut short.
      let buffer = before + bytes + [UInt8](repeating: 0x00, count: 300)
      let range = before.count..<before.count + bytes.count
      var reader = CBORReader(buffer, in: range)
      let read = try reader.value()
      #expect(read.encoded == bytes && reader.isAtEnd && reader.offset == range.upperBound)
      var skipper = CBORReader(buffer, in: range)
      let skipped = try skipper.skipValue()
      #expect(skipped == range && skipper.isAtEnd)
      for end in range where end < range.lowerBound + 60 {
        let part = range.lowerBound..<end
        let reading = failure {
          var reader = CBORReader(buffer, in: part)
          _ = try reader.value()
        }
        let skipping = failure {
          var reader = CBORReader(buffer, in: part)
          _ = try reader.skipValue()
        }
        #expect(isTruncated(reading) && skipping == reading, "\(hexadecimal(bytes)) to \(end)")
      }
    }
  }

  @Test func `every item of a known type ends with the range`() {
    let items: [(bytes: [UInt8], read: (inout CBORReader) throws -> Void)] = [
      ([0xf6], { try $0.null() }),
      ([0xf5], { _ = try $0.bool() }),
      ([0x1b, 0, 0, 0, 1, 0, 0, 0, 0], { _ = try $0.unsigned() }),
      ([0x39, 1, 0], { _ = try $0.integer() }),
      ([0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0], { _ = try $0.float() }),
      ([0x63, 0x61, 0x62, 0x63], { _ = try $0.text() }),
      ([0x43, 1, 2, 3], { _ = try $0.byteString() }),
      ([0x58, 32] + [UInt8](repeating: 7, count: 32), { _ = try $0.bytes32() }),
      ([0x50] + [UInt8](repeating: 7, count: 16), { _ = try $0.bytes16() }),
    ]
    for (bytes, read) in items {
      let buffer = bytes + [UInt8](repeating: 0, count: 64)
      for end in 0...bytes.count {
        var offset = 0
        let error = failure {
          var reader = CBORReader(buffer, in: 0..<end)
          try read(&reader)
          offset = reader.offset
          try reader.end()
        }
        if end == bytes.count {
          #expect(error == nil && offset == end)
        } else {
          #expect(isTruncated(error), "\(hexadecimal(bytes)) to \(end)")
        }
      }
    }
    // Containers, too, declare no more than the range can hold.
    let array = failure {
      var reader = CBORReader([0x82, 0, 0, 0], in: 0..<2)
      _ = try reader.array(max: 10)
    }
    let map = failure {
      var reader = CBORReader([0xa2, 0, 0, 1, 0, 0], in: 0..<4)
      _ = try reader.map(max: 10)
    }
    #expect(isTruncated(array) && isTruncated(map))
  }

  @Test func `bytes after an item are trailing within the range only`() throws {
    var reader = CBORReader([0x01, 0x02, 0x03], in: 1..<2)
    _ = try reader.unsigned()
    try reader.end()
    var longer = CBORReader([0x01, 0x02, 0x03], in: 1..<3)
    _ = try longer.unsigned()
    #expect(throws: WireError.trailing(offset: 2)) { try longer.end() }
  }
}
