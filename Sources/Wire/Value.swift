// Protocol/encoding.md, "Field values".

/// The value of a field: the content of one cell.
package enum Value: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A float, which must be finite and not −0.0.
  case float(Double)
  /// A text. Swift's `==` tests strings for canonical equivalence, so replicas compare the bytes in `encoded` instead.
  case text(String)
  case bytes([UInt8])
  case array([Value])

  /// The value in deterministic CBOR. Two values are the same cell content if and only if these bytes are equal.
  package var encoded: [UInt8] {
    var writer = CBORWriter()
    writer.value(self)
    return writer.bytes
  }

  /// Whether the value is null or an empty text, byte string or array.
  package var isEmpty: Bool {
    switch self {
    case .null: true
    case .text(let text): text.utf8.isEmpty
    case .bytes(let bytes): bytes.isEmpty
    case .array(let items): items.isEmpty
    case .bool, .integer, .float: false
    }
  }

  /// Whether the value can be encoded: all its floats are finite and none is −0.0.
  package var isWritable: Bool {
    switch self {
    case .float(let number): number.isFinite && !(number == 0 && number.sign == .minus)
    case .array(let items): items.allSatisfy(\.isWritable)
    case .null, .bool, .integer, .text, .bytes: true
    }
  }

  /// Decodes bytes that contain exactly one value.
  package init(encoded: ArraySlice<UInt8>) throws(WireError) {
    var reader = CBORReader(encoded)
    self = try reader.value()
    try reader.end()
  }
}

extension Value {
  package var asText: String? {
    guard case .text(let text) = self else { return nil }
    return text
  }

  package var asInteger: Int64? {
    guard case .integer(let integer) = self else { return nil }
    return integer
  }

  package var asFloat: Double? {
    guard case .float(let number) = self else { return nil }
    return number
  }

  package var asBool: Bool? {
    guard case .bool(let flag) = self else { return nil }
    return flag
  }

  package var asRecordID: RecordID? {
    guard case .bytes(let bytes) = self else { return nil }
    return RecordID(bytes: bytes)
  }
}
