package import Replication
package import Wire

/// What a commit changed.
package struct CommitReport: Sendable {
  /// What became of each set, in the order given.
  package var placements: [Placement] = []
  /// How many sets of each lane got a place.
  package var placed: [Lane: Int] = [:]
  /// Heads that moved, in order of logs.
  package var heads: [LogHead] = []
  package var settingsDigest = Digest.empty
  package var recordsDigest = Digest.empty
  /// Kinds whose records, or what of them is visible, may have changed.
  package var kinds: Set<KindNumber> = []
  /// The records written, as long as they are few; nil if they were too many to name.
  package var records: Set<RecordKey>? = []
  /// The newest clock folded by each author.
  package var foldedClocks: [DeviceKey: Clock] = [:]
  package var entries: [KindNumber: EntryCounts] = [:]
  /// Records of known kinds that were alive before and are dead now.
  var deaths: [RecordKey: Death] = [:]

  /// How many records of one kind were written, and how.
  package struct EntryCounts: Hashable, Sendable {
    package var inserts = 0
    package var edits = 0
    package var deletes = 0
    package var restores = 0
  }

  /// Forks that came to light: a log has two sets for one place.
  package var forks: [Fork] = []

  /// Cuts have changed what is stored: heads that are not named here may be gone.
  package var isLaidOutAnew = false

  package static let recordsMax = 1_000

  package init() {}

  package var foldedAnything: Bool { !foldedClocks.isEmpty }

  mutating func touch(_ record: RecordKey) {
    kinds.insert(record.kind)
    guard let count = records?.count else { return }
    if count < Self.recordsMax { records?.insert(record) } else { records = nil }
  }

  mutating func count(_ entry: Entry, insert: Bool) {
    switch entry.type {
    case .put where insert: entries[entry.key.kind, default: EntryCounts()].inserts += 1
    case .put: entries[entry.key.kind, default: EntryCounts()].edits += 1
    case .delete: entries[entry.key.kind, default: EntryCounts()].deletes += 1
    case .restore: entries[entry.key.kind, default: EntryCounts()].restores += 1
    }
  }

  mutating func folded(_ header: ChangeSetHeader) {
    let known = foldedClocks[header.log.device] ?? .zero
    foldedClocks[header.log.device] = max(known, header.clock)
  }
}

/// The end of a record's life, in numbers of sets.
struct Death {
  /// The set that had given it life.
  let since: Int64
  /// The set that deleted it.
  let by: Int64
}

/// Two sets that one device wrote for the same place of one log.
package struct Fork: Sendable {
  package let set: VerifiedChangeSet
  /// The one that was here before.
  package let sibling: VerifiedChangeSet
}
