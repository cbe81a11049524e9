package import FileFormat
package import LogStorage
package import Replication
package import Wire

/// The result of a commit.
package struct CommitReport: Sendable {
  /// The placement of each set, in the order in which the sets were given.
  package var placements: [Placement] = []
  /// The number of sets placed, by lane.
  package var placed: [Lane: Int] = [:]
  /// The heads that moved, sorted by log. For a forked log, the heads of branches that did not move are not listed.
  package var heads: [LogHead] = []
  /// The heads that were replaced, as they were before, sorted by log.
  package var goneHeads: [LogHead] = []
  package var settingsDigest = Digest.empty
  package var recordsDigest = Digest.empty
  /// The kinds whose records may have changed, or may have become visible or hidden.
  package var kinds: Set<KindNumber> = []
  /// The records that were written; nil if there were more than `recordsMax`.
  package var records: Set<RecordKey>? = []
  /// For each author, the newest clock among the sets folded in this commit.
  package var foldedClocks: [DeviceKey: Clock] = [:]
  /// The numbers of the first sets folded in this commit, at most `foldedNumbersMax`, and how many sets were folded.
  package private(set) var foldedNumbers: [Int64] = []
  package private(set) var foldedCount = 0
  /// The clock of the parked set that is due first; nil if nothing is parked.
  package var nextParkedClock: Clock?
  package var entries: [KindNumber: EntryCounts] = [:]
  /// Files that records or siblings named before the commit and may not name any more, or name only in the trash.
  package var formerFiles: Set<FileReference> = []
  /// Records that can name files and may have become visible or hidden, because a record that they belong to did.
  package var owned: Set<RecordKey> = []
  /// Records of known kinds that were alive before the commit and are dead after it.
  package internal(set) var deaths: [RecordKey: Death] = [:]

  /// The number of entries for one kind, by type.
  package struct EntryCounts: Hashable, Sendable {
    package var inserts = 0
    package var edits = 0
    package var deletes = 0
    package var restores = 0

    package init(inserts: Int = 0, edits: Int = 0, deletes: Int = 0, restores: Int = 0) {
      (self.inserts, self.edits) = (inserts, edits)
      (self.deletes, self.restores) = (deletes, restores)
    }

    var count: Int { inserts + edits + deletes + restores }
  }

  /// Newly found forks: two different sets at the same position of a log.
  package var forks: [Fork] = []

  /// Trees of which more than the permitted branches are stored.
  package var excessiveTrees: Set<LogTree> = []

  /// Whether the logs were rebuilt. If so, heads that are not listed here may be gone.
  package var isRebuilt = false

  /// Damaged sets whose bytes were replaced.
  package var repaired: [DamagedSet] = []

  /// The number of stored sets that lost values to an erase.
  package var redactedSets = 0

  /// The number of missing slots whose values have arrived.
  package private(set) var filledSlots = 0

  package static let recordsMax = 1_000
  private static let foldedNumbersMax = 32

  package init() {}

  package var entryCount: Int { entries.values.reduce(0) { $0 + $1.count } }

  package var foldedAnything: Bool { !foldedClocks.isEmpty }

  /// Whether the values of records may have changed.
  package var changedValues: Bool { foldedAnything || filledSlots > 0 }

  /// Notes that missing values of a record have arrived.
  mutating func filled(_ record: RecordKey) {
    filledSlots += 1
    kinds.insert(record.kind)
    touch(record)
  }

  mutating func folded(_ set: VerifiedChangeSet, at number: Int64) {
    let (body, header) = (set.body, set.header)
    foldedCount += 1
    if foldedNumbers.count < Self.foldedNumbersMax { foldedNumbers.append(number) }
    // Entries are sorted by kind, so dictionaries are accessed once per kind and not once per entry.
    var run: (kind: KindNumber, counts: EntryCounts)?
    for entry in body.entries {
      if run?.kind != entry.key.kind {
        add(run)
        run = (entry.key.kind, EntryCounts())
      }
      run?.counts.add(entry, life: body.life(writtenBy: entry))
      touch(entry.key)
    }
    add(run)
    let known = foldedClocks[header.log.device] ?? .zero
    foldedClocks[header.log.device] = max(known, header.clock)
  }
}

extension CommitReport {
  /// Notes that the values of a record have changed although no set was folded.
  package mutating func changed(_ record: RecordKey) {
    kinds.insert(record.kind)
    touch(record)
  }

  private mutating func touch(_ record: RecordKey) {
    guard let count = records?.count else { return }
    if count < Self.recordsMax { records?.insert(record) } else { records = nil }
  }

  private mutating func add(_ run: (kind: KindNumber, counts: EntryCounts)?) {
    guard let run else { return }
    kinds.insert(run.kind)
    entries[run.kind, default: EntryCounts()].add(run.counts)
  }
}

extension CommitReport.EntryCounts {
  fileprivate mutating func add(_ entry: Entry, life: Bool?) {
    switch entry.type {
    case .insert: inserts += 1
    case .put: edits += 1
    case .delete: deletes += 1
    case .restore: restores += 1
    // An erase next to an insert leaves the record alive.
    case .erase: deletes += life == false ? 1 : 0
    }
  }

  fileprivate mutating func add(_ other: Self) {
    inserts += other.inserts
    edits += other.edits
    deletes += other.deletes
    restores += other.restores
  }
}

/// The death of a record, as the numbers of two sets.
package struct Death {
  /// The set that had brought the record to life.
  package let since: Int64
  /// The set that deleted it.
  package let by: Int64
}

/// Two sets that one device wrote for the same position of one log.
package struct Fork: Sendable {
  package let set: VerifiedChangeSet
  /// The set that was stored first.
  package let sibling: VerifiedChangeSet

  package init(set: VerifiedChangeSet, sibling: VerifiedChangeSet) {
    (self.set, self.sibling) = (set, sibling)
  }
}
