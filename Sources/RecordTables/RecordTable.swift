// Sources/store.md, "Rows"

import LogStorage
package import Records
import Replication
package import SQLite
package import Wire

/// The rows of one kind: in a table of its own for known kinds, or in the shared table `other_rows` for all others.
package final class RecordTable {
  let number: KindNumber
  let kind: Kind?
  private let insertNew: Statement
  private let replace: Statement
  private let update: Statement
  private let select: Statement
  private let selectLife: Statement
  private let places: [FieldColumns]
  /// Reused between rows to avoid an allocation for each.
  private var columns: [ColumnValue] = []

  init(_ number: KindNumber, _ schema: Schema, _ connection: Connection) throws {
    self.number = number
    kind = schema.kind(number)
    var column = Self.fixedColumns.count + 1
    places = (kind?.fields ?? []).map { field in
      defer { column += field.columns.count }
      return FieldColumns(number: field.number, type: field.type, column: column)
    }
    let names = Self.fixedColumns + (kind?.columnNames ?? [])
    let values = (1...names.count).map { "?\($0)" }
    let table = kind?.table ?? "other_rows"
    let isOther = kind == nil
    let isNamed = " WHERE id = ?1\(isOther ? " AND kind = \(number.rawValue)" : "")"
    let list =
      "INTO \(table)(\((isOther ? ["kind"] : []) .joined())\(isOther ? ", " : "")\(names.joined(separator: ", ")))"
      + " VALUES (\(isOther ? "\(number.rawValue), " : "")\(values.joined(separator: ", ")))"
    insertNew = try connection.prepare("INSERT \(list) ON CONFLICT DO NOTHING")
    replace = try connection.prepare("INSERT OR REPLACE \(list)")
    update = try connection.prepare("UPDATE \(table) SET life = ?2, stamps = ?3\(isNamed)")
    select = try connection.prepare("SELECT \(names.joined(separator: ", ")) FROM \(table)\(isNamed)")
    selectLife = try connection.prepare("SELECT life, stamps FROM \(table)\(isNamed)")
  }

  /// The columns that every table starts with; the kind's own columns follow.
  package static let fixedColumns = ["id", "life", "stamps", "extra"]

  /// Inserts a record directly from the set's bytes, if every field is of its registered type.
  ///
  /// - Returns: false, with nothing changed, if a field has another type. `Connection.changes` tells whether a row was
  ///   inserted: it was not if the record existed already.
  func insert(_ entry: Entry, in body: ChangeSetBody, stamps: [UInt8]) throws(SQLiteError) -> Bool {
    guard kind != nil else { return false }
    return try insertNew.run(borrowing: body.bytes) { statement, bytes throws(SQLiteError) in
      try statement.bind(1, bigEndian: entry.key.id.raw.word0, entry.key.id.raw.word1)
      try statement.bind(2, 1)
      try statement.bind(3, stamps)
      var binder = CellBinder(body.bytes)
      // The columns of absent fields and values stay unbound and so become NULL.
      var cell = entry.cells.lowerBound
      for field in places {
        guard cell < entry.cells.upperBound else { break }
        guard body.cells[cell].field == field.number else { continue }
        let found = body.cells[cell]
        cell += 1
        if found.isAbsent { continue }
        guard try binder.bind(field.type, found.range, statement, bytes, field.column) else { return false }
      }
      return cell == entry.cells.upperBound
    }
  }

  /// Returns the parent of a new record; nil if the record names none.
  func parent(of entry: Entry, in body: ChangeSetBody) -> RecordKey? {
    guard let kind, let field = kind.parent else { return nil }
    for cell in body.cells[entry.cells] where cell.field == field {
      return body.content(cell).flatMap(kind.parentKey)
    }
    return nil
  }

  /// Returns the stored row of a record; nil if there is none.
  package func row(_ id: RecordID) throws -> StoredRow? {
    try select.bind(1, bigEndian: id.raw.word0, id.raw.word1)
    defer { select.reset() }
    return try select.step() ? try Self.row(select, kind) : nil
  }

  /// Returns the life and the stamps of a record without its fields; nil if there is no such record.
  package func lifeAndStamps(_ id: RecordID) throws -> (life: Bool?, stamps: Stamps)? {
    try selectLife.bind(1, bigEndian: id.raw.word0, id.raw.word1)
    defer { selectLife.reset() }
    guard try selectLife.step() else { return nil }
    return (selectLife.isNull(0) ? nil : selectLife.integer(0) != 0, try Stamps(packed: selectLife.bytes(1)))
  }

  /// Reads the current row of a statement that selects `fixedColumns` and then the kind's own columns, in order.
  package static func row(_ statement: borrowing Statement, _ kind: Kind?) throws -> StoredRow {
    var row = StoredRow(
      life: statement.isNull(1) ? nil : statement.integer(1) != 0,
      stamps: try Stamps(packed: statement.bytes(2)))
    var column = fixedColumns.count
    for field in kind?.fields ?? [] {
      let range = column..<column + field.columns.count
      column = range.upperBound
      guard row.stamps[field.number] != nil else { continue }
      let values = range.map { statement.value($0) }
      guard let value = field.type.value(from: values[...]) else {
        throw StoreError.damaged("field \(field.number) of a \(kind?.name ?? "record") is invalid")
      }
      row.contents[field.number] = value.encoded
    }
    if !statement.isNull(3) {
      row.contents.merge(try decodedFields(statement.bytes(3))) { _, extra in extra }
    }
    return row
  }

  func write(_ row: StoredRow, _ id: RecordID) throws {
    columns.removeAll(keepingCapacity: true)
    var extra = row.contents
    for field in kind?.fields ?? [] {
      if let content = row.contents[field.number],
        field.type.appendColumns(of: content, in: 0..<content.count, to: &columns)
      {
        extra[field.number] = nil
      } else {
        for _ in field.columns { columns.append(.null) }
      }
    }
    try bind(row, id, to: replace)
    if extra.isEmpty { try replace.bindNull(4) } else { try replace.bind(4, encodedFields(extra)) }
    for (index, value) in columns.enumerated() {
      try replace.bind(Self.fixedColumns.count + 1 + index, value)
    }
    try replace.run()
  }

  /// Writes the life and the stamps of a record whose fields have not changed.
  func writeStamps(_ row: StoredRow, _ id: RecordID) throws {
    try bind(row, id, to: update)
    try update.run()
  }

  private func bind(_ row: StoredRow, _ id: RecordID, to statement: borrowing Statement) throws {
    try statement.bind(1, bigEndian: id.raw.word0, id.raw.word1)
    if let life = row.life { try statement.bind(2, life ? 1 : 0) } else { try statement.bindNull(2) }
    try statement.bind(3, row.stamps.packed)
  }
}

/// The parts of a field that binding needs. A whole `Field` would be retained and released for each row.
private struct FieldColumns {
  let number: FieldNumber
  let type: FieldType
  /// The number of the statement parameter for the first column of the field.
  let column: Int
}

extension Kind {
  package var columnNames: [String] { fields.flatMap { $0.columns.map(\.name) } }
}

extension Statement {
  package func bind(_ index: Int, _ value: ColumnValue) throws(SQLiteError) {
    switch value {
    case .null: try bindNull(index)
    case .integer(let number): try bind(index, number)
    case .real(let number): try bind(index, number)
    case .text(let text): try bind(index, text)
    case .blob(let bytes): try bind(index, bytes)
    }
  }

  package func value(_ column: Int) -> ColumnValue {
    switch type(column) {
    case .null: .null
    case .integer: .integer(integer(column))
    case .float: .real(double(column))
    case .text: .text(text(column))
    case .blob: .blob(bytes(column))
    }
  }

  /// Returns the record id in a column.
  package func recordID(_ column: Int) throws -> RecordID {
    guard let (high, low) = words16(column) else { throw StoreError.damaged("the id of a record is invalid") }
    return RecordID(Bytes16(high, low))
  }
}
