// Protocol/merge.md, "Conflicts"

import LogStorage
import RecordTables
import Records
package import Replication
import SQLite
package import Wire

/// Concurrent writes of which only one can be shown. The list of conflicts is the same on every device.
package struct Conflict: Sendable {
  package enum Reason: String, Sendable {
    case field
    case profile
    case editLostToDelete = "edit-lost-to-delete"
    case hiddenByParent = "hidden-by-parent"
  }

  /// One of the writes: its content, author and time.
  package struct Side: Sendable {
    package let content: Content
    package let stamp: Stamp
    /// Whether the value is absent, as after an erase. The content is then null.
    package var isAbsent = false
  }

  package enum Content: Hashable, Sendable {
    case value(Value)
    /// A whole record.
    case fields([FieldNumber: Value])
    /// The fields that a set wrote to a record hidden by a deletion, including the life; `Side.stamp` names the set.
    case write([FieldNumber: Value])
    /// The deletion of the record or, with `hiddenByParent`, of an ancestor.
    case deletion
  }

  /// The id of the conflict, in hexadecimal digits. It is the same on every device.
  package let id: String
  package let record: RecordKey
  /// The field in conflict; nil if the conflict concerns the whole record.
  package let field: FieldNumber?
  package let reason: Reason
  package let winner: Side
  /// The losing writes, newest first.
  package let losers: [Side]
  /// The deleted record, if the reason is a deletion.
  package var hiddenBy: RecordKey?
}

extension Store {
  /// Returns the number of unresolved conflicts.
  package func conflictCount() throws -> Int {
    let sql = """
      SELECT (SELECT count(*) FROM contested_cells c WHERE c.is_conflict = 1
          AND (EXISTS (SELECT 1 FROM siblings s WHERE \(Self.sameCell) AND s.content_hash < c.content_hash)
            OR EXISTS (SELECT 1 FROM siblings s WHERE \(Self.sameCell) AND s.content_hash > c.content_hash)))
        + (SELECT count(*) FROM (SELECT DISTINCT kind, record FROM hidden_writes))
      """
    return try connection.with(sql) { row in try row.step() ? Int(row.integer(0)) : 0 }
  }

  private static let sameCell = "s.kind = c.kind AND s.record = c.record AND s.field = c.field"

  /// Returns all conflicts, sorted by kind, record and field. Conflicts with deletions come last.
  package func conflicts() throws -> [Conflict] { try siblingConflicts() + hiddenConflicts() }

  // MARK: Fields and whole records

  private func siblingConflicts() throws -> [Conflict] {
    let sql = """
      SELECT s.kind, s.record, s.field, s.number, s.content FROM contested_cells c
        JOIN siblings s ON \(Self.sameCell) AND s.content_hash <> c.content_hash
      WHERE c.is_conflict = 1 ORDER BY c.kind, c.record, c.field
      """
    return try groups(sql, \.cell) { row in
      Loser(
        cell: Cell(record: try Self.key(row), field: FieldNumber(truncatingIfNeeded: row.integer(2))),
        number: row.integer(3), content: row.bytes(4))
    }.map(conflict)
  }

  private struct Cell: Hashable {
    let record: RecordKey
    let field: FieldNumber
  }

  private struct Loser {
    let cell: Cell
    let number: Int64
    let content: [UInt8]
  }

  private func conflict(_ losers: [Loser]) throws -> Conflict {
    guard let cell = losers.first?.cell, let row = try fold.table(cell.record.kind).row(cell.record.id),
      let number = row.stamps[cell.field]
    else { throw StoreError.damaged("the record of a conflicting write is missing") }
    let isWhole = cell.record.kind.mergeClass == .wholeRecord
    let winner = isWhole ? row.whole : row.content(cell.field) ?? Value.null.encoded
    let sides = try losers.map { try side($0.content, $0.number, cell) }
    return Conflict(
      id: Self.id(cell.record, isWhole ? .profile : .field, cell.field), record: cell.record,
      field: isWhole ? nil : cell.field, reason: isWhole ? .profile : .field,
      winner: try side(winner, number, cell), losers: sides.sorted { $0.stamp > $1.stamp })
  }

  private func side(_ content: [UInt8], _ number: Int64, _ cell: Cell) throws -> Conflict.Side {
    let stamp = try fold.causality.origin(number).stamp
    if cell.record.kind.mergeClass == .wholeRecord {
      let fields = try decodedFields(content).mapValues { try Value(encoded: $0[...]) }
      // The fields of a whole record share a slot, so all of them are absent or none.
      let isAbsent = try fields.values.allSatisfy { $0 == .null } && lacksValue(of: cell.record, nil, number)
      return Conflict.Side(content: .fields(fields), stamp: stamp, isAbsent: isAbsent)
    }
    let value = try Value(encoded: content[...])
    let isAbsent = try value == .null && lacksValue(of: cell.record, cell.field, number)
    return Conflict.Side(content: .value(value), stamp: stamp, isAbsent: isAbsent)
  }

  // MARK: Deletions

  private func hiddenConflicts() throws -> [Conflict] {
    let sql = """
      SELECT kind, record, by_parent, number, deletion FROM hidden_writes ORDER BY kind, record
      """
    return try groups(sql, \.cell) { row in
      Hidden(
        cell: Cell(record: try Self.key(row), field: Fields.life), byParent: row.integer(2) != 0,
        number: row.integer(3), deletion: row.integer(4))
    }.compactMap(conflict)
  }

  private func conflict(_ writes: [Hidden]) throws -> Conflict? {
    guard let first = writes.first else { return nil }
    let key = first.cell.record
    let reason = first.byParent ? Conflict.Reason.hiddenByParent : .editLostToDelete
    let losers = try writes.compactMap { write -> Conflict.Side? in
      guard let set = try intactSet(cached: write.number) else { return nil }
      let isAbsent = set.body.entries(of: key).contains { entry in
        set.body.cells[entry.cells].contains(where: \.isAbsent)
      }
      return Conflict.Side(
        content: .write(try set.body.written(to: key)), stamp: set.stamp, isAbsent: isAbsent)
    }
    guard !losers.isEmpty else { return nil }
    return Conflict(
      id: Self.id(key, reason, nil), record: key, field: nil, reason: reason,
      winner: Conflict.Side(content: .deletion, stamp: try fold.causality.origin(first.deletion).stamp),
      losers: losers.sorted { $0.stamp > $1.stamp }, hiddenBy: try deletedAncestors(key).first)
  }

  /// Returns the deleted records among a record and its ancestors, which hide the record, nearest first.
  package func deletedAncestors(_ key: RecordKey) throws -> [RecordKey] {
    var result: [RecordKey] = []
    var next: RecordKey? = key
    while let current = next {
      guard let row = try fold.table(current.kind).row(current.id) else { break }
      if row.life == false { result.append(current) }
      next = schema.kind(current.kind)?.parent(of: row)
    }
    return result
  }

  private struct Hidden {
    let cell: Cell
    let byParent: Bool
    let number: Int64
    let deletion: Int64
  }

  // MARK: Helpers

  /// Reads rows that are sorted by cell, and returns one array per cell.
  private func groups<Item>(
    _ sql: String, _ cell: (Item) -> Cell, _ read: (borrowing Statement) throws -> Item
  ) throws -> [[Item]] {
    try connection.with(sql) { row in
      var groups: [[Item]] = []
      while try row.step() {
        let item = try read(row)
        if let last = groups.last?.first, cell(last) == cell(item) {
          groups[groups.count - 1].append(item)
        } else {
          groups.append([item])
        }
      }
      return groups
    }
  }

  private static func key(_ row: borrowing Statement) throws -> RecordKey {
    guard let kind = KindNumber(UInt64(bitPattern: row.integer(0))), let id = RecordID(bytes: row.bytes(1))
    else { throw StoreError.damaged("a conflict names an invalid record") }
    return RecordKey(kind: kind, id: id)
  }

  private static let idPrefix = HashPrefix("waymark/conflict-id/v1\0")

  private static func id(_ record: RecordKey, _ reason: Conflict.Reason, _ field: FieldNumber?) -> String {
    var input: [UInt8] = []
    appendBigEndian(UInt64(record.kind.rawValue) << 32 | UInt64(field ?? 0), to: &input)
    record.id.raw.append(to: &input)
    input.append(contentsOf: reason.rawValue.utf8)
    return hexadecimal(blake2b256(idPrefix, input).bytes.prefix(8))
  }
}

extension ChangeSetBody {
  /// Returns the fields that the entries of one record write, including the life. Absent values are null.
  func written(to key: RecordKey) throws -> [FieldNumber: Value] {
    var fields: [FieldNumber: Value] = [:]
    for entry in entries(of: key) {
      for (field, content) in writes(of: entry) {
        fields[field] = try content.map { try Value(encoded: $0[...]) } ?? .null
      }
    }
    return fields
  }
}
