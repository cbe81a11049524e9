// Protocol/merge.md, "Conflicts"

import Replication
import SQLite
import Wire

/// A maximal write of a cell that did not win.
struct Rival {
  let number: Int64
  let content: [UInt8]
}

/// Maximal writes that did not win, kept with their content until a later write follows them.
final class Rivals {
  private let select: Statement
  private let insert: Statement
  private let delete: Statement

  init(_ connection: Connection) throws {
    select = try connection.prepare(
      "SELECT field, number, content FROM rivals WHERE kind = ?1 AND record = ?2 ORDER BY field, number")
    insert = try connection.prepare(
      "INSERT INTO rivals(kind, record, field, number, content, differs) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
    delete = try connection.prepare("DELETE FROM rivals WHERE kind = ?1 AND record = ?2 AND field = ?3")
  }

  /// The rivals of a record by field, in order of their numbers.
  func of(_ record: RecordKey) throws -> [FieldNumber: [Rival]] {
    try bind(select, record)
    defer { select.reset() }
    var result: [FieldNumber: [Rival]] = [:]
    while try select.step() {
      let field = FieldNumber(truncatingIfNeeded: select.integer(0))
      result[field, default: []].append(Rival(number: select.integer(1), content: select.bytes(2)))
    }
    return result
  }

  /// Replaces the rivals of a cell. Those that say what the winner says are kept, but are no conflict.
  func replace(
    _ record: RecordKey, _ field: FieldNumber, _ rivals: [Rival], winner: [UInt8]?
  ) throws {
    // Where a delete has won, the writes it hides are listed as such: `HiddenWrites`.
    let isConflict = !(field == Fields.life && winner == StoredRow.dead)
    try replace(record, field, rivals) { isConflict && $0.content != winner }
  }

  /// Replaces the rivals of a whole record, whose own time of change is no difference.
  ///
  /// - Parameters:
  ///   - isFollowed: a rival has seen the winner and ranks below it: then the winner is not maximal, and it is
  ///     for the rivals to disagree with one another.
  func replaceWhole(_ record: RecordKey, _ rivals: [Rival], winner: [UInt8], isFollowed: Bool) throws {
    let contents = try rivals.map { try Self.withoutTime($0.content) }
    let isConflict = !isFollowed || Set(contents).count > 1
    let shown = try Self.withoutTime(winner)
    let differing = Set(zip(rivals, contents).filter { $0.1 != shown }.map(\.0.number))
    try replace(record, Fields.life, rivals) { isConflict && differing.contains($0.number) }
  }

  private static func withoutTime(_ whole: [UInt8]) throws -> [UInt8] {
    encodedFields(try decodedFields(whole).filter { $0.key != Fields.wholeRecordUpdatedAt })
  }

  private func replace(
    _ record: RecordKey, _ field: FieldNumber, _ rivals: [Rival], differs: (Rival) -> Bool
  ) throws {
    try bind(delete, record)
    try delete.bind(3, Int(field))
    try delete.run()
    for rival in rivals {
      try bind(insert, record)
      try insert.bind(3, Int(field))
      try insert.bind(4, rival.number)
      try insert.bind(5, rival.content)
      try insert.bind(6, differs(rival) ? 1 : 0)
      try insert.run()
    }
  }

  private func bind(_ statement: borrowing Statement, _ record: RecordKey) throws {
    try statement.bind(1, Int(record.kind.rawValue))
    try statement.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
  }
}
