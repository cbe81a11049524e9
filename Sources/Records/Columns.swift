// Protocol/records.md, "Types": converts cell content to columns and back, without loss.

import JSONDocument
package import Wire

/// The value of one column of a row.
package enum ColumnValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

extension FieldType {
  /// Appends the columns of a cell's content and returns true. If the content is not of this type, appends nothing
  /// and returns false.
  ///
  /// - Parameters:
  ///   - bytes: a buffer that contains the canonical CBOR of the value.
  ///   - range: the position of the value in the buffer.
  package func appendColumns(
    of bytes: [UInt8], in range: Range<Int>, to columns: inout [ColumnValue]
  ) -> Bool {
    let count = columns.count
    var reader = CBORReader(bytes, in: range)
    do throws(WireError) {
      if try reader.nullIfPresent() {
        for _ in columnTypes { columns.append(.null) }
      } else {
        try append(&reader, to: &columns)
      }
      try reader.end()
      return true
    } catch {
      columns.removeSubrange(count...)
      return false
    }
  }

  /// Returns the columns of a value; nil if the value is not of this type.
  package func columns(of value: Value) -> [ColumnValue]? {
    guard value.isWritable else { return nil }
    let bytes = value.encoded
    var columns: [ColumnValue] = []
    return appendColumns(of: bytes, in: 0..<bytes.count, to: &columns) ? columns : nil
  }

  /// Reports whether a cell's content is of this type. The store keeps any other content as raw bytes, and the field
  /// then reads as absent.
  package func accepts(_ bytes: [UInt8], in range: Range<Int>) -> Bool {
    var columns: [ColumnValue] = []
    return appendColumns(of: bytes, in: range, to: &columns)
  }

  package func accepts(_ value: Value) -> Bool {
    switch (self, value) {
    // The common cases are decided without encoding the value.
    case (.bool, .bool), (.integer, .integer), (.timestamp, .integer), (_, .null): true
    case (.float, .float(let number)): number.isFinite && !(number == 0 && number.sign == .minus)
    case (.text, .text(let text)): text.utf8.count <= Limits.textBytesMax
    case (.reference, .bytes(let bytes)), (.uuid, .bytes(let bytes)): bytes.count == Bytes16.count
    case (.datedInstant, .array(let parts)):
      parts.count == 3 && Self.isInstant(parts[0], parts[1]) && Self.isDay(parts[2])
    default: columns(of: value) != nil
    }
  }

  private static func isInstant(_ time: Value, _ zone: Value) -> Bool {
    guard case .integer = time else { return false }
    return switch zone {
    case .null: true
    case .text(let zone): zone.utf8.count <= Limits.textBytesMax
    default: false
    }
  }

  private static func isDay(_ value: Value) -> Bool {
    guard case .text(let day) = value else { return false }
    return CalendarDay(day) != nil
  }

  private func append(_ reader: inout CBORReader, to columns: inout [ColumnValue]) throws(WireError) {
    switch self {
    case .bool: columns.append(.integer(try reader.bool() ? 1 : 0))
    case .integer, .timestamp: columns.append(.integer(try reader.integer()))
    case .float: columns.append(.real(try reader.float()))
    case .text, .keyReference: columns.append(.text(try reader.text()))
    case .uuid, .reference: columns.append(.blob(try reader.bytes16().bytes))
    case .bytes: columns.append(.blob(try reader.byteString()))
    case .blob: try appendBlob(&reader, to: &columns)
    case .coordinate:
      try reader.array(exactly: 2)
      columns.append(.real(try reader.float()))
      columns.append(.real(try reader.float()))
    case .instant:
      try reader.array(exactly: 2)
      try appendInstant(&reader, to: &columns)
    case .datedInstant:
      try reader.array(exactly: 3)
      try appendInstant(&reader, to: &columns)
      let start = reader.offset
      let day = try reader.text(max: 10)
      guard CalendarDay(day) != nil else { throw .unexpected(offset: start) }
      columns.append(.text(day))
    case .money: try appendMoney(&reader, to: &columns)
    case .owner:
      try reader.array(exactly: 2)
      columns.append(.integer(Int64(try reader.unsigned(max: 12_287))))
      columns.append(.blob(try reader.bytes16().bytes))
    case .list(let shape):
      let start = reader.offset
      let value = try reader.value()
      guard shape.accepts(value) else { throw .unexpected(offset: start) }
      columns.append(.text(value.columnJSON.text()))
    case .any: columns.append(.text(try reader.value().columnJSON.text()))
    }
  }

  private func appendInstant(
    _ reader: inout CBORReader, to columns: inout [ColumnValue]
  ) throws(WireError) {
    columns.append(.integer(try reader.integer()))
    columns.append(try reader.nullIfPresent() ? .null : .text(try reader.text()))
  }

  private func appendMoney(
    _ reader: inout CBORReader, to columns: inout [ColumnValue]
  ) throws(WireError) {
    try reader.array(exactly: 2)
    let start = reader.offset
    let amount = try reader.text(max: ExactDecimal.charactersMax)
    guard ExactDecimal(amount) != nil else { throw .unexpected(offset: start) }
    columns.append(.text(amount))
    if try reader.nullIfPresent() {
      columns.append(.null)
      return
    }
    let currency = try reader.text(max: 3)
    guard isCurrencyCode(currency) else { throw .unexpected(offset: start) }
    columns.append(.text(currency))
  }

  private func appendBlob(
    _ reader: inout CBORReader, to columns: inout [ColumnValue]
  ) throws(WireError) {
    guard try reader.peek() >> 5 == 4 else {
      columns += [.blob(try reader.byteString(max: Limits.inlineBytesMax)), .null, .null]
      return
    }
    try reader.array(exactly: 2)
    let size = try reader.unsigned(max: Limits.fileBytesMax)
    columns += [.null, .blob(try reader.bytes32().bytes), .integer(Int64(size))]
  }
}

/// Reports whether a text consists of three capital letters, as ISO 4217 codes do.
package func isCurrencyCode(_ text: String) -> Bool {
  text.utf8.count == 3 && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
}

// MARK: Columns to values

extension FieldType {
  /// Returns the value that is stored in these columns; nil if this version can't have written them.
  package func value(from columns: ArraySlice<ColumnValue>) -> Value? {
    guard columns.count == columnTypes.count, let first = columns.first, let last = columns.last else {
      return nil
    }
    if columns.count == 1 { return value(from: first) }
    if columns.allSatisfy({ $0 == .null }) { return .null }
    return value(first, columns[columns.startIndex + 1], last)
  }

  /// Returns the value that is stored in a column, for a type that has only one column.
  package func value(from column: ColumnValue) -> Value? {
    column == .null ? .null : value(column, column, column)
  }

  private func value(_ first: ColumnValue, _ second: ColumnValue, _ last: ColumnValue) -> Value? {
    switch (self, first, last) {
    case (.bool, .integer(let flag), _): return .bool(flag != 0)
    case (.integer, .integer(let number), _), (.timestamp, .integer(let number), _):
      return .integer(number)
    case (.float, .real(let number), _): return .float(number)
    case (.text, .text(let text), _), (.keyReference, .text(let text), _): return .text(text)
    case (.uuid, .blob(let bytes), _), (.reference, .blob(let bytes), _), (.bytes, .blob(let bytes), _):
      return .bytes(bytes)
    case (.blob, .blob(let bytes), .null): return .bytes(bytes)
    case (.blob, .null, .integer(let size)):
      guard case .blob(let id) = second else { return nil }
      return .array([.integer(size), .bytes(id)])
    case (.coordinate, .real(let latitude), .real(let longitude)):
      return .array([.float(latitude), .float(longitude)])
    case (.instant, .integer(let time), let zone):
      return Self.optionalText(zone).map { .array([.integer(time), $0]) }
    case (.datedInstant, .integer(let time), .text(let day)):
      return Self.optionalText(second).map {
        .array([.integer(time), $0, .text(day)])
      }
    case (.money, .text(let amount), let currency):
      return Self.optionalText(currency).map { .array([.text(amount), $0]) }
    case (.owner, .integer(let kind), .blob(let id)): return .array([.integer(kind), .bytes(id)])
    case (.list, .text(let text), _), (.any, .text(let text), _):
      return (try? JSON.parse(text)).flatMap { Value(columnJSON: $0) }
    default: return nil
    }
  }

  private static func optionalText(_ column: ColumnValue) -> Value? {
    switch column {
    case .null: .null
    case .text(let text): .text(text)
    default: nil
    }
  }

}

extension Value {
  /// The value as readable JSON for a column. Floats always have a point or an exponent, and bytes are wrapped in an
  /// object, so that the conversion is reversible.
  var columnJSON: JSON {
    switch self {
    case .null: .null
    case .bool(let flag): .bool(flag)
    case .integer(let number): .integer(number)
    case .float(let number): .number(String(number))
    case .text(let text): .string(text)
    case .bytes(let bytes): ["bytes": .string(hexadecimal(bytes))]
    case .array(let items): .array(items.map(\.columnJSON))
    }
  }

  init?(columnJSON json: JSON) {
    switch json {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .number(let digits):
      if let integer = Int64(digits) {
        self = .integer(integer)
      } else if let float = json.float {
        self = .float(float)
      } else {
        return nil
      }
    case .string(let text): self = .text(text)
    case .array(let items):
      let values = items.compactMap { Value(columnJSON: $0) }
      guard values.count == items.count else { return nil }
      self = .array(values)
    case .object:
      guard let bytes = json["bytes"]?.string.flatMap({ bytesFromHexadecimal($0) }) else { return nil }
      self = .bytes(bytes)
    }
  }
}
