// Sources/store.md, "What is derived"

import LogStorage
package import Replication
import SQLite
import Wire

/// The list of the sets that wrote to each record, for records that more than one set wrote to.
///
/// Most records were written only once. Such a record has no row here, because its stamps name its only set.
package final class RecordWrites {
  private let select: Statement
  private let insert: Statement

  init(_ connection: Connection) throws {
    select = try connection.prepare(
      "SELECT number FROM record_writes WHERE kind = ?1 AND record = ?2 ORDER BY number")
    insert = try connection.prepare(
      "INSERT INTO record_writes(kind, record, number) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
  }

  /// Notes that a set writes to a record.
  ///
  /// - Parameter stamps: the stamps of the record before the write; nil if it has no row.
  func add(_ number: Int64, to record: RecordKey, before stamps: Stamps?) throws {
    // If the stamps name several sets, the record has been written more than once already, and those sets are in the
    // table.
    let known = stamps?.writers ?? []
    if known.count == 1, known[0] != 0 { try add(known[0], to: record) }
    try add(number, to: record)
  }

  private func add(_ number: Int64, to record: RecordKey) throws {
    try bind(insert, record)
    try insert.bind(3, number)
    try insert.run()
  }

  /// Returns the numbers of the sets that wrote to a record, ascending. Seeds are left out.
  package func numbers(of record: RecordKey, _ stamps: Stamps) throws -> [Int64] {
    try bind(select, record)
    defer { select.reset() }
    var numbers: [Int64] = []
    while try select.step() { numbers.append(select.integer(0)) }
    guard numbers.isEmpty else { return numbers }
    return stamps.writers.filter { $0 != 0 }
  }

  private func bind(_ statement: borrowing Statement, _ record: RecordKey) throws {
    try statement.bind(1, Int(record.kind.rawValue))
    try statement.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
  }
}

/// Records which operation undoes which.
final class Undos {
  private let insert: Statement

  init(_ connection: Connection) throws {
    insert = try connection.prepare(
      "INSERT INTO undos(target, operation, device) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
  }

  func note(_ set: VerifiedChangeSet) throws {
    guard let target = set.body.target, set.body.verb == Operation.undoVerb else { return }
    try insert.bind(1, target.bytes)
    try insert.bind(2, set.header.operation.bytes)
    try insert.bind(3, set.header.log.device.bytes)
    try insert.run()
  }
}
