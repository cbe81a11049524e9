// Protocol/merge.md, "Operations and undo"

package import Replication
import Wire

/// What a fold gives for one record: of all its writes, or of some of them only.
package struct RecordState: Sendable {
  /// What a cell shows, and the set that wrote it.
  package struct Cell: Sendable {
    /// Canonical CBOR.
    package let content: [UInt8]
    package let author: SetPlace
  }

  /// Written cells, the life in field 0 among them.
  package var cells: [FieldNumber: Cell] = [:]

  /// Nil if nothing that counts has written it.
  package var life: Bool? { cells[Fields.life].map { $0.content == StoredRow.alive } }

  /// The fields without the life.
  package var contents: [FieldNumber: [UInt8]] {
    cells.filter { $0.key != Fields.life }.mapValues(\.content)
  }
}

/// One set's writes to one record.
package struct RecordWrite: Sendable {
  package let place: SetPlace
  package let operation: OperationKey
  package let verb: String
  /// What it writes, fields ascending; a life is field 0. Cells that no write changes are left out.
  package let cells: [(field: FieldNumber, content: [UInt8])]
  /// Where a whole record's write stands among the others; nil for other kinds.
  package let rank: WholeRecordRank?

  package func content(_ field: FieldNumber) -> [UInt8]? { cells.first { $0.field == field }?.content }
}

extension Store {
  /// Every folded write to a record, in the order of stamps; seeds are left out, and what only a damaged set says.
  package func writes(of record: RecordKey) throws -> [RecordWrite] {
    guard let row = try fold.table(record.kind).row(record.id) else { return [] }
    return try fold.recordWrites.numbers(of: record, row.stamps).compactMap {
      try intactWrite(of: record, in: $0)
    }
    .sorted { $0.place.origin.stamp < $1.place.origin.stamp }
  }

  /// The set that wrote a record's life; nil if none did.
  package func lifeAuthor(of row: RecordRow) throws -> SetPlace? {
    try row.stamps[Fields.life].map { try fold.causality.place($0) }
  }

  /// What a record is: the fold of all that is folded.
  package func state(of record: RecordKey) throws -> RecordState {
    guard let row = try fold.table(record.kind).row(record.id) else { return RecordState() }
    var state = RecordState()
    for (field, number) in row.stamps.cells {
      guard let content = row.content(field) else { throw StoreError.damaged("a cell without content") }
      state.cells[field] = RecordState.Cell(content: content, author: try fold.causality.place(number))
    }
    return state
  }

  /// What a record would be if only some of the folded sets had been: seeds always count.
  ///
  /// - Parameter counts: whether a set counts; asked once for each that wrote to the record.
  package func state(
    of record: RecordKey, counting counts: (SetPlace) throws -> Bool
  ) throws -> RecordState {
    guard let row = try fold.table(record.kind).row(record.id) else { return RecordState() }
    var counted: [Int64] = []
    for number in try fold.recordWrites.numbers(of: record, row.stamps)
    where try counts(fold.causality.place(number)) {
      counted.append(number)
    }
    // Bodies are looked into only for what counts: of a record that one import made, there may be none.
    let writes = try counted.map { try write(of: record, in: $0) }
    var state = Self.seed(of: record)
    if record.kind.mergeClass == .wholeRecord {
      guard let winner = writes.max(by: { rank($0) < rank($1) }) else { return state }
      state.cells = [Fields.life: .init(content: StoredRow.alive, author: winner.place)]
      for (field, content) in winner.cells {
        state.cells[field] = .init(content: content, author: winner.place)
      }
      return state
    }
    for write in writes.sorted(by: { $0.place.origin.stamp < $1.place.origin.stamp }) {
      for (field, content) in write.cells {
        state.cells[field] = .init(content: content, author: write.place)
      }
    }
    return state
  }

  private func rank(_ write: RecordWrite) -> WholeRecordRank {
    write.rank ?? WholeRecordRank(updatedAt: 0, nonEmptyFields: 0, stamp: write.place.origin.stamp)
  }

  /// What every store holds of a record from the start.
  private static func seed(of record: RecordKey) -> RecordState {
    var state = RecordState()
    guard record == FixedRecords.none || record == FixedRecords.profile else { return state }
    state.cells[Fields.life] = .init(content: StoredRow.alive, author: .seed)
    if record == FixedRecords.none {
      state.cells[FixedRecords.organizationName] = .init(
        content: Value.text("None").encoded, author: .seed)
    }
    return state
  }

  private func intactWrite(of record: RecordKey, in number: Int64) throws -> RecordWrite? {
    try intactSet(cached: number) == nil ? nil : write(of: record, in: number)
  }

  private func write(of record: RecordKey, in number: Int64) throws -> RecordWrite {
    let set = try cachedSet(number)
    let body = set.body
    let place = try fold.causality.place(number)
    var cells: [(field: FieldNumber, content: [UInt8])] = []
    var rank: WholeRecordRank?
    for entry in body.entries(of: record) {
      let isWhole = record.kind.mergeClass == .wholeRecord
      if isWhole, entry.type == .put { rank = WholeRecordRank(of: entry, in: body, stamp: set.stamp) }
      let written: [(FieldNumber, [UInt8])] =
        switch entry.type {
        case .put: body.cells[entry.cells].map { ($0.field, Array(body.content($0))) }
        case .delete: [(Fields.life, StoredRow.dead)]
        case .restore: [(Fields.life, StoredRow.alive)]
        }
      cells += written.filter { !Merge.isFixed(record, $0.0) }.map { (field: $0.0, content: $0.1) }
    }
    return RecordWrite(
      place: place, operation: OperationKey(id: set.header.operation, device: set.header.log.device),
      verb: body.verb, cells: cells.sorted { $0.field < $1.field }, rank: rank)
  }
}

extension ChangeSetBody {
  /// The entries of one record; they stand together, in order.
  func entries(of record: RecordKey) -> ArraySlice<Entry> {
    var low = entries.startIndex
    var high = entries.endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].key < record { low = middle + 1 } else { high = middle }
    }
    return entries[low...].prefix { $0.key == record }
  }
}
