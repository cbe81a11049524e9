// Protocol/change-set.md, "Plan" and "Values".
//
// A change set states what it does in its plan, and what the written fields contain in its values. The plan is signed
// as it stands; of the values, only a commitment to each slot is signed. So a set verifies with or without its values,
// and a value can be erased without breaking the signature:
//
//     plan      put trip 7, fields 1 and 4        insert lodging 9, fields 1, 2 and 3        delete trip 8
//     values    slot 0: [name, notes]             slot 1: [trip, name, address]              (no slot)
//
// Nothing that decides about validity, merging or causality looks into a slot. Whatever a slot contains that is not
// the array of field values it should be, its fields are merely absent.

package import Wire

/// What an entry does to its record.
package enum EntryType: UInt8, Sendable, Comparable {
  /// Writes fields.
  case put = 0
  case delete = 1
  case restore = 2
  /// Brings the record to life and writes fields.
  case insert = 3
  /// Deletes the record, and erases the values of all writes in the past of the set.
  case erase = 4

  package static func < (left: EntryType, right: EntryType) -> Bool { left.rawValue < right.rawValue }

  /// Whether entries of this type contain a list of fields.
  package var writesFields: Bool { self == .put || self == .insert }
}

/// The rank of a whole record as its entry states it. The values may say otherwise, or be absent.
package struct StatedRank: Hashable, Sendable {
  /// The time of change, in milliseconds.
  package let updatedAt: Int64
  /// The number of fields that are not empty.
  package let nonEmptyFields: Int

  package init(updatedAt: Int64, nonEmptyFields: Int) {
    self.updatedAt = updatedAt
    self.nonEmptyFields = nonEmptyFields
  }
}

/// One entry of a decoded plan. Its fields are `ChangeSetBody.cells[cells]`.
package struct Entry: Sendable {
  package let type: EntryType
  package let key: RecordKey
  package let cells: Range<Int>
  /// The rank of a whole record; nil for other kinds, and for entries without fields.
  package let stated: StatedRank?
}

/// One written field: its number and the range of its canonical bytes in the values. The range is empty if the value is
/// absent, because it was erased, was not received, or is unreadable.
package struct CellRange: Sendable {
  package let field: FieldNumber
  fileprivate(set) var start: Int32
  fileprivate(set) var end: Int32

  package var range: Range<Int> { Int(start)..<Int(end) }
  package var isAbsent: Bool { start == end }
}

/// A decoded plan with the values that are present: the received bytes and an index into them. Values are decoded only
/// on demand, so folding binds cells to SQL statements straight from these bytes.
package struct ChangeSetBody: Sendable {
  /// The bytes of the values, which the ranges of cells refer to.
  package let bytes: [UInt8]
  package let verb: String
  /// The operation that this operation undoes, if any.
  package let target: OperationID?
  package let entries: [Entry]
  package private(set) var cells: [CellRange]
  package let slots: Slots

  /// Returns the content of a cell, which is the canonical CBOR of the written field; nil if its value is absent.
  package func content(_ cell: CellRange) -> ArraySlice<UInt8>? { cell.isAbsent ? nil : bytes[cell.range] }

  /// Whether no slot is missing. The content of a slot may be unreadable nevertheless.
  package var isComplete: Bool { slots.isComplete }

  package static let verbBytesMax = 32

  /// Decodes a plan and the slots that belong to it.
  ///
  /// - Parameter slots: reads the values, given the number of slots in the plan.
  init(
    plan: [UInt8], values: [UInt8], lane: Lane, slots: (_ count: Int) throws(ChangeSetError) -> Slots
  ) throws(ChangeSetError) {
    var parser = PlanParser(bytes: plan, lane: lane)
    do throws(WireError) {
      try parser.parse()
    } catch {
      throw .malformed(error)
    }
    if let broken = parser.brokenRule { throw .invalid(broken) }
    bytes = values
    verb = parser.verb
    target = parser.target
    entries = parser.entries
    cells = parser.cells
    self.slots = try slots(parser.slotCount)
    locateValues()
  }

  private mutating func locateValues() {
    var slot = 0
    for entry in entries where !entry.cells.isEmpty {
      if let content = slots.content(slot) { locate(entry.cells, in: content) }
      slot += 1
    }
  }

  /// Finds the values of an entry in the content of its slot. If the content is not an array of exactly these values,
  /// all of them stay absent.
  private mutating func locate(_ cells: Range<Int>, in content: Range<Int>) {
    var reader = CBORReader(bytes, in: content)
    do throws(WireError) {
      try reader.array(exactly: cells.count)
      for index in cells {
        let range = try reader.skipValue()
        self.cells[index].start = Int32(range.lowerBound)
        self.cells[index].end = Int32(range.upperBound)
      }
      try reader.end()
    } catch {
      for index in cells { (self.cells[index].start, self.cells[index].end) = (0, 0) }
    }
  }

  /// Returns the cells that an entry writes, including the life (field 0), in ascending order of fields. The content is
  /// nil if the value is absent.
  package func writes(of entry: Entry) -> [(field: FieldNumber, content: [UInt8]?)] {
    let fields = cells[entry.cells].map { (field: $0.field, content: content($0).map { Array($0) }) }
    guard let life = life(writtenBy: entry) else { return fields }
    return [(Fields.life, life ? Self.alive : Self.dead)] + fields
  }

  /// The contents of a life: true and false.
  package static let alive: [UInt8] = [0xf5]
  package static let dead: [UInt8] = [0xf4]

  /// Returns the life that an entry writes; nil if it writes none. An insert in the same set as an erase decides the
  /// life, so the erase then writes none.
  package func life(writtenBy entry: Entry) -> Bool? {
    switch entry.type {
    case .put: nil
    case .restore, .insert: true
    case .delete: false
    case .erase: hasInsert(of: entry.key) ? nil : false
    }
  }

  /// The entries that have a slot, with its number.
  package var slotEntries: [(slot: Int, entry: Entry)] {
    entries.filter { !$0.cells.isEmpty }.enumerated().map { ($0.offset, $0.element) }
  }

  /// Whether the set inserts a record.
  private func hasInsert(of record: RecordKey) -> Bool {
    entries(of: record).contains { $0.type == .insert }
  }

  /// Returns the entries of one record, which are adjacent in the plan.
  package func entries(of record: RecordKey) -> ArraySlice<Entry> {
    var low = entries.startIndex
    var high = entries.endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].key < record { low = middle + 1 } else { high = middle }
    }
    return entries[low...].prefix { $0.key == record }
  }
}

/// Parses a plan in one pass.
private struct PlanParser {
  let lane: Lane
  var reader: CBORReader
  var verb = ""
  var target: OperationID?
  var entries: [Entry] = []
  var cells: [CellRange] = []
  /// The number of entries with fields, each of which has a slot.
  var slotCount = 0
  /// The first rule that the plan breaks. Parsing continues after it, so that malformed bytes take precedence over a
  /// broken rule.
  var brokenRule: String?
  /// The types of the entries of the current record so far, a bit for each.
  private var types: UInt8 = 0

  init(bytes: [UInt8], lane: Lane) {
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
    let parts = try reader.array(max: 6)
    let highest = UInt64(EntryType.erase.rawValue)
    guard let type = EntryType(rawValue: UInt8(try reader.unsigned(max: Int(highest)))),
      let kind = KindNumber(try reader.unsigned())
    else { throw .unexpected(offset: start) }
    let isRanked = type.writesFields && kind.mergeClass == .wholeRecord
    guard parts == (isRanked ? 6 : type.writesFields ? 4 : 3) else { throw .unexpected(offset: start) }
    let record = RecordKey(kind: kind, id: RecordID(try reader.bytes16()))
    let first = cells.count
    if type.writesFields { try parseFields(of: type) }
    let stated =
      isRanked
      ? StatedRank(updatedAt: try reader.integer(), nonEmptyFields: try reader.unsigned(max: Int(Fields.max)))
      : nil
    let entry = Entry(type: type, key: record, cells: first..<cells.count, stated: stated)
    if !entry.cells.isEmpty { slotCount += 1 }
    check(entry)
    entries.append(entry)
  }

  private mutating func parseFields(of type: EntryType) throws(WireError) {
    let start = reader.offset
    let count = try reader.array(max: Limits.setItemsMax)
    guard count > 0 || type == .insert else { throw .notCanonical(offset: start) }
    var last = UInt64(Fields.life)
    for _ in 0..<count {
      let field = try reader.unsigned()
      guard field > last, field <= UInt64(Fields.max) else { throw .unexpected(offset: start) }
      last = field
      cells.append(CellRange(field: FieldNumber(field), start: 0, end: 0))
    }
  }

  private mutating func check(_ entry: Entry) {
    guard brokenRule == nil else { return }
    brokenRule = rule(brokenBy: entry)
  }

  private mutating func rule(brokenBy entry: Entry) -> String? {
    guard entry.key.kind.lane == lane else { return "a kind that belongs to the other lane" }
    if let last = entries.last, last.key == entry.key {
      guard last.type < entry.type else { return "entries out of order" }
    } else {
      if let last = entries.last, last.key >= entry.key { return "entries out of order" }
      types = 0
    }
    let lives: [EntryType] = [.delete, .restore, .insert]
    types |= Self.bit(entry.type)
    let written = lives.count { types & Self.bit($0) != 0 }
    let isErased = types & Self.bit(.erase) != 0
    guard written < 2, !isErased || types & (Self.bit(.delete) | Self.bit(.restore)) == 0 else {
      return "two writes to one record's life"
    }
    let lists = Self.bit(.put) | Self.bit(.insert)
    guard types & lists != lists else { return "two lists of fields for one record" }
    return nil
  }

  private static func bit(_ type: EntryType) -> UInt8 { 1 << type.rawValue }
}
