// Protocol/merge.md, "Conflicts"

import FileFormat
import LogStorage
import Records
import Replication
import SQLite
import Wire

// Siblings: the concurrent writes that lost.
//
// A write is *maximal* while no later write of its cell has seen it. One of the maximal writes of a cell is shown. The
// others are its siblings, which are stored with their content so that the user can choose one later. The content is
// NULL if the value is absent.
//
//     phone     set 8    name = "Roma" ──╮
//     laptop    set 9    name = "Rome" ──┴── set 12   name = "Rome"     has seen 8 and 9
//     tablet    set 10   name = "Roma"                                  concurrent with all three
//
//     after 8, 9, 10    shown: 10    siblings: 8, 9    contested_cells: count 2, content_hash of 10
//     after 12          shown: 12    siblings: 10      8 and 9 removed, because 12 has seen them
//
// Whether a sibling is listed as a conflict is not stored with the sibling. Instead, the query for conflicts joins
// `siblings.content_hash` with `contested_cells.content_hash`, the hash of the winner's content, and keeps the rows
// where the two differ. In the first state above, 8 has the winner's content, so only 9 is listed. Thus a new winner
// changes one row of the cell instead of the row of every sibling. Even if a member writes one cell concurrently
// 100,000 times, the next write stays cheap.
//
// There are two exceptions. If the winner is a deletion, `HiddenWrites` lists the losing writes instead. And a whole
// record wins by rank, so a write may rank below a winner that it has seen. Such a write *follows* the winner, which is
// then not maximal itself, and there is a conflict only if the siblings differ among themselves.

/// The number of siblings of one cell. Whether a sibling is a conflict is computed when conflicts are listed, so a new
/// winner never rewrites existing siblings.
struct Contest {
  var count: Int
}

/// The maximal writes that did not win, kept with their content until a later write has seen them.
///
/// A member can write one cell concurrently any number of times, so the cost of a write must not grow with the number
/// of siblings: it inserts its own row, deletes the siblings that it has seen, and updates one row of the cell.
final class Siblings {
  private let schema: Schema
  private let selectCells: Statement
  private let selectAll: Statement
  private let selectOnBranch: Statement
  private let selectWriters: Statement
  private let selectFollower: Statement
  private let selectExtremes: Statement
  private let selectContent: Statement
  private let insert: Statement
  private let delete: Statement
  private let update: Statement
  private let clearFollowers: Statement
  private let noteCell: Statement
  private let deleteCell: Statement
  /// Up to this number, siblings are checked one by one.
  private static let few = 8

  init(_ connection: Connection, _ schema: Schema) throws {
    self.schema = schema
    let cell = "kind = ?1 AND record = ?2 AND field = ?3"
    selectCells = try connection.prepare(
      "SELECT field, count FROM contested_cells WHERE kind = ?1 AND record = ?2")
    selectAll = try connection.prepare("SELECT number, branch, sequence FROM siblings WHERE \(cell)")
    selectOnBranch = try connection.prepare(
      "SELECT number FROM siblings WHERE \(cell) AND branch = ?4 AND sequence <= ?5")
    selectWriters = try connection.prepare(
      """
      SELECT DISTINCT number FROM siblings WHERE kind = ?1 AND record = ?2 AND (field <> ?3 OR content = ?4)
      """)
    selectFollower = try connection.prepare("SELECT 1 FROM siblings WHERE \(cell) AND follows = 1 LIMIT 1")
    selectExtremes = try connection.prepare(
      """
      SELECT (SELECT content_hash FROM siblings WHERE \(cell) ORDER BY content_hash LIMIT 1),
        (SELECT content_hash FROM siblings WHERE \(cell) ORDER BY content_hash DESC LIMIT 1)
      """)
    insert = try connection.prepare(
      """
      INSERT INTO siblings(kind, record, field, number, branch, sequence, content_hash, follows, content)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
      """)
    selectContent = try connection.prepare("SELECT content FROM siblings WHERE \(cell) AND number = ?4")
    delete = try connection.prepare("DELETE FROM siblings WHERE \(cell) AND number = ?4")
    update = try connection.prepare(
      "UPDATE siblings SET content_hash = ?5, content = ?6 WHERE \(cell) AND number = ?4")
    clearFollowers = try connection.prepare("UPDATE siblings SET follows = 0 WHERE \(cell) AND follows = 1")
    noteCell = try connection.prepare(
      """
      INSERT INTO contested_cells(kind, record, field, count, content_hash, is_conflict)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT DO UPDATE SET count = excluded.count, content_hash = excluded.content_hash,
        is_conflict = excluded.is_conflict
      """)
    deleteCell = try connection.prepare("DELETE FROM contested_cells WHERE \(cell)")
  }

  // MARK: Lookups

  /// Returns the cells of a record that have siblings.
  func contests(of record: RecordKey) throws -> [FieldNumber: Contest] {
    try bind(selectCells, record)
    defer { selectCells.reset() }
    var result: [FieldNumber: Contest] = [:]
    while try selectCells.step() {
      let field = FieldNumber(truncatingIfNeeded: selectCells.integer(0))
      result[field] = Contest(count: Int(selectCells.integer(1)))
    }
    return result
  }

  /// Returns the numbers of the sets with sibling writes to a record. Deletes are left out.
  func writers(of record: RecordKey) throws -> [Int64] {
    try bind(selectWriters, record, Fields.life)
    try selectWriters.bind(4, StoredRow.alive)
    defer { selectWriters.reset() }
    var numbers: [Int64] = []
    while try selectWriters.step() { numbers.append(selectWriters.integer(0)) }
    return numbers
  }

  /// Returns whether a sibling of a whole record has seen the winner and ranks below it.
  func hasFollower(_ record: RecordKey) throws -> Bool {
    try bind(selectFollower, record, Fields.life)
    defer { selectFollower.reset() }
    return try selectFollower.step()
  }

  // MARK: Changes

  /// Removes the siblings that a write has seen.
  ///
  /// - Returns: the number of remaining siblings.
  func close(
    _ record: RecordKey, _ field: FieldNumber, _ contest: Contest, seenBy place: SetPosition,
    _ causality: Causality
  ) throws -> Int {
    let seen = try seen(record, field, contest, by: place, causality)
    for number in seen {
      try noteFiles(record, field, number)
      try bind(delete, record, field)
      try delete.bind(4, number)
      try delete.run()
    }
    return contest.count - seen.count
  }

  /// Files that removed siblings named, since the last `takeFormerFiles`.
  private var formerFiles: Set<FileReference> = []

  func takeFormerFiles() -> Set<FileReference> {
    defer { formerFiles = [] }
    return formerFiles
  }

  private func noteFiles(_ record: RecordKey, _ field: FieldNumber, _ number: Int64) throws {
    guard schema.fileFields[record.kind] != nil else { return }
    try bind(selectContent, record, field)
    try selectContent.bind(4, number)
    defer { selectContent.reset() }
    guard try selectContent.step() else { return }
    formerFiles.formUnion(schema.files(in: selectContent.bytes(0), of: record.kind, field))
  }

  private func seen(
    _ record: RecordKey, _ field: FieldNumber, _ contest: Contest, by place: SetPosition,
    _ causality: Causality
  ) throws -> [Int64] {
    if contest.count <= Self.few {
      return try rows(record, field).map(\.number).filter { try causality.covers(place.origin.number, $0) }
    }
    let past = try causality.past(place.branch, sequence: place.sequence)
    guard past.count < contest.count else {
      return try rows(record, field).filter { $0.sequence <= past[$0.branch] ?? 0 }.map(\.number)
    }
    var numbers: [Int64] = []
    for (branch, sequence) in past {
      try bind(selectOnBranch, record, field)
      try selectOnBranch.bind(4, branch)
      try selectOnBranch.bind(5, sequence)
      defer { selectOnBranch.reset() }
      while try selectOnBranch.step() { numbers.append(selectOnBranch.integer(0)) }
    }
    return numbers
  }

  private func rows(
    _ record: RecordKey, _ field: FieldNumber
  ) throws -> [(number: Int64, branch: Int64, sequence: Int64)] {
    try bind(selectAll, record, field)
    defer { selectAll.reset() }
    var rows: [(number: Int64, branch: Int64, sequence: Int64)] = []
    while try selectAll.step() {
      rows.append((selectAll.integer(0), selectAll.integer(1), selectAll.integer(2)))
    }
    return rows
  }

  /// Adds a write that did not win, or no longer wins.
  ///
  /// - Parameters:
  ///   - follows: for a whole record, whether the write has seen the winner and ranks below it.
  func add(
    _ record: RecordKey, _ field: FieldNumber, _ place: SetPosition, _ content: [UInt8], follows: Bool = false
  ) throws {
    try bind(insert, record, field)
    try insert.bind(4, place.origin.number)
    try insert.bind(5, place.branch)
    try insert.bind(6, place.sequence)
    try insert.bind(7, try Self.contentHash(content, of: record))
    try insert.bind(8, follows ? 1 : 0)
    try insert.bind(9, content)
    try insert.run()
  }

  /// Replaces the content of a sibling whose value was missing; does nothing if the write is not a sibling.
  func fill(_ record: RecordKey, _ field: FieldNumber, _ number: Int64, _ content: [UInt8]) throws {
    try bind(update, record, field)
    try update.bind(4, number)
    try update.bind(5, try Self.contentHash(content, of: record))
    try update.bind(6, content)
    try update.run()
  }

  /// Notes that no sibling of a whole record follows the winner. Call this when another write wins: the new winner is
  /// the newest folded set, so no sibling has seen it.
  func forgetFollowers(_ record: RecordKey) throws {
    try bind(clearFollowers, record, Fields.life)
    try clearFollowers.run()
  }

  /// Updates the row of the cell: the number of siblings, and the hash of the winner, with which the hashes of the
  /// siblings are compared. Siblings with the winner's content are kept, but are not conflicts.
  func note(_ record: RecordKey, _ field: FieldNumber, _ contest: Contest, winner: [UInt8]?) throws {
    guard contest.count > 0 else {
      try bind(deleteCell, record, field)
      return try deleteCell.run()
    }
    try bind(noteCell, record, field)
    try noteCell.bind(4, contest.count)
    try noteCell.bind(5, try winner.map { try Self.contentHash($0, of: record) } ?? [])
    try noteCell.bind(6, try isConflict(record, field, winner) ? 1 : 0)
    try noteCell.run()
  }

  private func isConflict(_ record: RecordKey, _ field: FieldNumber, _ winner: [UInt8]?) throws -> Bool {
    guard record.kind.mergeClass == .wholeRecord else {
      // If a delete has won, the writes that it hides are listed by `HiddenWrites`.
      return !(field == Fields.life && winner == StoredRow.dead)
    }
    // If a sibling has seen the winner, the winner is not maximal: only siblings that differ from each other are a
    // conflict.
    guard try hasFollower(record) else { return true }
    try bind(selectExtremes, record, field)
    defer { selectExtremes.reset() }
    return try selectExtremes.step() && selectExtremes.bytes(0) != selectExtremes.bytes(1)
  }

  private static let prefix = HashPrefix("waymark/rival/v1\0")

  /// Returns a hash that is equal for two writes exactly if their contents are equal. The time of change inside a whole
  /// record does not count.
  private static func contentHash(_ content: [UInt8], of record: RecordKey) throws -> [UInt8] {
    guard record.kind.mergeClass == .wholeRecord else { return blake2b256(prefix, content).bytes }
    let fields = try decodedFields(content).filter { $0.key != Fields.wholeRecordUpdatedAt }
    return blake2b256(prefix, encodedFields(fields)).bytes
  }

  private func bind(_ statement: borrowing Statement, _ record: RecordKey) throws {
    try statement.bind(1, Int(record.kind.rawValue))
    try statement.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
  }

  private func bind(_ statement: borrowing Statement, _ record: RecordKey, _ field: FieldNumber) throws {
    try bind(statement, record)
    try statement.bind(3, Int(field))
  }
}
