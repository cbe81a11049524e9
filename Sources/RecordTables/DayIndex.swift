// Sources/store.md, "What is derived"

import Records
import Replication
import SQLite

/// Manages the index of habit entries by habit and day. The index is dropped while very many entries arrive, and
/// rebuilt when the store is idle.
///
/// The keys arrive in random order, so once the index exceeds the page cache, each new entry dirties a different page.
/// Rebuilding the whole index afterwards takes only one sort. While the index is missing, queries by habit and day scan
/// all entries.
package struct DayIndex {
  /// Whether the index is dropped and must be rebuilt when the store is idle.
  package private(set) var isAway: Bool
  /// The number of entries folded since the store was last idle.
  private var recent = 0
  private let connection: Connection

  init(_ connection: Connection) throws {
    self.connection = connection
    isAway = try connection.with("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1") { row in
      try row.bind(1, Self.index.name)
      return try !row.step()
    }
  }

  package static let index: (name: String, sql: String) = {
    guard let index = RecordSchema.parentIndex(Kind.habitEntry) else {
      preconditionFailure("the kind of habit entries has no parent")
    }
    return index
  }()

  /// Drops the index, in the current transaction, if so many entries arrive that rebuilding the index later costs less
  /// than updating it.
  mutating func makeWay(for set: VerifiedChangeSet) throws {
    guard !isAway else { return }
    recent += set.body.entries.count { $0.key.kind == KindNumbers.habitEntry }
    guard recent >= Self.manyLogs, try recent >= logs() / 4 else { return }
    try connection.execute("DROP INDEX \(Self.index.name)")
    isAway = true
  }

  /// If the index was dropped, rebuilds it in a transaction of its own.
  package mutating func bringBack() throws {
    recent = 0
    guard isAway else { return }
    let isSmall = try logs() <= Self.logsInMemory
    // A large index is sorted in temporary files or, if there is no room for them, in memory.
    if isSmall || (try? connection.sortingInFiles(make)) == nil { try make() }
    isAway = false
  }

  private func make() throws { try connection.transaction { try connection.execute(Self.index.sql) } }

  private func logs() throws -> Int {
    try connection.with("SELECT sum(live) FROM child_counts WHERE kind = ?1") { row in
      try row.bind(1, Int(KindNumbers.habitEntry.rawValue))
      return try row.step() ? Int(row.integer(0)) : 0
    }
  }

  private static let manyLogs = 16_384
  /// Up to this number of entries, the index is sorted in memory, which takes about 80 bytes per entry.
  private static let logsInMemory = 20_000
}
