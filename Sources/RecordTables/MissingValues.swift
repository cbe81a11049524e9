// Protocol/session.md, "Missing values"

import Replication
import SQLite
import Wire

/// The slots that are missing from folded sets although no folded erase explains it.
///
/// The table is derived: folding a set adds rows, and folding an erase that has the set in its past removes them. So it
/// is the same after a rebuild or a restore, and `verify --deep` compares it.
package final class MissingValues {
  private let connection: Connection
  private let insert: Statement
  private let delete: Statement
  private let selectOfRecord: Statement
  private let selectOfSet: Statement
  /// Changes whenever the table may have changed.
  package private(set) var version = 0

  init(_ connection: Connection) throws {
    self.connection = connection
    insert = try connection.prepare(
      "INSERT INTO missing_values(number, slot, kind, record) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")
    delete = try connection.prepare("DELETE FROM missing_values WHERE number = ?1 AND slot = ?2")
    selectOfRecord = try connection.prepare(
      "SELECT number, slot FROM missing_values WHERE kind = ?1 AND record = ?2")
    selectOfSet = try connection.prepare("SELECT slot FROM missing_values WHERE number = ?1")
  }

  /// Notes that the tables were emptied or rolled back.
  func forget() { version += 1 }

  func note(_ record: RecordKey, set number: Int64, slot: Int) throws {
    try insert.bind(1, number)
    try insert.bind(2, slot)
    try insert.bind(3, Int(record.kind.rawValue))
    try insert.bind(4, bigEndian: record.id.raw.word0, record.id.raw.word1)
    try insert.run()
    version += 1
  }

  func remove(set number: Int64, slot: Int) throws {
    try delete.bind(1, number)
    try delete.bind(2, slot)
    try delete.run()
    version += 1
  }

  /// Removes the slots of a record that belong to certain sets.
  func remove(of record: RecordKey, where isExplained: (Int64) throws -> Bool) throws {
    for (number, slot) in try slots(of: record) where try isExplained(number) {
      try remove(set: number, slot: slot)
    }
  }

  private func slots(of record: RecordKey) throws -> [(number: Int64, slot: Int)] {
    try selectOfRecord.bind(1, Int(record.kind.rawValue))
    try selectOfRecord.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
    defer { selectOfRecord.reset() }
    var found: [(number: Int64, slot: Int)] = []
    while try selectOfRecord.step() {
      found.append((selectOfRecord.integer(0), Int(selectOfRecord.integer(1))))
    }
    return found
  }

  /// Returns the missing slots of a set.
  package func slots(of number: Int64) throws -> Set<Int> {
    try selectOfSet.bind(1, number)
    defer { selectOfSet.reset() }
    var slots: Set<Int> = []
    while try selectOfSet.step() { slots.insert(Int(selectOfSet.integer(0))) }
    return slots
  }
}
