// Sources/store.md, "What is derived"

import LogStorage
package import RecordTables
import Records
import SQLite

extension Store {
  /// Rebuilds the record tables by folding the whole log again.
  @discardableResult
  package func rebuild() throws -> CommitReport {
    try atomically {
      try Derived.create(connection, schema, keeping: StoreLayout.keptTables)
      try fold.reload()
      var report = CommitReport()
      try Self.refold(connection, fold, &damage, &report)
      try finish(&report)
      return report
    }
  }

  /// Creates the tables of this version and folds everything into them, in one transaction. Until it commits, the
  /// tables of the preceding version stay.
  static func newTables(
    _ connection: Connection, _ logs: ChangeSetLogs, _ apps: [KnownApp], _ damage: inout DamagedSets
  ) throws -> Fold {
    let schema = Schema(apps)
    return try connection.transaction {
      try keep(apps, connection)
      try Derived.create(connection, schema, keeping: StoreLayout.keptTables)
      let fold = try Fold(connection, logs, schema)
      var report = CommitReport()
      try refold(connection, fold, &damage, &report)
      try fold.finish(&report)
      try damage.save(connection)
      return fold
    }
  }

  /// Folds all sets marked as folded into empty tables. Damaged sets are skipped and remembered.
  private static func refold(
    _ connection: Connection, _ fold: Fold, _ damage: inout DamagedSets, _ report: inout CommitReport
  ) throws {
    for number in try foldedNumbers(connection) {
      let place = try fold.causality.place(number)
      do {
        try fold.fold(try ChangeSetLogs.storedSet(number, connection), at: place, into: &report)
      } catch StoreError.damagedSet {
        damage.add(DamagedSet(place, isUnfolded: true))
      }
    }
  }

  private static func foldedNumbers(_ connection: Connection) throws -> [Int64] {
    try connection.with("SELECT number FROM change_sets WHERE folded = 1 ORDER BY number") { row in
      var numbers: [Int64] = []
      while try row.step() { numbers.append(row.integer(0)) }
      return numbers
    }
  }
}
