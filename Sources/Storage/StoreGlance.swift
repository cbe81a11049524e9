// Protocol/store.md, "Backups"

import SQLite
package import Wire

/// What a store holds, seen without opening it for work: of one that is about to be replaced, and may be damaged.
package struct StoreGlance: Sendable {
  package let statements: [[UInt8]]
  package let changeSetIDs: Set<ChangeSetID>
  private let values: [String: [UInt8]]

  package init(path: String) throws {
    let connection = try Connection(.existingFileReadOnly(path))
    try connection.setUpReadOnly()
    statements = try connection.with("SELECT bytes FROM statements ORDER BY id") { row in
      var result: [[UInt8]] = []
      while try row.step() { result.append(row.bytes(0)) }
      return result
    }
    changeSetIDs = try connection.with("SELECT id FROM change_sets") { row in
      var result: Set<ChangeSetID> = []
      while try row.step() {
        guard let id = ChangeSetID(bytes: row.bytes(0)) else { throw StoreError.damaged("a change set's id") }
        result.insert(id)
      }
      return result
    }
    values = try connection.with("SELECT key, value FROM meta WHERE key LIKE 'node.%'") { row in
      var result: [String: [UInt8]] = [:]
      while try row.step() { result[row.text(0)] = row.bytes(1) }
      return result
    }
  }

  /// What the node keeps under a name.
  package func meta(_ key: String) -> [UInt8]? { values["node." + key] }
}
