// Protocol/store.md, "What is derived"

import Replication
import SQLite
import Wire

extension Store {
  /// Folds the whole log again into emptied record tables: after the registry has grown.
  @discardableResult
  package func rebuild() throws -> CommitReport {
    try atomically {
      try Derived.create(connection)
      try fold.reload()
      var report = CommitReport()
      for number in try foldedNumbers() {
        try fold.fold(try storedSet(number), at: try fold.causality.place(number), into: &report)
      }
      try finish(&report)
      return report
    }
  }

  private func foldedNumbers() throws -> [Int64] {
    try connection.with("SELECT number FROM change_sets WHERE folded = 1 ORDER BY number") { row in
      var numbers: [Int64] = []
      while try row.step() { numbers.append(row.integer(0)) }
      return numbers
    }
  }
}
