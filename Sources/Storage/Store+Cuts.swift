// Protocol/circle.md, "What folds"

import LogStorage
package import Membership
package import RecordTables
package import Replication
import SQLite
package import Wire

// Rebuilding the logs.
//
// What is stored and folded must be a function of the known sets and cuts, never of the order in which they arrived.
// When new cuts, a kept tip, a missing ancestor or the bytes of a damaged set change the outcome for sets that are
// already stored, the logs are not patched: all sets are taken out and placed again, as if they had just arrived. One
// transaction does it all:
//
//     change_sets + quarantine
//             │ 1  take out: one table of sets; empty logs, no tolerated gaps, no records
//             ▼
//         taken_out ──── 2  put back, by clock, whatever has its ancestors ────▶ logs
//             │                                                                   │
//             │ 3  what never became ready                                        │ 4  prune what leads
//             ▼                                                                   ▼    to no kept tip
//         quarantine ◀────────────────────────────────────────────────────────────┘
//
//     5  if anything was pruned or came early: take out and put back once more
//     6  settle: held or waiting, by the cuts;   7  fold what waits and is due;   8  heads, digests
//
// Step 2 prefers sets whose dependencies are all placed. Only when no such set is left does it accept one with a
// dependency that a cut excludes and that is itself still taken out. Such sets exist because a kept tip may come after
// sets that have seen the rest of its log.
//
// Sets beyond the line of a branch proof are never put back, so a store that had such sets ends like one that never had
// them.
//
// Step 5 is needed because it is clear only with every set in place which sets lead to which tip, and by then the
// pruned sets have shaped the branches. The second pass produces the branches of a store that never had the pruned
// sets, and an order in which each set can be placed on its own, as a backup and `verify --deep` require.
//
// The sets get new numbers, so everything that remembers numbers is cleared (`forgetPast`). Two facts must be saved
// first, because only the old rows contain them: the positions of sets with damaged headers, and which of our own sets
// were folded ahead of time.

extension Store {
  /// Applies the cuts and quotas of the circle's statements. If they change what is stored or folded, the logs are
  /// rebuilt and folded from the beginning, so that the state never depends on when a statement was received.
  ///
  /// - Parameter quota: returns the bytes that a device may write in a lane.
  /// - Returns: whether anything stored or folded has changed.
  package func admit(
    by admission: @escaping (LogKey) -> Admission,
    quota: @escaping (DeviceKey, Lane) -> UInt64 = { DeviceQuotas.standard[$1] }, horizon: Clock,
    holding: EraseHolding? = nil
  ) throws -> Bool {
    logs.cutRule = { LogEnd(admission($0)) }
    logs.cuts = [:]
    logs.quotaRule = quota
    // Which quarantined sets wait for ancestors depends on the quotas too.
    lacking = nil
    let affectedLogs = try affectedLogs()
    let wanted = wantedCuts(affectedLogs)
    let changed = try AppliedCuts(stored: MetaTable.bytes(AppliedCuts.key, connection)).difference(to: wanted)
    let matchesQuotas = try !logs.exceedsQuota && !hasReturning()
    guard !changed.isEmpty || !matchesQuotas else { return false }
    let matchesCuts =
      matchesQuotas && changed.allSatisfy { !affectedLogs.contains($0) && self.matchesCuts($0) }
    try atomically(holding) {
      if matchesCuts { return try noteAppliedCuts(wanted) }
      _ = try rebuildLogs(horizon)
      // Sets that were put back may depend on logs that were unknown here before.
      try noteAppliedCuts()
    }
    return !matchesCuts
  }

  private func wantedCuts(_ affectedLogs: Set<LogKey>) -> AppliedCuts {
    AppliedCuts(affectedLogs.union(logs.all), by: logs.cutRule)
  }

  private func noteAppliedCuts(_ cuts: AppliedCuts) throws {
    try MetaTable.set(AppliedCuts.key, cuts.bytes, connection)
  }

  /// Stores the cuts for which the logs have just been rebuilt.
  func noteAppliedCuts() throws { try noteAppliedCuts(wantedCuts(try affectedLogs())) }

  /// Returns the logs whose cuts affect quarantined sets, or stored sets with a tolerated gap.
  private func affectedLogs() throws -> Set<LogKey> { try logsAroundQuarantine().union(logs.toleratedGaps()) }

  /// Returns the cut logs that appear for the first time with a set: the set's own log, or logs that it depends on.
  func newlyCut(_ header: ChangeSetHeader) -> [LogKey] {
    let seen = header.dependencies.map { $0.log(lane: header.log.lane) }
    return ([header.log] + seen).filter { logs.isCut($0) && logs.branchCount($0) == 0 }
  }

  /// Stores the cuts of logs that were unknown here when they were cut, so that it is noticed when such a cut becomes
  /// void. The stored cuts of other logs stay unchanged, because a rebuild for them may be pending.
  func noteCuts(of fresh: Set<LogKey>) throws {
    guard !fresh.isEmpty else { return }
    var kept = AppliedCuts(stored: try MetaTable.bytes(AppliedCuts.key, connection))
    if kept.add(AppliedCuts(fresh, by: logs.cutRule)) { try noteAppliedCuts(kept) }
  }

  /// Returns whether the sets of a log are stored and folded as its cuts require, provided that none is quarantined.
  private func matchesCuts(_ log: LogKey) -> Bool {
    logs[log].allSatisfy { branch in
      logs.newestAllowed(branch) == branch.sequence && branch.foldedSequence == branch.sequence
        && !logs.isBeyondLine(log, branch.sequence)
    }
  }

  // MARK: Rebuilding

  /// Rebuilds all logs from the stored and the quarantined sets, and folds what the cuts allow.
  func rebuildLogs(_ horizon: Clock) throws -> CommitReport {
    // This comes first: later the rows have lost their positions, which are all that remains of a damaged header.
    let damagedHeaders = try damagedHeaders()
    let early = try ownFoldedEarly(horizon)
    try Derived.create(connection, schema, keeping: StoreLayout.keptTables)
    // One header can have two valid signatures. A set that arrived again after it was quarantined must be placed only
    // once.
    try takeOut(
      """
      SELECT \(Self.columns) FROM change_sets
      UNION ALL SELECT \(Self.columns) FROM quarantine WHERE id NOT IN (SELECT id FROM change_sets)
      """)
    try connection.execute("DELETE FROM quarantine")
    let isInOrder = try putBackAll(damagedHeaders)
    // Only now, with every set in place, is it clear which sets lead to which tip. The branches must be those of a
    // store that never had the pruned sets. The remaining sets are placed even if they depend on pruned sets.
    let isPruned = try logs.all.reduce(false) { try prune($1) || $0 }
    if isPruned || !isInOrder {
      try takeOut("SELECT \(Self.columns) FROM change_sets")
      // The sets are put back in an order in which each can be placed on its own, as when a backup is read or a store
      // is verified.
      while try putBackNext(damagedHeaders, isReady) {}
      try putBack(damagedHeaders) { _ in true }
      try connection.execute("DROP TABLE taken_out")
    }
    try logs.settle(Set(logs.all))
    var report = CommitReport()
    var moved = Set(logs.all)
    try foldWaiting(horizon, and: parkedNumbers(of: early, beyond: horizon), &report, &moved)
    try finish(&report)
    try forgetDamageInQuarantine()
    report.isRebuilt = true
    return report
  }

  private static let columns = "id, clock, \(RawChangeSet.columns)"

  private func takeOut(_ sets: String) throws {
    try connection.execute(
      """
      DROP TABLE IF EXISTS taken_out;
      CREATE TABLE taken_out AS \(sets);
      CREATE INDEX taken_out_by_id ON taken_out(id);
      DELETE FROM change_sets;
      DELETE FROM branches;
      DELETE FROM dependencies;
      DELETE FROM tolerated_gaps;
      """)
    logs.retireAll()
    try logs.reload()
    try fold.reload()
    forgetPast()
  }

  /// Puts back the sets that can be placed, and quarantines the rest. Returns false if some sets came before their
  /// dependencies.
  private func putBackAll(_ damagedHeaders: [ChangeSetID: ChangeSetHeader]) throws -> Bool {
    // A kept tip may come after sets that have seen the rest of its log. Once the tip is placed, a cut is in effect
    // that excludes the rest, so those sets need not wait for it. But a dependency that will be placed must come before
    // the sets that have seen it, or it would not count as seen.
    var isInOrder = true
    while true {
      while try putBackNext(damagedHeaders, isReady) {}
      guard try putBackNext(damagedHeaders, logs.hasAncestors) else { break }
      isInOrder = false
    }
    // The remaining sets are beyond a quota, depend on sets that are beyond one or that a cut had excluded and that are
    // required again now, or have a clock no later than such a dependency.
    try connection.execute(
      """
      INSERT OR IGNORE INTO quarantine(\(Self.columns)) SELECT \(Self.columns) FROM taken_out;
      DROP TABLE taken_out;
      """)
    return isInOrder
  }

  /// Puts back the sets that may come next. Returns false if there were none.
  private func putBackNext(
    _ damagedHeaders: [ChangeSetID: ChangeSetHeader], _ mayCome: (ChangeSetHeader) throws -> Bool
  ) throws -> Bool {
    try putBack(damagedHeaders, mayCome)
    try connection.execute("DELETE FROM taken_out WHERE id IN (SELECT id FROM change_sets)")
    return connection.changes > 0
  }

  /// Puts back the sets that may come next. Headers alone determine positions; plans and values are checked when they
  /// are folded.
  private func putBack(
    _ damagedHeaders: [ChangeSetID: ChangeSetHeader], _ mayCome: (ChangeSetHeader) throws -> Bool
  ) throws {
    // A set's clock is above the clocks of all its ancestors, so ancestors come first. Late clocks are stored as
    // negative numbers.
    let sql = "SELECT id, \(RawChangeSet.columns) FROM taken_out ORDER BY clock < 0, clock, id"
    try connection.with(sql) { row in
      while try row.step() {
        guard let id = ChangeSetID(bytes: row.bytes(0)) else { throw StoreError.damaged("bad change set id") }
        let raw = RawChangeSet(row, at: 1)
        // A quarantined set with a damaged header stays in quarantine.
        guard let header = damagedHeaders[id] ?? Self.header(raw.header, id),
          !logs.isBeyondLine(header.log, header.sequence),
          logs.isWithinQuota(header, headerBytes: raw.header.count), try mayCome(header)
        else { continue }
        _ = try logs.append(header, id, raw, logs.isCut(header.log) ? .held : .waits)
      }
    }
  }

  private func isReady(_ header: ChangeSetHeader) throws -> Bool {
    try logs.hasAncestors(header) && !hasSeenTakenOut(header)
  }

  private func hasSeenTakenOut(_ header: ChangeSetHeader) throws -> Bool {
    try header.dependencies.contains { dependency in
      let log = dependency.log(lane: header.log.lane)
      guard try logs.branch(of: dependency.id, log, dependency.sequence) == nil else { return false }
      // Sets beyond a line are not put back, so nothing waits for them.
      if logs.isBeyondLine(log, dependency.sequence) { return false }
      return try connection.with("SELECT 1 FROM taken_out WHERE id = ?1") { row in
        try row.bind(1, dependency.id.bytes)
        return try row.step()
      }
    }
  }

  /// Returns whether a cut log, all of whose kept tips are stored, holds sets that lead to no kept tip.
  package func hasUnkept(_ log: LogKey) -> Bool {
    logs.isCut(log) && logs[log].contains { logs.newestKept($0) < $0.sequence }
  }

  /// Returns whether newly stored sets change which sets others count as having seen. There are two cases: an excluded
  /// part of a log has arrived on which stored sets depend (a tolerated gap), or a kept tip has arrived in a log to
  /// which quarantined sets belong or on which they depend.
  func showsWhatWasSeen(_ placed: [ChangeSetID], of moved: Set<LogKey>) throws -> Bool {
    let cut = moved.filter(logs.isEnded)
    guard !cut.isEmpty else { return false }
    if try !logs.toleratedGaps().isDisjoint(with: cut) { return true }
    let ended = cut.filter { logs.cuts(of: $0)?.tips.isDisjoint(with: placed) == false }
    return try !ended.isEmpty && !logsAroundQuarantine().isDisjoint(with: ended)
  }

  /// Quarantines the sets that lead to no tip of a log's cuts. Returns false if there are none.
  private func prune(_ log: LogKey) throws -> Bool {
    guard hasUnkept(log) else { return false }
    noteRemoval()
    for branch in logs[log] {
      let bounds = "branch = \(branch.number) AND sequence > \(logs.newestKept(branch))"
      try connection.execute(
        """
        INSERT OR IGNORE INTO quarantine(\(Self.columns))
          SELECT \(Self.columns) FROM change_sets WHERE \(bounds);
        DELETE FROM change_sets WHERE \(bounds);
        """)
    }
    return true
  }
}
