// Protocol/circle.md, "What folds"

package import Membership
import Records
package import Replication
import SQLite
package import Wire

extension Store {
  /// Takes over which sets the circle's statements admit. Where cuts change what is stored or folded, the logs are
  /// laid out anew and folded from the beginning, so that the state never depends on when a cut was heard of.
  ///
  /// - Returns: whether anything stored or folded is different now.
  package func admit(by admission: @escaping (LogKey) -> Admission, horizon: Clock) throws -> Bool {
    logs.cutRule = { log in if case .cut(let cuts) = admission(log) { cuts } else { nil } }
    logs.cuts = [:]
    let affectedLogs = try affectedLogs()
    let wanted = wantedCuts(affectedLogs)
    let changed = try AppliedCuts(stored: Self.metaBytes(AppliedCuts.key, connection)).difference(to: wanted)
    guard !changed.isEmpty else { return false }
    let matchesCuts = changed.allSatisfy { !affectedLogs.contains($0) && self.matchesCuts($0) }
    try atomically {
      if matchesCuts { return try noteAppliedCuts(wanted) }
      _ = try rebuildLogs(horizon)
      // What was put back may have seen something of logs that nobody knew here.
      try noteAppliedCuts()
    }
    return !matchesCuts
  }

  private func wantedCuts(_ affectedLogs: Set<LogKey>) -> AppliedCuts {
    AppliedCuts(affectedLogs.union(logs.all), by: logs.cutRule)
  }

  private func noteAppliedCuts(_ cuts: AppliedCuts) throws {
    try Self.setMeta(AppliedCuts.key, .blob(cuts.bytes), connection)
  }

  /// Keeps for which cuts the logs have just been laid out.
  func noteAppliedCuts() throws { try noteAppliedCuts(wantedCuts(try affectedLogs())) }

  /// The logs whose cuts decide over sets that have no place, or that have one without all that they have seen.
  private func affectedLogs() throws -> Set<LogKey> { try logsAroundQuarantine().union(logs.toleratedGaps()) }

  /// The logs that a set is the first here to be of, or to have seen, and that are cut.
  func newlyCut(_ header: ChangeSetHeader) -> [LogKey] {
    let seen = header.dependencies.map { $0.log(lane: header.log.lane) }
    return ([header.log] + seen).filter { logs.isCut($0) && logs.branchCount($0) == 0 }
  }

  /// Keeps the cuts of logs of which there was no trace when they were cut: the end of such a cut must not go
  /// unnoticed either. What is kept of others stays, for they may have yet to be laid out.
  func noteCuts(of fresh: Set<LogKey>) throws {
    guard !fresh.isEmpty else { return }
    var kept = AppliedCuts(stored: try Self.metaBytes(AppliedCuts.key, connection))
    if kept.add(AppliedCuts(fresh, by: logs.cutRule)) { try noteAppliedCuts(kept) }
  }

  /// Whether the sets of a log are stored and folded already as its cuts have it, if none of it was set aside.
  private func matchesCuts(_ log: LogKey) -> Bool {
    logs[log].allSatisfy { branch in
      logs.newestAllowed(branch) == branch.sequence && branch.foldedSequence == branch.sequence
    }
  }

  // MARK: Laying out anew

  /// Lays out all logs again, with the sets that were set aside, and folds what counts.
  func rebuildLogs(_ horizon: Clock) throws -> CommitReport {
    // Before the rows lose their positions, which is all that is left of a damaged header.
    let damagedHeaders = try damagedHeaders()
    let early = try ownFoldedEarly(horizon)
    try Derived.create(connection)
    // One header can have two valid signatures: a set that came again after it was set aside is one set all the same.
    try takeOut(
      """
      SELECT \(Self.columns) FROM change_sets
      UNION ALL SELECT \(Self.columns) FROM set_aside WHERE id NOT IN (SELECT id FROM change_sets)
      """)
    try connection.execute("DELETE FROM set_aside")
    let isInOrder = try putBackAll(damagedHeaders)
    // Only with everything in its place it is clear what leads to which tip. Without the rest the branches are
    // those of a store that never had it; what stays has its place, whatever it had seen of the rest.
    let isPruned = try logs.all.reduce(false) { try prune($1) || $0 }
    if isPruned || !isInOrder {
      try takeOut("SELECT \(Self.columns) FROM change_sets")
      // In such an order that each also finds its place by itself, where a backup is read or a store is verified.
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

  private static let columns = "id, clock, header, signature, body"

  private func takeOut(_ sets: String) throws {
    try connection.execute(
      """
      DROP TABLE IF EXISTS taken_out;
      CREATE TABLE taken_out AS \(sets);
      CREATE INDEX taken_out_by_id ON taken_out(id);
      DELETE FROM change_sets;
      DELETE FROM branches;
      DELETE FROM dependencies;
      DELETE FROM excused;
      """)
    logs.retireAll()
    try logs.reload()
    try fold.reload()
    forgetPast()
  }

  /// Puts back what has its place; false if some of it came before what it has seen.
  private func putBackAll(_ damagedHeaders: [ChangeSetID: ChangeSetHeader]) throws -> Bool {
    // A tip may come after what has seen the rest of its log: with it a cut is in effect, and that is no reason to wait.
    // What is to come itself must come first, though, or it would not count as seen.
    var isInOrder = true
    while true {
      while try putBackNext(damagedHeaders, isReady) {}
      guard try putBackNext(damagedHeaders, logs.hasAncestors) else { break }
      isInOrder = false
    }
    // The rest has seen what a cut had left out, and what must come first again now, or is dated no earlier.
    try connection.execute(
      """
      INSERT OR IGNORE INTO set_aside(\(Self.columns)) SELECT \(Self.columns) FROM taken_out;
      DROP TABLE taken_out;
      """)
    return isInOrder
  }

  /// Puts back what may come next; false if there is nothing like that.
  private func putBackNext(
    _ damagedHeaders: [ChangeSetID: ChangeSetHeader], _ mayCome: (ChangeSetHeader) throws -> Bool
  ) throws -> Bool {
    try putBack(damagedHeaders, mayCome)
    try connection.execute("DELETE FROM taken_out WHERE id IN (SELECT id FROM change_sets)")
    return connection.changes > 0
  }

  /// Only headers decide where sets belong: bodies are looked at when they are folded.
  private func putBack(
    _ damagedHeaders: [ChangeSetID: ChangeSetHeader], _ mayCome: (ChangeSetHeader) throws -> Bool
  ) throws {
    // A clock is above those of all that its set stands on. Late clocks are kept as negative numbers.
    let sql = "SELECT id, header, signature, body FROM taken_out ORDER BY clock < 0, clock, id"
    try connection.with(sql) { row in
      while try row.step() {
        guard let id = ChangeSetID(bytes: row.bytes(0)) else { throw StoreError.damaged("a change set's id") }
        let raw = RawChangeSet(header: row.bytes(1), signature: row.bytes(2), body: row.bytes(3))
        // A quarantined set whose header is damaged stays quarantined.
        guard let header = damagedHeaders[id] ?? Self.header(raw.header, id), try mayCome(header) else {
          continue
        }
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
      return try connection.with("SELECT 1 FROM taken_out WHERE id = ?1") { row in
        try row.bind(1, dependency.id.bytes)
        return try row.step()
      }
    }
  }

  /// Whether sets of a log have no place any more: all kept tips are here, and they lead to none.
  func hasUnkept(_ log: LogKey) -> Bool {
    logs.isCut(log) && logs[log].contains { logs.newestKept($0) < $0.sequence }
  }

  /// Whether what sets here have seen is another than when they were stored: some of a log has come that a cut had left
  /// out of their past, or a kept tip of a log that sets wait aside for.
  func showsWhatWasSeen(_ placed: [ChangeSetID], of moved: Set<LogKey>) throws -> Bool {
    let cut = moved.filter(logs.isEnded)
    guard !cut.isEmpty else { return false }
    if try !logs.toleratedGaps().isDisjoint(with: cut) { return true }
    let ended = cut.filter { logs.cuts(of: $0)?.tips.isDisjoint(with: placed) == false }
    return try !ended.isEmpty && !logsAroundQuarantine().isDisjoint(with: ended)
  }

  /// Sets aside what leads to no tip of a log's cuts; false if there is nothing like that.
  private func prune(_ log: LogKey) throws -> Bool {
    guard hasUnkept(log) else { return false }
    noteRemoval()
    for branch in logs[log] {
      let bounds = "branch = \(branch.number) AND sequence > \(logs.newestKept(branch))"
      try connection.execute(
        """
        INSERT OR IGNORE INTO set_aside(\(Self.columns)) SELECT \(Self.columns) FROM change_sets WHERE \(bounds);
        DELETE FROM change_sets WHERE \(bounds);
        """)
    }
    return true
  }
}
