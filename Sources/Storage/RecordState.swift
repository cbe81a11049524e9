// Protocol/merge.md, "Operations and undo"

package import LogStorage
import RecordTables
import Records
package import Replication
import SQLite
import Wire

/// The result of folding the writes of one record, either all of them or a selection.
package struct RecordState: Sendable {
  /// The content of a cell and the set that wrote it.
  package struct Cell: Sendable {
    /// The content as canonical CBOR.
    package let content: [UInt8]
    package let author: SetPosition
    /// Whether the author's value is known to be absent, as after an erase. The content is null then. In the present
    /// state of a record, this is not determined.
    package let isAbsent: Bool

    package init(content: [UInt8], author: SetPosition, isAbsent: Bool = false) {
      (self.content, self.author, self.isAbsent) = (content, author, isAbsent)
    }
  }

  /// The written cells, including the life (field 0).
  package var cells: [FieldNumber: Cell] = [:]
  /// The time of change that the shown write of a whole record states; nil for other kinds, and for a seed.
  package var timeOfChange: Moment?

  /// A record without any writes.
  package init() {}

  /// Whether the record is alive; nil if none of the folded writes has set its life.
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
  /// The written cells, sorted by field; field 0 is the life. Fixed cells are left out. The content of an absent value
  /// is null.
  package let cells: [(field: FieldNumber, content: [UInt8])]
  /// The fields whose values are absent.
  package let absent: Set<FieldNumber>
  /// The rank of a write to a whole record; nil for other kinds.
  package let rank: WholeRecordRank?

  package func content(_ field: FieldNumber) -> [UInt8]? { cells.first { $0.field == field }?.content }
}

extension Store {
  /// Returns the numbers of the folded sets that wrote to a record, ascending. Seeds are left out.
  package func writeNumbers(of record: RecordKey) throws -> [Int64] {
    guard let row = try fold.table(record.kind).row(record.id) else { return [] }
    return try fold.recordWrites.numbers(of: record, row.stamps)
  }

  /// Returns the position of a folded set.
  package func place(_ number: Int64) throws -> SetPosition { try fold.causality.place(number) }

  /// Returns the set that wrote a record's life; nil if none did.
  package func lifeAuthor(of row: RecordRow) throws -> SetPosition? {
    try row.stamps[Fields.life].map { try fold.causality.place($0) }
  }

  /// Returns the present state of a record, to which all folded writes contribute.
  package func state(of record: RecordKey) throws -> RecordState {
    guard let row = try fold.table(record.kind).row(record.id) else { return RecordState() }
    return try state(of: record, row)
  }

  /// Returns the present state of a record, and the numbers of the folded sets that wrote to it, ascending and without
  /// seeds.
  package func stateAndWriteNumbers(of record: RecordKey) throws -> (state: RecordState, numbers: [Int64]) {
    guard let row = try fold.table(record.kind).row(record.id) else { return (RecordState(), []) }
    return (try state(of: record, row), try fold.recordWrites.numbers(of: record, row.stamps))
  }

  /// Returns whether a record is alive, without reading its fields, if the given sets are the only ones that have ever
  /// written to it; otherwise nil.
  package func isAlive(_ record: RecordKey, ifOnlyWrittenBy sets: Set<Int64>) throws -> Bool? {
    guard let (life, stamps) = try fold.table(record.kind).lifeAndStamps(record.id),
      stamps.writers.allSatisfy(sets.contains),
      try fold.recordWrites.numbers(of: record, stamps).allSatisfy(sets.contains)
    else { return nil }
    return life == true
  }

  /// Runs `body`, which reads many records, on one snapshot of the store.
  package func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.snapshot(body)
  }

  private func state(of record: RecordKey, _ row: StoredRow) throws -> RecordState {
    var state = RecordState()
    for (field, number) in row.stamps.cells {
      guard let content = row.content(field) else { throw StoreError.damaged("a cell has no content") }
      state.cells[field] = RecordState.Cell(content: content, author: try fold.causality.place(number))
    }
    if record.kind.mergeClass == .wholeRecord { state.timeOfChange = try timeOfChange(of: record) }
    return state
  }

  /// Returns the state that a record would have with only some of the folded sets. Seeds always count.
  ///
  /// - Parameter counts: returns whether a set counts.
  package func state(
    of record: RecordKey, counting counts: (SetPosition) throws -> Bool
  ) throws -> RecordState {
    var search = try RecordStateSearch(of: record, in: self, counting: counts)
    while try search.step(counts) {}
    return search.state
  }

  /// Returns the seed of a record; an empty state if the record has no seed.
  package static func seed(of record: RecordKey) -> RecordState {
    var state = RecordState()
    guard record == FixedRecords.none || record == FixedRecords.profile else { return state }
    state.cells[Fields.life] = .init(content: StoredRow.alive, author: .seed)
    if record == FixedRecords.none {
      state.cells[FixedRecords.organizationName] = .init(
        content: Value.text("None").encoded, author: .seed)
    }
    return state
  }

  /// Returns the writes of one folded set to a record.
  ///
  /// - Throws: `StoreError.damagedSet` if the set's bytes were altered, because the record's state can't be determined
  ///   without the set.
  package func write(of record: RecordKey, in number: Int64) throws -> RecordWrite {
    guard let write = try intactWrite(of: record, in: number) else {
      throw StoreError.damagedSet(number: number)
    }
    return write
  }

  /// Returns the writes of one folded set to a record; nil if the set is damaged.
  package func intactWrite(of record: RecordKey, in number: Int64) throws -> RecordWrite? {
    guard let set = try intactSet(cached: number) else { return nil }
    let body = set.body
    let place = try fold.causality.place(number)
    var cells: [(field: FieldNumber, content: [UInt8])] = []
    var absent: Set<FieldNumber> = []
    var rank: WholeRecordRank?
    for entry in body.entries(of: record) {
      if entry.stated != nil { rank = WholeRecordRank(of: entry, stamp: set.stamp) }
      for (field, content) in body.writes(of: entry) where !FixedRecords.isFixed(record, field) {
        cells.append((field, content ?? StoredRow.null))
        if content == nil { absent.insert(field) }
      }
    }
    return RecordWrite(
      place: place, operation: OperationKey(id: set.header.operation, device: set.header.log.device),
      verb: body.verb, cells: cells.sorted { $0.field < $1.field }, absent: absent, rank: rank)
  }
}

/// Computes the state that a record would have with only some of the folded sets, one write at a time, so that a
/// record with very many writes can be processed in slices.
///
/// A cell shows the write with the highest stamp; if that write counts, no other write of the cell is read.
package struct RecordStateSearch {
  /// The resulting state. It is complete once `step` has returned false.
  package private(set) var state: RecordState
  private let record: RecordKey
  private let store: Store
  /// The numbers of the sets for which `counts` has not been called yet.
  private var numbers: ArraySlice<Int64> = []
  /// The sets that count. Once all sets have been checked, these are sorted newest first.
  private var counted: [SetPosition] = []
  private var next = 0
  private var wanted: Set<FieldNumber> = []
  private var best: (write: RecordWrite, rank: WholeRecordRank)?

  /// - Parameter counts: returns whether a set counts; must be the same for every `step`.
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

  /// Processes one more set. Returns false when the result is complete.
  ///
  /// - Parameter counts: the same as for `init`.
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
      // A set that only erased the record has no rank, because it wrote nothing.
      guard let rank = write.rank, best.map({ $0.rank < rank }) ?? true else { return }
      best = (write, rank)
      state.cells = [Fields.life: .init(content: StoredRow.alive, author: write.place)]
      for (field, content) in write.cells {
        state.cells[field] = .init(
          content: content, author: write.place, isAbsent: write.absent.contains(field))
      }
      return
    }
    for (field, content) in write.cells where wanted.remove(field) != nil {
      state.cells[field] = .init(
        content: content, author: write.place, isAbsent: write.absent.contains(field))
    }
  }
}
