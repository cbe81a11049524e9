// Protocol/encoding.md, "Names": an independent version, used by the judge only.

/// A 32-byte identifier of a circle, a device, a change set or a statement.
struct Name32: Hashable, Comparable, CustomStringConvertible {
  let first: Name16
  let last: Name16

  static let zero = Name32(first: .zero, last: .zero)

  init(first: Name16, last: Name16) {
    self.first = first
    self.last = last
  }

  init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count == 32, let first = Name16(bytes.prefix(16)), let last = Name16(bytes.suffix(16)) else {
      return nil
    }
    self.init(first: first, last: last)
  }

  init(_ words: (UInt64, UInt64, UInt64, UInt64)) {
    self.init(first: Name16(high: words.0, low: words.1), last: Name16(high: words.2, low: words.3))
  }

  var bytes: [UInt8] {
    withUnsafeBytes(of: (first.high.bigEndian, first.low.bigEndian, last.high.bigEndian, last.low.bigEndian))
    {
      Array($0)
    }
  }
  var description: String { plainHex(bytes) }

  static func < (left: Name32, right: Name32) -> Bool {
    left.first == right.first ? left.last < right.last : left.first < right.first
  }

  /// The sum modulo 2²⁵⁶ of two names read as big-endian numbers, used for digests.
  static func &+ (left: Name32, right: Name32) -> Name32 {
    let (low, carry) = Name16.sum(left.last, right.last, carry: false)
    return Name32(first: Name16.sum(left.first, right.first, carry: carry).sum, last: low)
  }
}

/// A 16-byte identifier of an incarnation, an operation or a record.
struct Name16: Hashable, Comparable, CustomStringConvertible {
  let high: UInt64
  let low: UInt64

  static let zero = Name16(high: 0, low: 0)

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count == 16 else { return nil }
    let (high, low) = bytes.withUnsafeBytes {
      ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
  }

  var bytes: [UInt8] { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) } }
  var description: String { plainHex(bytes) }

  static func < (left: Name16, right: Name16) -> Bool {
    left.high == right.high ? left.low < right.low : left.high < right.high
  }

  static func sum(_ left: Name16, _ right: Name16, carry: Bool) -> (sum: Name16, carry: Bool) {
    let (low, lowCarry) = add(left.low, right.low, carry)
    let (high, highCarry) = add(left.high, right.high, lowCarry)
    return (Name16(high: high, low: low), highCarry)
  }

  private static func add(_ left: UInt64, _ right: UInt64, _ carry: Bool) -> (UInt64, Bool) {
    let (half, first) = left.addingReportingOverflow(right)
    let (all, second) = half.addingReportingOverflow(carry ? 1 : 0)
    return (all, first || second)
  }
}

/// The key of a record: the number of its kind, and its id.
struct PlainKey: Hashable, Comparable, CustomStringConvertible {
  let kind: Int
  let id: Name16

  var description: String { "record \(id) of kind \(kind)" }

  static func < (left: PlainKey, right: PlainKey) -> Bool {
    left.kind == right.kind ? left.id < right.id : left.kind < right.kind
  }
}

/// The key of a log, which has all sets of one device, incarnation and lane.
struct PlainLog: Hashable, CustomStringConvertible {
  let device: Name32
  let incarnation: Name16
  let lane: Int

  var description: String { "log \(device) \(incarnation) of lane \(lane)" }
}

func plainBigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
  withUnsafeBytes(of: number.bigEndian) { Array($0) }
}

/// Appends the bytes of `plainBigEndian` without an array of their own.
func plainAppend(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
  withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
}

func plainAppend(_ name: Name16, to bytes: inout [UInt8]) {
  plainAppend(name.high, to: &bytes)
  plainAppend(name.low, to: &bytes)
}

/// Returns a CBOR head: a major type with its argument in the shortest form.
func plainHead(_ major: UInt8, _ argument: UInt64) -> [UInt8] {
  let type = major << 5
  return switch argument {
  case 0..<24: [type | UInt8(argument)]
  case 24..<1 << 8: [type | 24, UInt8(argument)]
  case 1 << 8..<1 << 16: [type | 25] + plainBigEndian(UInt16(argument))
  case 1 << 16..<1 << 32: [type | 26] + plainBigEndian(UInt32(argument))
  default: [type | 27] + plainBigEndian(argument)
  }
}

/// Returns hexadecimal digits. This is optimized, because building strings byte by byte took a third of a run's time.
func plainHex(_ bytes: [UInt8]) -> String {
  String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
    func digit(_ half: UInt8) -> UInt8 { half < 10 ? 0x30 + half : 0x57 + half }
    var end = 0
    for byte in bytes {
      text[end] = digit(byte >> 4)
      text[end + 1] = digit(byte & 15)
      end += 2
    }
    return end
  }
}
