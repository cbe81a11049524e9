// Protocol/store.md, "What is derived"

import Records
import Replication
import SQLite

/// The index of a habit's logs by day, which stays away while very many logs come in.
///
/// Its places are random in whatever order logs come: beyond the cache of pages each new log would write a page of
/// its own, while making the index once, at the end, sorts. Meanwhile a habit's days are found by reading all logs.
struct DayIndex {
  /// Whether it is to be made in a quiet moment.
  private(set) var isAway: Bool
  /// Logs that came in since the last quiet moment.
  private var recent = 0
  private let connection: Connection

  init(_ connection: Connection) throws {
    self.connection = connection
    isAway = try connection.with("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1") { row in
      try row.bind(1, Self.index.name)
      return try !row.step()
    }
  }

  static let index: (name: String, sql: String) = {
    guard let index = Schema.parentIndex(Registry.habitEntry) else {
      preconditionFailure("a log belongs to a habit")
    }
    return index
  }()

  /// Takes the index away, in the transaction under way, if so much comes in that making it again costs less.
  mutating func makeWay(for set: VerifiedChangeSet) throws {
    guard !isAway else { return }
    recent += set.body.entries.count { $0.key.kind == KindNumbers.habitEntry }
    guard recent >= Self.manyLogs, try recent >= logs() / 4 else { return }
    try connection.execute("DROP INDEX \(Self.index.name)")
    isAway = true
  }

  /// Makes the index again if it is away, in a transaction of its own.
  mutating func bringBack() throws {
    recent = 0
    guard isAway else { return }
    let isSmall = try logs() <= Self.logsInMemory
    // In memory also where there is no place for temporary files.
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
  /// Sorting takes about 80 bytes for each.
  private static let logsInMemory = 20_000
}
