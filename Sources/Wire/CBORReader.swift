// Protocol/encoding.md: reading deterministic CBOR. Anything else is rejected.

/// The reason why received bytes could not be decoded. Offsets count from the start of the buffer.
package enum WireError: Error, Hashable, Sendable {
  /// The bytes end inside an item, or a declared length exceeds the remaining bytes.
  case truncated(offset: Int)
  /// The bytes are not in the deterministic form: they contain an integer that is longer than needed, an indefinite
  /// length, a tag, a short float, or keys that are duplicated or out of order. They may still be valid CBOR.
  case notCanonical(offset: Int)
  /// An item is not what the format requires here; for example, it has the wrong type.
  case unexpected(offset: Int)
  /// A text is not valid UTF-8.
  case invalidText(offset: Int)
  /// There are bytes after the last item.
  case trailing(offset: Int)
  /// A value exceeds one of `Limits`.
  case limit(offset: Int)
}

/// A cursor that reads deterministic CBOR. No input makes it trap, and it never allocates memory just because the input
/// declares a length.
package struct CBORReader: Sendable {
  package let buffer: [UInt8]
  package private(set) var offset: Int
  private let limit: Int
  private var itemsLeft: Int

  /// Creates a reader of `buffer[range]`. Offsets count from the start of the buffer.
  package init(_ buffer: [UInt8], in range: Range<Int>, itemsMax: Int = Limits.setItemsMax) {
    precondition(range.lowerBound >= 0 && range.upperBound <= buffer.count, "range outside the buffer")
    self.buffer = buffer
    offset = range.lowerBound
    limit = range.upperBound
    itemsLeft = itemsMax
  }

  package init(_ buffer: [UInt8], itemsMax: Int = Limits.setItemsMax) {
    self.init(buffer, in: 0..<buffer.count, itemsMax: itemsMax)
  }

  package init(_ slice: ArraySlice<UInt8>, itemsMax: Int = Limits.setItemsMax) {
    self.init(Array(slice), itemsMax: itemsMax)
  }

  package var isAtEnd: Bool { offset == limit }

  package func end() throws(WireError) {
    guard isAtEnd else { throw .trailing(offset: offset) }
  }

  // MARK: Items of a known type

  package mutating func null() throws(WireError) {
    guard try simple() == 22 else { throw .unexpected(offset: offset) }
  }

  /// Reads the next item if it is null. Returns whether it was null.
  package mutating func nullIfPresent() throws(WireError) -> Bool {
    guard try peek() == 0xf6 else { return false }
    try null()
    return true
  }

  package mutating func bool() throws(WireError) -> Bool {
    switch try simple() {
    case 20: return false
    case 21: return true
    default: throw .unexpected(offset: offset)
    }
  }

  package mutating func unsigned() throws(WireError) -> UInt64 {
    let start = offset
    let (major, value) = try head()
    guard major == 0 else { throw .unexpected(offset: start) }
    return value
  }

  /// Reads an unsigned integer of at most `max`, such as a length, a count or the raw value of an enumeration.
  package mutating func unsigned(max: Int) throws(WireError) -> Int {
    let start = offset
    let value = try unsigned()
    guard value <= UInt64(max) else { throw .limit(offset: start) }
    return Int(value)
  }

  package mutating func integer() throws(WireError) -> Int64 {
    let start = offset
    let (major, value) = try head()
    guard major <= 1 else { throw .unexpected(offset: start) }
    guard value <= UInt64(Int64.max) else { throw .limit(offset: start) }
    return major == 0 ? Int64(value) : ~Int64(value)
  }

  package mutating func float() throws(WireError) -> Double {
    let start = offset
    guard try byte() == 0xfb else { throw .unexpected(offset: start) }
    let bits = try bigEndian(count: 8)
    let value = Double(bitPattern: bits)
    guard value.isFinite, bits != 0x8000_0000_0000_0000 else { throw .notCanonical(offset: start) }
    return value
  }

  /// Reads UTF-8 text of at most `max` bytes and returns its range in the buffer.
  package mutating func textRange(max: Int = Limits.textBytesMax) throws(WireError) -> Range<Int> {
    let range = try contentRange(major: 3, max: max)
    guard isValidUTF8(buffer, range) else { throw .invalidText(offset: range.lowerBound) }
    return range
  }

  package mutating func text(max: Int = Limits.textBytesMax) throws(WireError) -> String {
    String(decoding: buffer[try textRange(max: max)], as: UTF8.self)
  }

  /// Reads a byte string of at most `max` bytes and returns its range in the buffer.
  package mutating func byteStringRange(max: Int = Limits.blobBytesMax) throws(WireError) -> Range<Int> {
    try contentRange(major: 2, max: max)
  }

  package mutating func byteString(max: Int = Limits.blobBytesMax) throws(WireError) -> [UInt8] {
    Array(buffer[try byteStringRange(max: max)])
  }

  package mutating func bytes32() throws(WireError) -> Bytes32 {
    let range = try byteStringRange(max: 32)
    guard let value = Bytes32(buffer[range]) else { throw .unexpected(offset: range.lowerBound) }
    return value
  }

  package mutating func bytes16() throws(WireError) -> Bytes16 {
    let range = try byteStringRange(max: 16)
    guard let value = Bytes16(buffer[range]) else { throw .unexpected(offset: range.lowerBound) }
    return value
  }

  /// Reads the start of an array and returns how many items follow, which is at most `max`.
  package mutating func array(max: Int) throws(WireError) -> Int {
    try containerCount(major: 4, max: max, bytesPerItem: 1)
  }

  /// Reads the start of an array of exactly `count` items.
  package mutating func array(exactly count: Int) throws(WireError) {
    let start = offset
    guard try array(max: count) == count else { throw .unexpected(offset: start) }
  }

  /// Reads the start of a map and returns how many pairs follow, which is at most `max`. Their keys are read with
  /// `nextKey(after:)`.
  package mutating func map(max: Int) throws(WireError) -> Int {
    try containerCount(major: 5, max: max, bytesPerItem: 2)
  }

  /// Reads the next key of a map: an unsigned integer that must be greater than the previous key.
  package mutating func nextKey(after previous: UInt64?) throws(WireError) -> UInt64 {
    let start = offset
    let key = try unsigned()
    if let previous, key <= previous { throw .notCanonical(offset: start) }
    return key
  }

  // MARK: Any value

  /// Reads a field value of any allowed type.
  package mutating func value(depth: Int = 1) throws(WireError) -> Value {
    let start = offset
    let first = try peek()
    guard depth <= Limits.depthMax else { throw .limit(offset: start) }
    switch first >> 5 {
    case 0, 1: return .integer(try integer())
    case 2: return .bytes(try byteString())
    case 3: return .text(try text())
    case 4:
      let count = try array(max: Limits.setItemsMax)
      var items: [Value] = []
      for _ in 0..<count { items.append(try value(depth: depth + 1)) }
      return .array(items)
    case 7:
      if first == 0xfb { return .float(try float()) }
      if first == 0xf6 {
        try null()
        return .null
      }
      return .bool(try bool())
    default: throw .unexpected(offset: start)
    }
  }

  /// Checks a field value of any allowed type and returns the range of its encoding, without building the value.
  package mutating func skipValue(depth: Int = 1) throws(WireError) -> Range<Int> {
    let start = offset
    let first = try peek()
    guard depth <= Limits.depthMax else { throw .limit(offset: start) }
    switch first >> 5 {
    case 0, 1: _ = try integer()
    case 2: _ = try byteStringRange()
    case 3: _ = try textRange()
    case 4:
      let count = try array(max: Limits.setItemsMax)
      for _ in 0..<count { _ = try skipValue(depth: depth + 1) }
    case 7:
      if first == 0xfb {
        _ = try float()
      } else if first == 0xf6 {
        try null()
      } else {
        _ = try bool()
      }
    default: throw .unexpected(offset: start)
    }
    return start..<offset
  }

  /// Returns the first byte of the next item without consuming it.
  package func peek() throws(WireError) -> UInt8 {
    guard offset < limit else { throw .truncated(offset: offset) }
    return buffer[offset]
  }

  // MARK: Parts of an item

  private mutating func byte() throws(WireError) -> UInt8 {
    guard offset < limit else { throw .truncated(offset: offset) }
    guard itemsLeft > 0 else { throw .limit(offset: offset) }
    itemsLeft -= 1
    defer { offset += 1 }
    return buffer[offset]
  }

  private mutating func head() throws(WireError) -> (major: UInt8, value: UInt64) {
    let start = offset
    let first = try byte()
    let major = first >> 5
    guard major <= 5 else { throw major == 6 ? .notCanonical(offset: start) : .unexpected(offset: start) }
    let short = first & 31
    switch short {
    case 0..<24: return (major, UInt64(short))
    case 24: return (major, try argument(count: 1, least: 24, start))
    case 25: return (major, try argument(count: 2, least: 0x100, start))
    case 26: return (major, try argument(count: 4, least: 0x1_0000, start))
    case 27: return (major, try argument(count: 8, least: 0x1_0000_0000, start))
    default: throw .notCanonical(offset: start)
    }
  }

  private mutating func argument(count: Int, least: UInt64, _ start: Int) throws(WireError) -> UInt64 {
    let value = try bigEndian(count: count)
    guard value >= least else { throw .notCanonical(offset: start) }
    return value
  }

  private mutating func bigEndian(count: Int) throws(WireError) -> UInt64 {
    guard limit - offset >= count else { throw .truncated(offset: offset) }
    var value: UInt64 = 0
    for index in offset..<offset + count { value = value << 8 | UInt64(buffer[index]) }
    offset += count
    return value
  }

  private mutating func simple() throws(WireError) -> UInt8 {
    let start = offset
    let first = try byte()
    guard first >> 5 == 7 else { throw .unexpected(offset: start) }
    guard (20...22).contains(first & 31) else { throw .notCanonical(offset: start) }
    return first & 31
  }

  private mutating func contentRange(major: UInt8, max: Int) throws(WireError) -> Range<Int> {
    let start = offset
    let (found, length) = try head()
    guard found == major else { throw .unexpected(offset: start) }
    guard length <= UInt64(max) else { throw .limit(offset: start) }
    guard length <= UInt64(limit - offset) else { throw .truncated(offset: start) }
    let range = offset..<offset + Int(length)
    offset = range.upperBound
    return range
  }

  private mutating func containerCount(major: UInt8, max: Int, bytesPerItem: Int) throws(WireError) -> Int {
    let start = offset
    let (found, count) = try head()
    guard found == major else { throw .unexpected(offset: start) }
    guard count <= UInt64(max) else { throw .limit(offset: start) }
    guard count <= UInt64((limit - offset) / bytesPerItem) else { throw .truncated(offset: start) }
    return Int(count)
  }
}

/// Whether the bytes are well-formed UTF-8 (Unicode 15, table 3-7).
package func isValidUTF8(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
  var index = range.lowerBound
  let end = range.upperBound
  while index < end {
    let first = bytes[index]
    if first < 0x80 {
      index += 1
      continue
    }
    let (count, low, high): (Int, UInt8, UInt8)
    switch first {
    case 0xc2...0xdf: (count, low, high) = (1, 0x80, 0xbf)
    case 0xe0: (count, low, high) = (2, 0xa0, 0xbf)
    case 0xe1...0xec, 0xee...0xef: (count, low, high) = (2, 0x80, 0xbf)
    case 0xed: (count, low, high) = (2, 0x80, 0x9f)
    case 0xf0: (count, low, high) = (3, 0x90, 0xbf)
    case 0xf1...0xf3: (count, low, high) = (3, 0x80, 0xbf)
    case 0xf4: (count, low, high) = (3, 0x80, 0x8f)
    default: return false
    }
    guard end - index > count, (low...high).contains(bytes[index + 1]) else { return false }
    for following in 1..<count where bytes[index + 1 + following] & 0xc0 != 0x80 { return false }
    index += count + 1
  }
  return true
}
