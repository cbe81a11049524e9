// Protocol/merge.md, "Whole records"

import Replication
import SQLite
import Wire

/// The rank of the shown write of each whole record, as its change set states it. The values of the record may be
/// absent, so the rank can't be derived from its row.
final class WholeRecordRanks {
  private let select: Statement
  private let replace: Statement

  init(_ connection: Connection) throws {
    select = try connection.prepare(
      "SELECT updated_at, filled FROM whole_ranks WHERE kind = ?1 AND record = ?2")
    replace = try connection.prepare(
      "INSERT OR REPLACE INTO whole_ranks(kind, record, updated_at, filled) VALUES (?1, ?2, ?3, ?4)")
  }

  func note(_ rank: WholeRecordRank, of key: RecordKey) throws {
    try bind(replace, key)
    try replace.bind(3, rank.updatedAt)
    try replace.bind(4, rank.nonEmptyFields)
    try replace.run()
  }

  /// Returns the rank of the shown write of a record; the lowest one with this stamp for a seed.
  func rank(of key: RecordKey, _ stamp: Stamp) throws -> WholeRecordRank {
    try bind(select, key)
    defer { select.reset() }
    guard try select.step() else { return WholeRecordRank(updatedAt: 0, nonEmptyFields: 0, stamp: stamp) }
    return WholeRecordRank(
      updatedAt: select.integer(0), nonEmptyFields: Int(select.integer(1)), stamp: stamp)
  }

  private func bind(_ statement: borrowing Statement, _ record: RecordKey) throws {
    try statement.bind(1, Int(record.kind.rawValue))
    try statement.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
  }
}
