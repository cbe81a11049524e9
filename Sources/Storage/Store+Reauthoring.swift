// Protocol/change-set.md, "Re-authoring"

import LogStorage
package import Membership
package import RecordTables
package import Replication
import SQLite
package import Wire

// Re-authoring: writing the last sets of one of our own logs again, in a log of another incarnation.
//
// Two situations require it:
//
//                      restamp                                prevented fork
//     situation        our clock ran ahead, and the sets      our data is an old copy: a peer sends another
//                      have future clocks                     set for the position of a withheld one
//     old sets         quarantined by a log cut               deleted; no other device has seen them
//     new clocks       wall clock, ascending over both lanes  unchanged
//     whole records    a future time of change becomes now    unchanged
//
//     before    old log    s1 ── s2 ── s3 ── s4        s3 and s4 have to move
//     after     old log    s1 ── s2                     ends at the tip s2
//               new log     n1 ── n2                    n1: body and operation of s3, n2: of s4
//
// The sets move in the order of their clocks. Each is newly signed, with the same operation, verb, target and entries.
// n1 declares as dependencies the sets that s3 had seen, including s2; a set that is no longer stored or not folded
// here is replaced by its newest ancestor that is both, if there is one. n2 declares only what s4 had seen in addition.
// Thus concurrent writes stay concurrent, and re-authoring neither creates a conflict nor hides one.
//
// The steps, all in one transaction: read the outgoing sets and what they had seen, while the old rows still exist;
// apply the cut or delete the sets; rebuild the logs; sign and fold the new sets; let the caller store the new
// incarnation. If any step fails, the transaction rolls back and the previous cut rule is restored. With separate
// transactions, a crash between two of them could lose the sets or leave them in the store twice.

/// One of our own logs that ends; the sets after its end are re-authored in another log.
package struct EndedLog: Hashable, Sendable {
  package let log: LogKey
  /// The newest set that remains; nil if no set remains.
  package let tip: LogHead?

  package init(log: LogKey, tip: LogHead?) {
    self.log = log
    self.tip = tip
  }
}

/// How to re-author our own sets.
package struct Reauthoring {
  package enum Time: Sendable {
    /// The sets keep their clocks, because no other device has seen them.
    case asWritten
    /// The sets get the present time, because they were written while the clock was ahead.
    case now(Moment)
  }

  package let circle: CircleID
  package let ended: [EndedLog]
  package let incarnation: Incarnation
  package let time: Time
  /// Returns what the circle's statements admit of a log once the logs are cut. Nil if the old sets are deleted
  /// instead, because no other device has seen them.
  package let admission: ((LogKey) -> Admission)?
  /// The clock up to which sets of other devices are folded; those with later clocks are parked.
  package let horizon: Clock
  /// Decides which erases of other devices are held.
  package let holding: EraseHolding?

  package init(
    circle: CircleID, ended: [EndedLog], incarnation: Incarnation, time: Time,
    admission: ((LogKey) -> Admission)?, horizon: Clock, holding: EraseHolding? = nil
  ) {
    self.circle = circle
    self.ended = ended
    self.incarnation = incarnation
    self.time = time
    self.admission = admission
    self.horizon = horizon
    self.holding = holding
  }
}

extension Store {
  /// Ends some of our own logs, and re-authors the sets after their ends in the logs of another incarnation. The new
  /// sets have the same operations with the same entries, in the same order and with the same causal past.
  ///
  /// - Parameters:
  ///   - author: returns the author that signs the sets of a log, given the log's position.
  ///   - noting: called with the report, to store further values in the same transaction.
  package func reauthor(
    _ reauthoring: Reauthoring, by author: (AuthorPosition) -> Author, noting: (CommitReport) throws -> Void
  ) throws -> CommitReport {
    let rule = logs.cutRule
    do {
      return try atomically(reauthoring.holding) {
        let outgoing = try outgoing(reauthoring)
        if let admission = reauthoring.admission {
          logs.cutRule = { LogEnd(admission($0)) }
          logs.cuts = [:]
        } else {
          try delete(places(behind: reauthoring.ended).map(\.number))
        }
        var report = try rebuildLogs(reauthoring.horizon)
        if reauthoring.admission != nil { try noteAppliedCuts() }
        try append(outgoing, reauthoring, author, &report)
        try finish(&report)
        report.isRebuilt = true
        try noting(report)
        return report
      }
    } catch {
      logs.cutRule = rule
      logs.cuts = [:]
      throw error
    }
  }

  /// Returns the number of sets after the ends of the given logs.
  package func countBehind(_ ended: [EndedLog]) throws -> Int { try places(behind: ended).count }

  // MARK: Outgoing sets

  private struct Outgoing {
    let number: Int64
    let set: VerifiedChangeSet
    /// The remaining sets that this set had seen, except those that earlier outgoing sets had also seen.
    let seen: [Dependency]
  }

  private struct OutgoingPosition {
    let number: Int64
    let branch: Int64
    let sequence: Int64
    let lane: Lane
    let clock: Clock
    let id: ChangeSetID
  }

  /// Returns, for each branch of the ended logs, the newest sequence that remains; if nothing of the branch remains,
  /// the sequence before its first set.
  private func staying(_ ended: [EndedLog]) throws -> [Int64: UInt64] {
    var newest: [Int64: UInt64] = [:]
    for end in ended {
      for branch in logs[end.log] { newest[branch.number] = branch.first - 1 }
      guard let tip = end.tip else { continue }
      guard let branch = try logs.branch(of: tip.id, end.log, tip.sequence) else {
        throw StoreError.damaged("the last set of an ended log is missing")
      }
      for stretch in logs.path(branch.number, through: tip.sequence) { newest[stretch.branch] = stretch.last }
    }
    return newest
  }

  /// Returns the sets after the ends of logs, sorted by clock, so that they are re-authored in the order in which they
  /// were written.
  private func places(behind ended: [EndedLog]) throws -> [OutgoingPosition] {
    var found: [OutgoingPosition] = []
    for (branch, newest) in try staying(ended) {
      guard let lane = logs[branch: branch]?.log.lane else { continue }
      let sql = "SELECT number, sequence, clock, id FROM change_sets WHERE branch = ?1 AND sequence > ?2"
      try connection.with(sql) { row in
        try row.bind(1, branch)
        try row.bind(2, Int64(bitPattern: newest))
        while try row.step() {
          guard let id = ChangeSetID(bytes: row.bytes(3)) else {
            throw StoreError.damaged("the id of a change set is invalid")
          }
          found.append(
            OutgoingPosition(
              number: row.integer(0), branch: branch, sequence: row.integer(1), lane: lane,
              clock: Clock(raw: UInt64(bitPattern: row.integer(2))), id: id))
        }
      }
    }
    return found.sorted { ($0.clock, $0.id) < ($1.clock, $1.id) }
  }

  private func outgoing(_ reauthoring: Reauthoring) throws -> [Outgoing] {
    let staying = try staying(reauthoring.ended)
    var declared: [Int64: UInt64] = [:]
    return try places(behind: reauthoring.ended).compactMap { place in
      // A damaged set can't be re-authored.
      guard let set = try intactSet(place.number) else { return nil }
      let below = try seenBelowCuts(set.header)
      var seen: [Dependency] = []
      for branch in logs.branches(place.lane) {
        let known = try fold.causality.newestSeen(place.branch, sequence: place.sequence, of: branch.number)
        let newest = min(
          max(UInt64(bitPattern: known), below[branch.number] ?? 0), staying[branch.number] ?? .max)
        guard newest >= branch.first, newest > declared[branch.number] ?? 0,
          let id = try id(branch.number, newest)
        else { continue }
        declared[branch.number] = newest
        seen.append(
          Dependency(
            device: branch.log.device, incarnation: branch.log.incarnation, sequence: newest, id: id))
      }
      return Outgoing(number: place.number, set: set, seen: seen)
    }
  }

  /// Returns the id of the set at a sequence of a branch, excluding the branch's parents; nil if there is none.
  func id(_ branch: Int64, _ sequence: UInt64) throws -> ChangeSetID? {
    try connection.with("SELECT id FROM change_sets WHERE branch = ?1 AND sequence = ?2") { row in
      try row.bind(1, branch)
      try row.bind(2, Int64(bitPattern: sequence))
      return try row.step() ? ChangeSetID(bytes: row.bytes(0)) : nil
    }
  }

  private func delete(_ numbers: [Int64]) throws {
    noteRemoval()
    try connection.with("DELETE FROM change_sets WHERE number = ?1") { row in
      for number in numbers {
        try row.bind(1, number)
        try row.run()
      }
    }
  }

  // MARK: New sets

  private func append(
    _ outgoing: [Outgoing], _ reauthoring: Reauthoring, _ author: (AuthorPosition) -> Author,
    _ report: inout CommitReport
  ) throws {
    guard let device = outgoing.first?.set.header.log.device else { return }
    var authors = try Dictionary(
      uniqueKeysWithValues: Lane.allCases.map { lane in
        let log = LogKey(device: device, incarnation: reauthoring.incarnation, lane: lane)
        return (lane, author(try position(of: log, reauthoring.circle)))
      })
    var dates = WholeRecordDates(time: reauthoring.time, horizon: reauthoring.horizon)
    // The clocks ascend across both lanes, as those of the original sets did.
    var least = Clock.zero
    for item in outgoing {
      let set = item.set
      let log = LogKey(device: device, incarnation: reauthoring.incarnation, lane: set.header.log.lane)
      let operation = OperationDraft(id: set.header.operation, verb: set.body.verb, target: set.body.target)
      guard let seed = authors[log.lane]?.seed else { continue }
      let dated = try dates.date(set, operation, seed: seed) { try timeOfChange(of: $0) ?? 0 }
      let sets = try authors[log.lane]?.write(
        again: dated.contents, of: operation, seen: try dependencies(item.seen, for: log),
        least: max(dated.least, least))
      for set in sets ?? [] {
        try take(set, &report)
        if case .now = reauthoring.time { least = set.header.clock.next }
      }
    }
  }

  private func position(of log: LogKey, _ circle: CircleID) throws -> AuthorPosition {
    let own = logs[log].first
    return AuthorPosition(
      circle: circle, log: log, sequence: own?.sequence ?? 0,
      id: own?.head.id, clock: own?.head.clock ?? .zero, logBytes: own?.head.logBytes ?? 0, unseen: [],
      logBytesMax: logs.bytesMax(log))
  }

  /// Returns the dependencies to declare for sets that were seen, without duplicates. A duplicate arises if two
  /// branches of a forked log are both folded only up to their common ancestor.
  private func dependencies(
    _ seen: [Dependency], for log: LogKey
  ) throws -> [(dependency: Dependency, clock: Clock)] {
    var found: [Dependency: Clock] = [:]
    for dependency in seen {
      if let ancestor = try ancestor(dependency, for: log) { found[ancestor.dependency] = ancestor.clock }
    }
    return found.sorted { $0.key < $1.key }.map { (dependency: $0.key, clock: $0.value) }
  }

  /// Returns the dependency to declare for a set that was seen: the set itself if it is folded, otherwise its newest
  /// folded ancestor. Returns nil if there is nothing to declare.
  private func ancestor(
    _ dependency: Dependency, for log: LogKey
  ) throws -> (dependency: Dependency, clock: Clock)? {
    let other = dependency.log(lane: log.lane)
    guard other != log, let branch = try logs.branch(of: dependency.id, other, dependency.sequence) else {
      return nil
    }
    let stored = try logs.stored(dependency.id, other, dependency.sequence)
    if let stored, stored.isFolded { return (dependency, stored.clock) }
    guard let folded = branch.folded, branch.foldedSequence <= dependency.sequence else { return nil }
    let before = Dependency(
      device: other.device, incarnation: other.incarnation, sequence: branch.foldedSequence, id: folded.id)
    return (before, folded.clock)
  }

  /// Stores and folds a re-authored set. No horizon applies, because our own sets are never parked.
  private func take(_ set: VerifiedChangeSet, _ report: inout CommitReport) throws {
    guard case .place(folds: true) = try Placement.of(set, in: logs, horizon: Clock(raw: .max)) else {
      throw StoreError.damaged("a re-authored change set can't be placed")
    }
    let place = try logs.append(set, .folded)
    try noteDeclared(set, place)
    try fold.fold(set, at: place, into: &report)
  }
}

/// When sets are re-authored with the present time, moves future times of change inside whole records to the present
/// too.
private struct WholeRecordDates {
  let time: Reauthoring.Time
  let horizon: Clock
  private var newest: [RecordKey: Moment] = [:]

  init(time: Reauthoring.Time, horizon: Clock) {
    self.time = time
    self.horizon = horizon
  }

  /// Returns the contents with which a set is re-authored, and the lowest clock that the new sets may have.
  ///
  /// A set of which values are absent keeps its content, because only its commitments are left of these values. Its
  /// time of change is capped at the new clock, as any other.
  ///
  /// - Parameter seed: returns new random bytes for the salts of a changed content.
  mutating func date(
    _ set: VerifiedChangeSet, _ operation: OperationDraft, seed: () -> Bytes16,
    held: (RecordKey) throws -> Moment
  ) throws -> (contents: [ChangeSetContent], least: Clock) {
    let unchanged = [ChangeSetContent(of: set)]
    guard case .now(let now) = time else { return (unchanged, set.header.clock) }
    var least = Clock(milliseconds: now)
    guard set.body.isComplete else { return (unchanged, least) }
    var isChanged = false
    var drafts: [EntryDraft] = []
    for entry in set.body.entries {
      var fields = try set.body.cells[entry.cells].map { cell in
        (field: cell.field, value: try set.body.content(cell).map { try Value(encoded: $0) } ?? .null)
      }
      if entry.key.kind.mergeClass == .wholeRecord,
        let index = fields.firstIndex(where: { $0.field == Fields.wholeRecordUpdatedAt }),
        case .integer(let written) = fields[index].value, written > horizon.milliseconds
      {
        let dated = max(now, try newest[entry.key] ?? held(entry.key) + 1)
        newest[entry.key] = dated + 1
        fields[index].value = .integer(dated)
        least = max(least, Clock(milliseconds: dated))
        isChanged = true
      }
      drafts.append(EntryDraft(entry.type, entry.key, fields))
    }
    return (isChanged ? try ChangeSetContent.split(drafts, operation, seed: seed) : unchanged, least)
  }
}
