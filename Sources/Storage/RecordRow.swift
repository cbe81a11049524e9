// Sources/store.md, "Rows"

import RecordTables
import Records
package import Replication
import SQLite
package import Wire

/// A record as read from the store.
package struct RecordRow: Sendable {
  package let key: RecordKey
  /// Whether the record is alive; nil if its life was never written, in which case it is not visible.
  package let life: Bool?
  /// Whether the record is alive and its parent, if its kind has one, is visible.
  package let isVisible: Bool
  /// The written fields whose value has the registered type, nulls included; for an unknown kind, all fields.
  package let fields: [FieldNumber: Value]
  /// Unknown fields, and fields whose value has an unexpected type. They are kept, but read as absent.
  package let unread: [FieldNumber: Value]
  let stamps: Stamps

  /// The value of a field; nil if it is absent or null.
  package subscript(field: FieldNumber) -> Value? {
    guard let value = fields[field], value != .null else { return nil }
    return value
  }

  package var isAlive: Bool { life == true }

  /// All values except nulls, including those that this version does not understand.
  package var allFields: [FieldNumber: Value] {
    fields.filter { $0.value != .null }.merging(unread) { known, _ in known }
  }

  /// Whether the record is a seed that no device has written.
  package var isUntouchedSeed: Bool { stamps.cells.allSatisfy { $0.number == 0 } }
}

/// Returns whether two values are the same content of a cell. A null equals an absent value.
package func isSame(_ left: Value, _ right: Value?) -> Bool {
  let right = right ?? .null
  return left == right && left.encoded == right.encoded
}

extension EntryDraft {
  /// Returns the entries that write fields to a record: an insert if the record is new, otherwise a put (unless there
  /// are no fields), followed by a restore if the record is dead.
  package static func putting(
    _ key: RecordKey, _ fields: [(field: FieldNumber, value: Value)], on held: RecordRow?
  ) -> [EntryDraft] {
    guard let held else { return [EntryDraft(.insert, key, fields)] }
    let put = fields.isEmpty ? [] : [EntryDraft(.put, key, fields)]
    return held.isAlive ? put : put + [EntryDraft(.restore, key)]
  }
}

extension RecordRow {
  /// Reads the current row of a statement that selects `RecordTable.fixedColumns`, the kind's columns, and
  /// visibility.
  init(_ statement: borrowing Statement, _ number: KindNumber, _ kind: Kind?) throws {
    key = RecordKey(kind: number, id: try statement.recordID(0))
    life = statement.isNull(1) ? nil : statement.integer(1) != 0
    stamps = try Stamps(packed: statement.bytes(2))
    var column = RecordTable.fixedColumns.count
    var extra: [FieldNumber: Value] = [:]
    if !statement.isNull(3) {
      extra = try decodedFields(statement.bytes(3)).mapValues { try Value(encoded: $0[...]) }
    }
    var fields = kind == nil ? extra : Dictionary(minimumCapacity: kind?.fields.count ?? 0)
    for field in kind?.fields ?? [] {
      let range = column..<column + field.columns.count
      column = range.upperBound
      guard stamps[field.number] != nil, extra[field.number] == nil else { continue }
      fields[field.number] =
        range.count == 1
        ? field.type.value(from: statement.value(range.lowerBound))
        : field.type.value(from: range.map { statement.value($0) }[...])
    }
    self.fields = fields
    unread = kind == nil ? [:] : extra
    isVisible = statement.integer(column) != 0
  }
}
