// Sources/store.md, "Stamps"

import LogStorage
package import Replication

/// For each cell of a record, the number of the set that wrote the cell. All are packed into one blob of the row.
///
/// In most records, most cells come from one set. That set's number is stored once, with a bit for each of its cells
/// whose field is below 63. Only cells from other sets, or with higher field numbers, are listed one by one.
package struct Stamps: Hashable {
  private(set) var common: Int64
  private var mask: UInt64 = 0
  /// The cells that are listed one by one, sorted by field.
  private var others: [Other] = []

  private struct Other: Hashable {
    let field: FieldNumber
    var number: Int64
  }

  private static let maskFields: FieldNumber = 63

  init(common: Int64) { self.common = common }

  var isEmpty: Bool { mask == 0 && others.isEmpty }

  /// The number of the set that wrote a cell; nil if none did. Seeds have number 0.
  package subscript(field: FieldNumber) -> Int64? {
    if field < Self.maskFields, mask & (1 << UInt64(field)) != 0 { return common }
    return others.first { $0.field == field }?.number
  }

  mutating func set(_ field: FieldNumber, _ number: Int64) {
    let index = others.firstIndex { $0.field >= field } ?? others.count
    if field < Self.maskFields {
      let bit: UInt64 = 1 << UInt64(field)
      mask &= ~bit
      if number == common {
        mask |= bit
        if index < others.count, others[index].field == field { others.remove(at: index) }
        return
      }
    }
    if index < others.count, others[index].field == field {
      others[index].number = number
    } else {
      others.insert(Other(field: field, number: number), at: index)
    }
  }

  /// All written cells with the numbers of the sets that wrote them, sorted by field.
  package var cells: [(field: FieldNumber, number: Int64)] {
    var result: [(field: FieldNumber, number: Int64)] = []
    result.reserveCapacity(mask.nonzeroBitCount + others.count)
    var bits = mask
    var next = others.makeIterator()
    var other = next.next()
    while bits != 0 {
      let field = FieldNumber(bits.trailingZeroBitCount)
      bits &= bits - 1
      while let earlier = other, earlier.field < field {
        result.append((earlier.field, earlier.number))
        other = next.next()
      }
      result.append((field, common))
    }
    while let rest = other {
      result.append((rest.field, rest.number))
      other = next.next()
    }
    return result
  }

  /// The numbers of the sets that wrote cells, each once, ascending. Nearly always there is one.
  package var writers: [Int64] {
    if others.isEmpty { return mask == 0 ? [] : [common] }
    return Set(others.map(\.number) + (mask == 0 ? [] : [common])).sorted()
  }

  // MARK: Packing

  var packed: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(8 + others.count * 4)
    Self.append(UInt64(bitPattern: common), to: &bytes)
    Self.append(mask, to: &bytes)
    for other in others {
      Self.append(UInt64(other.field), to: &bytes)
      Self.append(UInt64(bitPattern: other.number), to: &bytes)
    }
    return bytes
  }

  package init(packed bytes: [UInt8]) throws {
    var offset = 0
    common = Int64(bitPattern: try Self.read(bytes, &offset))
    mask = try Self.read(bytes, &offset)
    while offset < bytes.count {
      let field = FieldNumber(truncatingIfNeeded: try Self.read(bytes, &offset))
      others.append(Other(field: field, number: Int64(bitPattern: try Self.read(bytes, &offset))))
    }
  }

  private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  private static func read(_ bytes: [UInt8], _ offset: inout Int) throws -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while offset < bytes.count, shift < 64 {
      let byte = bytes[offset]
      offset += 1
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw StoreError.damaged("the stamps of a record are truncated")
  }
}
