// Protocol/merge.md, "Operations and undo"

import Records
package import Replication
import Wire

/// What a fold gives for one record: of all its writes, or of some of them only.
package struct RecordState: Sendable {
  /// What a cell shows, and the set that wrote it.
  package struct Cell: Sendable {
    /// Canonical CBOR.
    package let content: [UInt8]
    package let author: SetPosition

    package init(content: [UInt8], author: SetPosition) { (self.content, self.author) = (content, author) }
  }

  /// Written cells, the life in field 0 among them.
  package var cells: [FieldNumber: Cell] = [:]

  /// A record that nothing has written.
  package init() {}

  /// Nil if nothing that counts has written it.
  package var life: Bool? { cells[Fields.life].map { $0.content == StoredRow.alive } }

  /// The fields without the life.
  package var contents: [FieldNumber: [UInt8]] {
    cells.filter { $0.key != Fields.life }.mapValues(\.content)
  }
}

/// One set's writes to one record.
package struct RecordWrite: Sendable {
  package let place: SetPosition
  package let operation: OperationKey
  package let verb: String
  /// What it writes, fields ascending; a life is field 0. Cells that no write changes are left out.
  package let cells: [(field: FieldNumber, content: [UInt8])]
  /// Where a whole record's write stands among the others; nil for other kinds.
  package let rank: WholeRecordRank?

  package func content(_ field: FieldNumber) -> [UInt8]? { cells.first { $0.field == field }?.content }
}

extension Store {
  /// The numbers of the folded sets that wrote to a record, ascending; seeds are left out.
  package func writeNumbers(of record: RecordKey) throws -> [Int64] {
    guard let row = try fold.table(record.kind).row(record.id) else { return [] }
    return try fold.recordWrites.numbers(of: record, row.stamps)
  }

  /// The place of a folded set.
  package func place(_ number: Int64) throws -> SetPosition { try fold.causality.place(number) }

  /// The set that wrote a record's life; nil if none did.
  package func lifeAuthor(of row: RecordRow) throws -> SetPosition? {
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
  /// - Parameter counts: whether a set counts.
  package func state(
    of record: RecordKey, counting counts: (SetPosition) throws -> Bool
  ) throws -> RecordState {
    var search = try RecordStateSearch(of: record, in: self, counting: counts)
    while try search.step(counts) {}
    return search.state
  }

  /// What every store holds of a record from the start.
  fileprivate static func seed(of record: RecordKey) -> RecordState {
    var state = RecordState()
    guard record == FixedRecords.none || record == FixedRecords.profile else { return state }
    state.cells[Fields.life] = .init(content: StoredRow.alive, author: .seed)
    if record == FixedRecords.none {
      state.cells[FixedRecords.organizationName] = .init(
        content: Value.text("None").encoded, author: .seed)
    }
    return state
  }

  /// What one folded set wrote to a record.
  ///
  /// - Throws: `StoreError.damagedSet` if its bytes were altered: without it, what a record was can't be told.
  package func write(of record: RecordKey, in number: Int64) throws -> RecordWrite {
    guard let write = try intactWrite(of: record, in: number) else {
      throw StoreError.damagedSet(number: number)
    }
    return write
  }

  /// The same; nil if the set is damaged.
  package func intactWrite(of record: RecordKey, in number: Int64) throws -> RecordWrite? {
    guard let set = try intactSet(cached: number) else { return nil }
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
      cells += written.filter { !FixedRecords.isFixed(record, $0.0) }.map { (field: $0.0, content: $0.1) }
    }
    return RecordWrite(
      place: place, operation: OperationKey(id: set.header.operation, device: set.header.log.device),
      verb: body.verb, cells: cells.sorted { $0.field < $1.field }, rank: rank)
  }
}

/// Works out what a record would be if only some of the folded sets had been, one write at a time, so that a record of
/// very many writes can be asked about in slices.
///
/// What a cell shows has the highest stamp of all its writes: where that one counts, no other is looked at.
package struct RecordStateSearch {
  /// The answer, once `step` has returned false.
  package private(set) var state: RecordState
  private let record: RecordKey
  private let store: Store
  /// Sets that were not asked about yet.
  private var numbers: ArraySlice<Int64> = []
  /// Those that count; from the newest on once all were asked about.
  private var counted: [SetPosition] = []
  private var next = 0
  private var wanted: Set<FieldNumber> = []
  private var best: (write: RecordWrite, rank: WholeRecordRank)?

  /// - Parameter counts: whether a set counts.
  package init(of record: RecordKey, in store: Store, counting counts: (SetPosition) throws -> Bool) throws {
    self.record = record
    self.store = store
    state = Store.seed(of: record)
    for (field, cell) in try store.state(of: record).cells {
      if try !isWhole && (cell.author.origin.number == 0 || counts(cell.author)) {
        state.cells[field] = cell
      } else {
        wanted.insert(field)
      }
    }
    if !wanted.isEmpty { numbers = try store.writeNumbers(of: record)[...] }
  }

  private var isWhole: Bool { record.kind.mergeClass == .wholeRecord }

  /// Looks at one more set; false if nothing is left to look at.
  ///
  /// - Parameter counts: as at the beginning.
  package mutating func step(_ counts: (SetPosition) throws -> Bool) throws -> Bool {
    guard !wanted.isEmpty else { return false }
    if let number = numbers.popFirst() {
      let place = try store.place(number)
      if try counts(place) { counted.append(place) }
      if numbers.isEmpty { counted.sort { $0.origin.stamp > $1.origin.stamp } }
      return true
    }
    guard next < counted.count else { return false }
    take(try store.write(of: record, in: counted[next].origin.number))
    next += 1
    return true
  }

  private mutating func take(_ write: RecordWrite) {
    guard !isWhole else {
      let rank =
        write.rank ?? WholeRecordRank(updatedAt: 0, nonEmptyFields: 0, stamp: write.place.origin.stamp)
      guard best.map({ $0.rank < rank }) ?? true else { return }
      best = (write, rank)
      state.cells = [Fields.life: .init(content: StoredRow.alive, author: write.place)]
      for (field, content) in write.cells {
        state.cells[field] = .init(content: content, author: write.place)
      }
      return
    }
    for (field, content) in write.cells where wanted.remove(field) != nil {
      state.cells[field] = .init(content: content, author: write.place)
    }
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
