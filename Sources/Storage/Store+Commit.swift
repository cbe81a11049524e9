// Protocol/change-set.md, "Causal closure".

import LogStorage
package import RecordTables
package import Replication
import SQLite
package import Wire

extension Store {
  /// Stores the sets that can be placed and folds those whose clock is not beyond the horizon, in one transaction.
  ///
  /// Sets must be given in causal order, each after the sets that it depends on.
  ///
  /// - Parameters:
  ///   - horizon: the clock up to which sets fold now; sets with later clocks are parked.
  ///   - holding: decides which erases are held; nil to apply all at once.
  ///   - noting: called with the report, to store further values in the same transaction.
  ///   - isTurnOver: called before each set except the first. Once it returns true, the remaining sets are neither
  ///     stored nor reported.
  ///   - endsAtExcess: whether a set that begins a branch too many is the last one to be stored, so that the caller can
  ///     prove this before the author adds more branches.
  package func commit(
    _ sets: [VerifiedChangeSet], horizon: Clock, holding: EraseHolding? = nil,
    noting: (CommitReport) throws -> Void = { _ in }, isTurnOver: () -> Bool = { false },
    endsAtExcess: Bool = false
  ) throws -> CommitReport {
    var rest = sets[...]
    return try commit(
      horizon: horizon, holding: holding, noting: noting, isTurnOver: isTurnOver, endsAtExcess: endsAtExcess
    ) { rest.popFirst() }
  }

  /// Stores and folds sets as the function above does, without holding all of them in memory.
  ///
  /// - Parameter next: returns the next set; nil after the last one.
  package func commit(
    horizon: Clock, holding: EraseHolding? = nil, noting: (CommitReport) throws -> Void = { _ in },
    isTurnOver: () -> Bool = { false }, endsAtExcess: Bool = false, next: () throws -> VerifiedChangeSet?
  ) throws -> CommitReport {
    try atomically(holding) {
      var report = CommitReport()
      var moved: Set<LogKey> = []
      var newlyCut: Set<LogKey> = []
      var placed: [ChangeSetID] = []
      while let set = try next() {
        if !report.placements.isEmpty, isTurnOver() { break }
        try completePredecessor(of: set.header)
        let placement = try Placement.of(set, in: logs, horizon: horizon)
        report.placements.append(placement)
        if placement == .duplicate, let damaged = damage[set.id] {
          try replace(damaged, by: set, &report)
          // The copy may lack values that the tables still show, so they are folded again from the log.
          let lacksValues = damaged.isUnfolded || !set.body.isComplete
          report.repaired.append(
            DamagedSet(id: damaged.id, log: damaged.log, sequence: damaged.sequence, isUnfolded: lacksValues))
        }
        guard case .place(let folds) = placement else { continue }
        report.placed[set.header.log.lane, default: 0] += 1
        newlyCut.formUnion(self.newlyCut(set.header))
        let place = try logs.append(set, folds ? .folded : logs.isEnded(set.header.log) ? .held : .waits)
        try noteDeclared(set, place)
        seals.note(set, place)
        if let sibling = try logs.sibling(of: set, at: place).flatMap({ try intactSet($0) }) {
          report.forks.append(Fork(set: set, sibling: sibling))
        }
        moved.insert(set.header.log)
        placed.append(set.id)
        if folds { try fold.fold(set, at: place, into: &report) }
        if logs.isExcessive(set.header.log.tree), logs.hasBegun(place) {
          report.excessiveTrees.insert(set.header.log.tree)
          if endsAtExcess { break }
        }
      }
      // A kept tip that has just arrived may show that a dependency is excluded; sets that waited for that dependency
      // fold now too.
      if moved.contains(where: logs.isCut) {
        try logs.settle(moved)
        try foldWaiting(horizon, &report, &moved)
      }
      try finish(&report)
      try noting(report)
      try noteCuts(of: newlyCut)
      if try moved.contains(where: { hasUnkept($0) || logs.foldsTooMuch($0) }) || areAncestors(placed)
        || showsWhatWasSeen(placed, of: moved) || report.repaired.contains(where: \.isUnfolded)
      {
        // The rebuild reports everything except placements, forks and repairs; those are taken from this batch.
        let before = report
        report = try rebuildLogs(horizon)
        try noteAppliedCuts()
        (report.placements, report.forks) = (before.placements, before.forks)
        report.excessiveTrees = before.excessiveTrees
        report.repaired = before.repaired
        report.goneHeads += before.goneHeads
        report.placed = before.placed
      }
      return report
    }
  }

  /// Folds the parked sets whose clock is not beyond the horizon, in one transaction.
  package func foldParked(
    horizon: Clock, holding: EraseHolding? = nil, noting: (CommitReport) throws -> Void = { _ in }
  ) throws -> CommitReport {
    try atomically(holding) {
      var report = CommitReport()
      var moved: Set<LogKey> = []
      try foldWaiting(horizon, &report, &moved)
      try finish(&report)
      try noting(report)
      return report
    }
  }

  /// Folds the parked sets that are due and whose ancestors are folded.
  ///
  /// - Parameter early: the numbers of further parked sets, which fold regardless of their clocks.
  func foldWaiting(
    _ horizon: Clock, and early: [Int64] = [], _ report: inout CommitReport, _ moved: inout Set<LogKey>
  ) throws {
    var numbers = try parkedNumbers(through: horizon)
    if !early.isEmpty { numbers = (numbers + early).sorted() }
    // Numbers are in causal order, so one pass folds everything that can be folded.
    for number in numbers {
      let set = try intactSet(number)
      guard try logs.isReady(set?.header ?? positionHeader(number)) else { continue }
      let place = try fold.causality.place(number)
      try logs.folded(place)
      if let set {
        try fold.fold(set, at: place, into: &report)
      } else {
        // Sets that depend on a damaged set are folded nevertheless.
        try noteDamaged(number, isUnfolded: true)
      }
      moved.insert(place.log)
    }
  }

  /// Returns two sets at the same position for each forked log, except for logs whose fork is already known.
  package func forks(but known: Set<LogKey>) throws -> [Fork] {
    try logs.all.filter { logs.branchCount($0) > 1 && !known.contains($0) }.compactMap { log in
      for branch in logs[log].reversed() {
        guard let sibling = try logs.sibling(of: branch),
          let number = try logs.number(branch.number, branch.first),
          let set = try intactSet(number), let other = try intactSet(sibling)
        else { continue }
        return Fork(set: set, sibling: other)
      }
      return nil
    }
  }

  /// Returns the authors of parked sets.
  package func parkedAuthors() throws -> [DeviceKey] {
    let sql = """
      SELECT DISTINCT b.device FROM change_sets c JOIN branches b ON b.branch = c.branch
      WHERE c.folded = 0 ORDER BY b.device
      """
    return try connection.with(sql) { row in
      var devices: [DeviceKey] = []
      while try row.step() { if let device = DeviceKey(bytes: row.bytes(0)) { devices.append(device) } }
      return devices
    }
  }

  func finish(_ report: inout CommitReport) throws {
    try fold.finish(&report)
    if report.redactedSets > 0 {
      try Self.noteErase(connection)
      setCache = SetCache()
    }
    (report.heads, report.goneHeads) = logs.takeMoves()
    report.settingsDigest = fold.digests[.settings]
    report.recordsDigest = fold.digests[.records]
    report.nextParkedClock = try nextParkedClock
  }

  /// Reads a stored set.
  ///
  /// - Throws: `StoreError.damagedSet` if its bytes have changed since the set was verified on receipt. The damage is
  ///   remembered.
  package func storedSet(_ number: Int64) throws -> VerifiedChangeSet {
    do {
      return try ChangeSetLogs.storedSet(number, connection)
    } catch StoreError.damagedSet {
      try noteDamaged(number)
      throw StoreError.damagedSet(number: number)
    }
  }

  // MARK: Heads and counts

  /// Returns the heads of a lane, one for each branch, sorted by log.
  package func heads(_ lane: Lane) -> [LogHead] { Heads(logs.branches(lane).map(\.logHead)).sorted }

  package func digest(_ lane: Lane) -> Digest { fold.digests[lane] }

  /// Returns the digest of a lane as 256 sums, one for each first byte of a record id.
  package func digestBuckets(_ lane: Lane) -> [Digest] { fold.digests.buckets(lane) }

  /// Returns the number of stored change sets of a lane, including parked ones.
  package func changeSetCount(_ lane: Lane) -> UInt64 {
    logs.branches(lane).reduce(0) { $0 + $1.count }
  }

  package func parkedCount(_ lane: Lane) throws -> UInt64 {
    let sql = """
      SELECT count(*) FROM change_sets c JOIN branches b ON b.branch = c.branch WHERE c.folded = 0 AND b.lane = ?1
      """
    return try connection.with(sql) { row in
      try row.bind(1, Int(lane.rawValue))
      return try row.step() ? UInt64(bitPattern: row.integer(0)) : 0
    }
  }

  /// Returns the position from which one of our own logs continues: its head, the clock that the next set must exceed,
  /// and the sets of other logs to declare as seen.
  package func authorPosition(circle: CircleID, log: LogKey) throws -> AuthorPosition {
    let own = logs[log].first
    var position = AuthorPosition(
      circle: circle, log: log, sequence: own?.sequence ?? 0,
      id: own?.head.id, clock: own?.head.clock ?? .zero, logBytes: own?.head.logBytes ?? 0, unseen: [])
    position.logBytesMax = logs.bytesMax(log)
    for branch in logs.branches(log.lane) {
      guard let folded = branch.folded, logs.isFoldedHead(branch) else { continue }
      position.clock = max(position.clock, folded.clock)
      guard branch.log != log else { continue }
      let seen = try own.map { try newestDeclared(by: $0, of: branch.number) } ?? 0
      if branch.foldedSequence > UInt64(bitPattern: seen) {
        position.unseen.append(
          Dependency(
            device: branch.log.device, incarnation: branch.log.incarnation,
            sequence: branch.foldedSequence, id: folded.id))
      }
    }
    position.unseen.sort()
    return position
  }

  private func newestDeclared(by own: Branch, of branch: Int64) throws -> Int64 {
    if declared?.branch != own.number {
      declared = (own.number, try fold.causality.past(own.number, sequence: Int64(bitPattern: own.sequence)))
    }
    return declared?.sequences[branch] ?? 0
  }

  func noteDeclared(_ set: VerifiedChangeSet, _ place: SetPosition) throws {
    guard declared?.branch == place.branch else { return }
    for dependency in set.header.dependencies {
      let log = dependency.log(lane: set.header.log.lane)
      guard let branch = try logs.branch(of: dependency.id, log, dependency.sequence) else { continue }
      declared?.sequences[branch.number] = Int64(bitPattern: dependency.sequence)
    }
  }
}
