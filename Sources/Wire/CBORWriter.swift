// Protocol/encoding.md: writing deterministic CBOR.

/// Appends deterministic CBOR items to a byte array.
///
/// The caller must write map keys in ascending order; readers reject anything else.
package struct CBORWriter: Sendable {
  package var bytes: [UInt8] = []

  package init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  package mutating func null() { bytes.append(0xf6) }
  package mutating func bool(_ value: Bool) { bytes.append(value ? 0xf5 : 0xf4) }
  package mutating func unsigned(_ value: UInt64) { head(major: 0, value) }

  package mutating func integer(_ value: Int64) {
    if value >= 0 { head(major: 0, UInt64(value)) } else { head(major: 1, UInt64(bitPattern: ~value)) }
  }

  /// Writes a float, which always takes 64 bits. The value must be finite and not −0.0.
  package mutating func float(_ value: Double) {
    precondition(Value.float(value).isWritable, "a float that is infinite, NaN or -0.0: \(value)")
    bytes.append(0xfb)
    appendBigEndian(value.bitPattern, to: &bytes)
  }

  package mutating func text(_ value: String) {
    var value = value
    value.withUTF8 { utf8 in
      head(major: 3, UInt64(utf8.count))
      unsafe bytes.append(contentsOf: utf8)
    }
  }

  /// Writes text that is given as UTF-8 and has already been checked.
  package mutating func text(utf8 value: some Collection<UInt8>) {
    head(major: 3, UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  package mutating func byteString(_ value: some Collection<UInt8>) {
    head(major: 2, UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  /// Writes what precedes a byte string of this length, whose bytes must follow.
  package mutating func beginByteString(_ count: Int) { head(major: 2, UInt64(count)) }

  package mutating func byteString(_ value: Bytes32) {
    head(major: 2, 32)
    value.append(to: &bytes)
  }

  package mutating func byteString(_ value: Bytes16) {
    head(major: 2, 16)
    value.append(to: &bytes)
  }

  /// Begins an array. The caller writes its `count` items next.
  package mutating func array(_ count: Int) { head(major: 4, UInt64(count)) }

  /// Begins a map. The caller writes its `count` pairs of key and value next, in ascending order of keys.
  package mutating func map(_ count: Int) { head(major: 5, UInt64(count)) }

  /// Writes items that are already encoded.
  package mutating func raw(_ encoded: some Collection<UInt8>) { bytes.append(contentsOf: encoded) }

  package mutating func value(_ value: Value) {
    switch value {
    case .null: null()
    case .bool(let flag): bool(flag)
    case .integer(let number): integer(number)
    case .float(let number): float(number)
    case .text(let string): text(string)
    case .bytes(let data): byteString(data)
    case .array(let items):
      array(items.count)
      for item in items { self.value(item) }
    }
  }

  private mutating func head(major: UInt8, _ value: UInt64) {
    let top = major << 5
    switch value {
    case 0..<24: bytes.append(top | UInt8(truncatingIfNeeded: value))
    case 24...0xff: append(top | 24, value, count: 1)
    case 0x100...0xffff: append(top | 25, value, count: 2)
    case 0x1_0000...0xffff_ffff: append(top | 26, value, count: 4)
    default: append(top | 27, value, count: 8)
    }
  }

  private mutating func append(_ first: UInt8, _ value: UInt64, count: Int) {
    bytes.append(first)
    for index in stride(from: count - 1, through: 0, by: -1) {
      bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(index * 8)))
    }
  }
}
