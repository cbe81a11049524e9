// Sources/store.md, "Log"

import Replication
package import SQLite

/// The bytes of a change set as columns of a table.
extension RawChangeSet {
  /// The names of the columns, in the order in which `init(_:at:)` reads and `bind(to:at:)` binds them.
  package static let columnNames = ["header", "signature", "plan", "field_values"]

  /// The same names as a list for SQL.
  package static let columns = columnNames.joined(separator: ", ")

  /// Reads the columns of a row, of which the header is the given one.
  package init(_ row: borrowing Statement, at column: Int) {
    self.init(
      header: row.bytes(column), signature: row.bytes(column + 1), plan: row.bytes(column + 2),
      values: row.bytes(column + 3))
  }

  /// Binds the columns to consecutive parameters, of which the header is the given one.
  package func bind(to row: borrowing Statement, at index: Int) throws(SQLiteError) {
    try row.bind(index, header)
    try row.bind(index + 1, signature)
    try row.bind(index + 2, plan)
    try row.bind(index + 3, values)
  }
}
