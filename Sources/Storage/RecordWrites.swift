// Protocol/store.md, "What is derived"

import Replication
import SQLite
import Wire

/// The sets that wrote to a record, for records with more than one.
///
/// A record that was written once, as most are, has no row here: its stamps name its only set.
final class RecordWrites {
  private let select: Statement
  private let insert: Statement

  init(_ connection: Connection) throws {
    select = try connection.prepare(
      "SELECT number FROM record_writes WHERE kind = ?1 AND record = ?2 ORDER BY number")
    insert = try connection.prepare(
      "INSERT INTO record_writes(kind, record, number) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
  }

  /// Notes that a set writes to an existing record.
  func add(_ number: Int64, to record: RecordKey, before stamps: Stamps) throws {
    // If its stamps name several sets, the record was written again before, and those sets are in the table already.
    let known = Set(stamps.cells.map(\.number))
    if known.count == 1, let first = known.first, first != 0 { try add(first, to: record) }
    try add(number, to: record)
  }

  private func add(_ number: Int64, to record: RecordKey) throws {
    try bind(insert, record)
    try insert.bind(3, number)
    try insert.run()
  }

  /// The numbers of the sets that wrote to a record, ascending; seeds are left out.
  func numbers(of record: RecordKey, _ stamps: Stamps) throws -> [Int64] {
    try bind(select, record)
    defer { select.reset() }
    var numbers: [Int64] = []
    while try select.step() { numbers.append(select.integer(0)) }
    guard numbers.isEmpty else { return numbers }
    return Set(stamps.cells.map(\.number)).filter { $0 != 0 }.sorted()
  }

  private func bind(_ statement: borrowing Statement, _ record: RecordKey) throws {
    try statement.bind(1, Int(record.kind.rawValue))
    try statement.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
  }
}

/// Which operation undoes which.
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
