package import Replication
package import Wire

/// What a commit changed.
package struct CommitReport: Sendable {
  /// What became of each set, in the order given.
  package var placements: [Placement] = []
  /// How many sets of each lane got a place.
  package var placed: [Lane: Int] = [:]
  /// Heads that moved, in order of logs. Of a log that forked the heads of other branches are not named.
  package var heads: [LogHead] = []
  /// Heads that are no more, in order of logs: those that moved, as they were before.
  package var goneHeads: [LogHead] = []
  package var settingsDigest = Digest.empty
  package var recordsDigest = Digest.empty
  /// Kinds whose records, or what of them is visible, may have changed.
  package var kinds: Set<KindNumber> = []
  /// The records written, as long as they are few; nil if they were too many to name.
  package var records: Set<RecordKey>? = []
  /// The newest clock folded by each author.
  package var foldedClocks: [DeviceKey: Clock] = [:]
  /// The clock of the parked set that is due first; nil if nothing is parked.
  package var nextParkedClock: Clock?
  package var entries: [KindNumber: EntryCounts] = [:]
  /// Records of known kinds that were alive before and are dead now.
  var deaths: [RecordKey: Death] = [:]

  /// How many records of one kind were written, and how.
  package struct EntryCounts: Hashable, Sendable {
    package var inserts = 0
    package var edits = 0
    package var deletes = 0
    package var restores = 0

    var count: Int { inserts + edits + deletes + restores }
  }

  /// Forks that came to light: a log has two sets for one place.
  package var forks: [Fork] = []

  /// Cuts have changed what is stored: heads that are not named here may be gone.
  package var isRebuilt = false

  /// Damaged sets whose bytes were replaced.
  package var repaired: [DamagedSet] = []

  package static let recordsMax = 1_000

  package init() {}

  package var entryCount: Int { entries.values.reduce(0) { $0 + $1.count } }

  package var foldedAnything: Bool { !foldedClocks.isEmpty }

  mutating func folded(_ set: VerifiedChangeSet) {
    let (body, header) = (set.body, set.header)
    // Entries stand in order of kinds: tables are looked at once a kind, not once an entry.
    var run: (kind: KindNumber, counts: EntryCounts)?
    for entry in body.entries {
      if run?.kind != entry.key.kind {
        add(run)
        run = (entry.key.kind, EntryCounts())
      }
      run?.counts.add(entry, isInsert: body.isInsert(entry))
      touch(entry.key)
    }
    add(run)
    let known = foldedClocks[header.log.device] ?? .zero
    foldedClocks[header.log.device] = max(known, header.clock)
  }
}

extension CommitReport {
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
  fileprivate mutating func add(_ entry: Entry, isInsert: Bool) {
    switch entry.type {
    case .put where isInsert: inserts += 1
    case .put: edits += 1
    case .delete: deletes += 1
    case .restore: restores += 1
    }
  }

  fileprivate mutating func add(_ other: Self) {
    inserts += other.inserts
    edits += other.edits
    deletes += other.deletes
    restores += other.restores
  }
}

extension ChangeSetBody {
  /// Whether an entry gives a record its first life.
  func isInsert(_ entry: Entry) -> Bool {
    entry.type == .put && cells[entry.cells.lowerBound].field == Fields.life
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
