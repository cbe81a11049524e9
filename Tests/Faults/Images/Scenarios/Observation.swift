import Replication
import SQLite
import Sodium
import Storage
import Verification
import VirtualDisk
import Wire

/// The whole content of a store and its in-memory state, as one hash: equal if and only if these are equal.
struct Observation: Hashable, Sendable, CustomStringConvertible {
  private let hash: Bytes32
  private let heads: String

  var description: String { "\(hash) with \(heads)" }

  init(_ store: Store, on volume: Volume, path: String) throws {
    let reader = try Connection(on: volume, path, isReadOnly: true)
    try reader.setUpReadOnly()
    var hash = Blake2b256()
    for table in try Self.tables(reader) {
      hash.update(Array(table.utf8))
      // Each value is hashed with its length, so that the end of a row cannot be confused with the start of the next.
      try reader.with("SELECT * FROM \(table)") { row in
        while try row.step() {
          for column in 0..<row.columnCount {
            let bytes = row.isNull(column) ? [0] : row.bytes(column)
            hash.update(bigEndian: UInt32(truncatingIfNeeded: bytes.count))
            hash.update(bytes)
          }
        }
      }
    }
    heads = Lane.allCases.map { lane in
      let heads = store.heads(lane).map { "\($0.sequence)/\($0.foldedSequence)" }.joined(separator: " ")
      return "\(lane): \(heads)"
    }.joined(separator: ", ")
    for lane in Lane.allCases {
      hash.update(store.digest(lane).sum.bytes)
      for head in store.heads(lane) { hash.update(Array("\(head)".utf8)) }
    }
    let words = hash.finish()
    self.hash = Bytes32(words.0, words.1, words.2, words.3)
  }

  /// The tables of the text index depend on its history. The deep verification compares what is in it.
  private static func tables(_ reader: Connection) throws -> [String] {
    let sql = """
      SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
        AND name NOT GLOB 'text_*' ORDER BY name
      """
    return try reader.with(sql) { row in
      var names: [String] = []
      while try row.step() { names.append(row.text(0)) }
      return names
    }
  }
}

extension Stage {
  func observe() throws -> Observation { try Observation(store, on: volume, path: Self.path) }

  /// The result of SQLite's integrity check; nil if the file is sound.
  func damage() throws -> String? {
    let reader = try Connection(on: volume, Self.path, isReadOnly: true)
    try reader.setUpReadOnly()
    return try reader.with("PRAGMA integrity_check") { row in
      guard try row.step() else { return "no answer" }
      return row.text(0) == "ok" ? nil : row.text(0)
    }
  }

  /// The findings of a deep verification; nil if the tables match the log.
  func findings() throws -> String? {
    let report = try DeepVerification.run(on: volume, path: Self.path)
    return report.isClean ? nil : report.findings.map { "\($0.location): \($0.text)" }.joined(separator: "; ")
  }
}
