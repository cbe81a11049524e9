// Protocol/change-set.md, "Body".

package import Wire

/// What an entry does to its record.
package enum EntryType: UInt8, Sendable, Comparable {
  /// Writes fields. The entry is an insert if field 0 is among them.
  case put = 0
  case delete = 1
  case restore = 2

  package static func < (left: EntryType, right: EntryType) -> Bool { left.rawValue < right.rawValue }
}

/// One entry of a decoded body. Its fields are `ChangeSetBody.cells[cells]`.
package struct Entry: Sendable {
  package let type: EntryType
  package let key: RecordKey
  package let cells: Range<Int>
}

/// One written field: its number and the range of its canonical bytes in the body.
package struct CellRange: Sendable {
  package let field: FieldNumber
  package let start: Int32
  package let end: Int32

  package var range: Range<Int> { Int(start)..<Int(end) }
}

/// A decoded body: the received bytes and an index into them. Values are decoded only on demand, so folding binds cells
/// to SQL statements straight from these bytes.
package struct ChangeSetBody: Sendable {
  package let bytes: [UInt8]
  package let verb: String
  /// The operation that this operation undoes, if any.
  package let target: OperationID?
  package let entries: [Entry]
  package let cells: [CellRange]

  /// Returns the content of a cell, which is the canonical CBOR of the written field.
  package func content(_ cell: CellRange) -> ArraySlice<UInt8> { bytes[cell.range] }

  package static let verbBytesMax = 32

  package init(decoding bytes: [UInt8], lane: Lane) throws(ChangeSetError) {
    var parser = BodyParser(bytes: bytes, lane: lane)
    do throws(WireError) {
      try parser.parse()
    } catch {
      throw .malformed(error)
    }
    if let broken = parser.brokenRule { throw .invalid(broken) }
    self.bytes = bytes
    verb = parser.verb
    target = parser.target
    entries = parser.entries
    cells = parser.cells
  }
}

/// Parses a body in one pass.
private struct BodyParser {
  let bytes: [UInt8]
  let lane: Lane
  var reader: CBORReader
  var verb = ""
  var target: OperationID?
  var entries: [Entry] = []
  var cells: [CellRange] = []
  /// The first rule that the body breaks. Parsing continues after it, so that malformed bytes take precedence over a
  /// broken rule.
  var brokenRule: String?
  /// Whether the body already contains an insert of the current record (`hasInsert`), or a delete or restore of that
  /// record (`hasLifeEntry`).
  private var hasInsert = false
  private var hasLifeEntry = false

  init(bytes: [UInt8], lane: Lane) {
    self.bytes = bytes
    self.lane = lane
    reader = CBORReader(bytes)
  }

  mutating func parse() throws(WireError) {
    let count = try reader.map(max: 3)
    var key: UInt64?
    for _ in 0..<count {
      let start = reader.offset
      let next = try reader.nextKey(after: key)
      key = next
      switch next {
      case 0: verb = try reader.text(max: ChangeSetBody.verbBytesMax)
      case 1: target = OperationID(try reader.bytes16())
      case 2: try parseEntries()
      default: throw .unexpected(offset: start)
      }
    }
    guard !verb.utf8.isEmpty else { throw .unexpected(offset: reader.offset) }
    try reader.end()
  }

  private mutating func parseEntries() throws(WireError) {
    let start = reader.offset
    let count = try reader.array(max: Limits.setEntriesMax)
    guard count > 0 else { throw .notCanonical(offset: start) }
    entries.reserveCapacity(count)
    cells.reserveCapacity(count * 6)
    for _ in 0..<count { try parseEntry() }
  }

  private mutating func parseEntry() throws(WireError) {
    let start = reader.offset
    let parts = try reader.array(max: 4)
    guard let type = EntryType(rawValue: UInt8(try reader.unsigned(max: 2))),
      parts == (type == .put ? 4 : 3), let kind = KindNumber(try reader.unsigned())
    else { throw .unexpected(offset: start) }
    let record = RecordKey(kind: kind, id: RecordID(try reader.bytes16()))
    let first = cells.count
    if type == .put { try parseFields() }
    let entry = Entry(type: type, key: record, cells: first..<cells.count)
    check(entry)
    entries.append(entry)
  }

  private mutating func parseFields() throws(WireError) {
    let start = reader.offset
    let count = try reader.map(max: Limits.setItemsMax)
    guard count > 0 else { throw .notCanonical(offset: start) }
    var key: UInt64?
    for _ in 0..<count {
      let next = try reader.nextKey(after: key)
      guard next <= UInt64(Fields.max) else { throw .limit(offset: start) }
      key = next
      let range = try reader.skipValue()
      cells.append(
        CellRange(
          field: FieldNumber(next), start: Int32(range.lowerBound), end: Int32(range.upperBound)))
    }
  }

  private mutating func check(_ entry: Entry) {
    guard brokenRule == nil else { return }
    brokenRule = rule(brokenBy: entry)
  }

  private mutating func rule(brokenBy entry: Entry) -> String? {
    guard entry.key.kind.lane == lane else { return "a kind that belongs to the other lane" }
    let inserts = entry.type == .put && cells[entry.cells.lowerBound].field == Fields.life
    if inserts, bytes[cells[entry.cells.lowerBound].range] != [0xf5] { return "an insert of a dead record" }
    if let last = entries.last, last.key == entry.key {
      guard last.type < entry.type else { return "entries out of order" }
      if hasInsert || (hasLifeEntry && entry.type != .put) { return "two writes to one record's life" }
    } else {
      if let last = entries.last, last.key >= entry.key { return "entries out of order" }
      hasInsert = false
      hasLifeEntry = false
    }
    hasInsert = hasInsert || inserts
    hasLifeEntry = hasLifeEntry || entry.type != .put
    return nil
  }
}
