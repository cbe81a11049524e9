import RecordTables
package import Replication

/// Where a revision of the watch registry came from.
package enum ChangeSource: Sendable {
  /// A commit that changed records.
  case commit(RecentCommits.Commit)
  /// Commits that are not remembered any more.
  case formerCommits
  /// The state of the node.
  case node
  /// Something that may have changed everything, such as a rebuild.
  case everything
}

/// The newest commits that changed records, so that a watcher can explain what woke it.
///
/// A commit is remembered by the numbers of its change sets. They become operations, records and fields only when a
/// watcher asks for them, so remembering costs the same for every commit, and little.
package struct RecentCommits: Sendable {
  private var commits: [Commit] = []
  /// The revision of the newest commit that was forgotten.
  private var forgotten: UInt64 = 0

  package struct Commit: Sendable {
    package let revision: UInt64
    package let kinds: Set<KindNumber>
    /// The numbers of the commit's first change sets.
    package let numbers: [Int64]
    /// How many change sets the commit folded; 0 if values of records changed without one.
    package let count: Int
    /// The first records that changed without a change set; empty if there is one.
    package let records: [RecordKey]
    /// How many records changed without a change set; nil if there were too many to count.
    package let recordCount: Int?
  }

  mutating func add(_ report: CommitReport, _ revision: UInt64) {
    let records = report.foldedCount == 0 ? report.records?.sorted() ?? [] : []
    commits.append(
      Commit(
        revision: revision, kinds: report.kinds, numbers: report.foldedNumbers, count: report.foldedCount,
        records: Array(records.prefix(Self.recordsMax)), recordCount: report.records?.count))
    guard commits.count > Self.commitsMax else { return }
    // Half of them are forgotten together, so that adding a commit moves few others.
    let gone = commits.count / 2
    forgotten = commits[gone - 1].revision
    commits.removeFirst(gone)
  }

  /// Returns the commits after a revision that changed topics, newest first.
  func sources(of topics: Set<Topic>, since revision: UInt64) -> [ChangeSource] {
    let kinds = topics.compactMap(\.kind)
    guard topics.contains(.records) || !kinds.isEmpty else { return [] }
    var found = commits.reversed().prefix { $0.revision > revision }.filter { commit in
      topics.contains(.records) || kinds.contains(where: commit.kinds.contains)
    }.map(ChangeSource.commit)
    if forgotten > revision { found.append(.formerCommits) }
    return found
  }

  private static let commitsMax = 128
  private static let recordsMax = 16
}
