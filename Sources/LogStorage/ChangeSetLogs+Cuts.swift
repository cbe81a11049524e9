// Protocol/circle.md, "What folds"

package import Membership
import Replication
import SQLite
package import Wire

// Cuts.
//
// For each log that it ends, a revocation or a log cut names the *kept tips*: the sets up to which the log stays valid.
// One log may have several cuts, each a set of tips. A cut is *in effect* once all of its tips are stored (at once, if
// it has none). Each set of the log raises three questions:
//
// 1. Does it fold? Only if it is a tip, or an ancestor of a tip, of *every* cut in effect. If not, it is `held`.
// 2. Does it stay stored? Only if it is a tip or an ancestor of a tip of *any* cut, so that every device can see how
//    the tips are connected. While some tip is missing, all sets stay, because any of them may lead to that tip. Other
//    sets are quarantined (Store+Quarantine.swift).
// 3. May other sets depend on it? Yes. A dependency that a cut excludes counts as satisfied; neither its id nor its
//    clock is checked.
//
//     branch A    1 ── 2 ── 3 ── 4 ── 5       cut P keeps 4;  cut Q keeps 3 and 4'
//                       ╲
//     branch B           3' ── 4' ── 5'
//
//     stored tips     in effect   folds      held              quarantined
//     3, 4            P           1 2 3 4    5 3'              none yet: any new set may lead to 4'
//     3, 4, 4'        P and Q     1 2 3      4 3' 4'           5 5'
//
// A branch proof ends a log by a *line* instead: sets with a greater sequence are excluded at once, whatever else is
// stored. They are never placed (`excludes(new:)`), and a rebuild leaves those that were placed before in quarantine. So
// the logs never hold sets beyond a line, except while a rebuild is pending.
//
// A cut's *reach* is, for each branch, the newest sequence that leads to one of the cut's tips. Above, P reaches A:4; Q
// reaches A:3 and B:4'. In each branch, sets up to the lowest reach may be folded (`newestAllowed`), and sets up to the
// highest reach stay stored (`newestKept`). The result must depend on the known sets and cuts alone, not on the order
// in which they arrived. So when a tip arrives after sets that it excludes were folded (`foldsTooMuch`), the logs are
// rebuilt (Store+Cuts.swift) instead of being patched.

/// The cuts of one log, and which of their tips are stored.
///
/// A cut takes effect when the last of its tips arrives. Until then, this device can't tell which sets lead to the
/// missing tip, and nothing that the user already sees may disappear: on a device without premium, the tip may never
/// arrive.
package struct LogCuts {
  let cuts: Set<Set<ChangeSetID>>
  /// Sets with a greater sequence are excluded; nil if no branch proof ends the log.
  let line: UInt64?
  /// The positions of the tips that are stored.
  private(set) var places: [ChangeSetID: Position] = [:]
  /// For each cut in effect, its reach: in every branch, the newest sequence that leads to one of its tips. Nil until
  /// computed.
  var reach: [[Int64: UInt64]]?

  init(_ end: LogEnd) { (cuts, line) = (end.cuts, end.line) }

  mutating func note(_ tip: ChangeSetID, at place: Position) {
    places[tip] = place
    reach = nil
  }

  struct Position {
    let branch: Int64
    let sequence: UInt64
  }

  package var tips: Set<ChangeSetID> { cuts.reduce(into: []) { $0.formUnion($1) } }
  var knowsAllTips: Bool { places.count == tips.count }
  var inEffect: [Set<ChangeSetID>] { cuts.filter { $0.allSatisfy { places[$0] != nil } } }
}

/// How statements end a log: by cuts, by the line of a branch proof, or by both.
package struct LogEnd: Hashable {
  var cuts: Set<Set<ChangeSetID>>
  var line: UInt64?

  init(cuts: Set<Set<ChangeSetID>>, line: UInt64?) { (self.cuts, self.line) = (cuts, line) }

  /// Returns nil if the statements don't end the log.
  package init?(_ admission: Admission) {
    guard case .cut(let cuts, let line) = admission else { return nil }
    self.init(cuts: cuts, line: line)
  }
}

extension ChangeSetLogs {
  package func isCut(_ log: LogKey) -> Bool { cuts(of: log) != nil }

  package func isEnded(_ log: LogKey) -> Bool { cuts(of: log)?.inEffect.isEmpty == false }

  /// Whether a set lies beyond the line of a branch proof.
  package func isBeyondLine(_ log: LogKey, _ sequence: UInt64) -> Bool {
    cuts(of: log)?.line.map { sequence > $0 } ?? false
  }

  package func excludes(new id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) -> Bool {
    guard let found = cuts(of: log) else { return false }
    if let line = found.line, sequence > line { return true }
    return !found.cuts.isEmpty && found.knowsAllTips && !found.tips.contains(id)
  }

  package func excludes(dependency id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool {
    guard isCut(log) else { return false }
    // A missing set can't be an ancestor of a stored tip. But before a cut is in effect, the missing set may lead to a
    // tip that has not arrived yet.
    guard let branch = try branch(of: id, log, sequence) else {
      return isEnded(log) || isBeyondLine(log, sequence)
    }
    return sequence > newestAllowed(branch)
  }

  package func isFolded(below id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool {
    guard let branch = try branch(of: id, log, sequence) else { return true }
    return branch.foldedSequence >= newestAllowed(onTheWayTo: branch, sequence)
  }

  /// Returns the newest sequence that no cut excludes, among a set and its ancestors in the same log; 0 if there is
  /// none.
  private func newestAllowed(onTheWayTo branch: Branch, _ sequence: UInt64) -> UInt64 {
    var (next, last): (Branch?, UInt64) = (branch, sequence)
    while let branch = next {
      let allowed = min(newestAllowed(branch), last)
      if allowed >= branch.first { return allowed }
      last = min(last, branch.first - 1)
      next = branch.parent.flatMap { self[branch: $0] }
    }
    return 0
  }

  /// Returns the cuts of a log; nil for a log without cuts.
  package func cuts(of log: LogKey) -> LogCuts? {
    if let known = cuts[log] { return known }
    var found: LogCuts?
    if let end = cutRule(log) {
      found = LogCuts(end)
      for tip in found?.tips ?? [] {
        do {
          if let place = try place(of: tip, log) { found?.note(tip, at: place) }
        } catch {
          // If the failure were ignored, the tip would appear to be missing.
          noteFailure(error)
          return found
        }
      }
    }
    cuts[log] = .some(found)
    return found
  }

  private func place(of tip: ChangeSetID, _ log: LogKey) throws -> LogCuts.Position? {
    guard let branch = try branch(holding: tip, log) else { return nil }
    if branch.head.id == tip { return LogCuts.Position(branch: branch.number, sequence: branch.sequence) }
    return try connection.with("SELECT sequence FROM change_sets WHERE branch = ?1 AND id = ?2") { row in
      try row.bind(1, branch.number)
      try row.bind(2, tip.bytes)
      guard try row.step() else { return nil }
      return LogCuts.Position(branch: branch.number, sequence: UInt64(bitPattern: row.integer(0)))
    }
  }

  func noteTip(_ id: ChangeSetID, _ log: LogKey, branch: Int64, sequence: UInt64) {
    guard case .some(.some(var found)) = cuts[log], found.tips.contains(id) else { return }
    found.note(id, at: LogCuts.Position(branch: branch, sequence: sequence))
    cuts[log] = found
  }

  /// Records a tolerated gap: a stored set depends on a set of this log that is missing because a cut excludes it.
  func tolerateGap(_ log: LogKey) throws {
    let sql = """
      INSERT INTO tolerated_gaps(device, incarnation, lane) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
      """
    try connection.with(sql) { row in
      try row.bind(1, log.device.bytes)
      try row.bind(2, log.incarnation.bytes)
      try row.bind(3, Int(log.lane.rawValue))
      try row.run()
    }
  }

  package func toleratedGaps() throws -> Set<LogKey> {
    try connection.with("SELECT device, incarnation, lane FROM tolerated_gaps") { row in
      var found: Set<LogKey> = []
      while try row.step() {
        guard let device = DeviceKey(bytes: row.bytes(0)), let incarnation = Incarnation(bytes: row.bytes(1)),
          let lane = Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(2)))
        else { throw StoreError.damaged("a tolerated gap has an invalid log") }
        found.insert(LogKey(device: device, incarnation: incarnation, lane: lane))
      }
      return found
    }
  }

  // MARK: What folds, what stays

  /// Returns the newest sequence of a branch that no cut in effect excludes. If all its sets are excluded, returns the
  /// sequence before the first one.
  package func newestAllowed(_ branch: Branch) -> UInt64 {
    guard isCut(branch.log) else { return branch.sequence }
    return reach(of: branch.log).map { $0[branch.number] ?? 0 }.min().map { max($0, branch.first - 1) }
      ?? branch.sequence
  }

  /// Returns the newest sequence of a branch that leads, or may lead, to a tip of any cut.
  package func newestKept(_ branch: Branch) -> UInt64 {
    guard let found = cuts(of: branch.log), !found.cuts.isEmpty, found.knowsAllTips else {
      return branch.sequence
    }
    return max(reach(of: branch.log).compactMap { $0[branch.number] }.max() ?? 0, branch.first - 1)
  }

  private func reach(of log: LogKey) -> [[Int64: UInt64]] {
    guard var found = cuts(of: log) else { return [] }
    if let known = found.reach { return known }
    let reach = found.inEffect.map { self.reach(to: $0.compactMap { found.places[$0] }) }
    found.reach = reach
    cuts[log] = .some(found)
    return reach
  }

  /// Returns, for each branch, the newest sequence that leads to one of the tips. The sets that lead to a tip are
  /// always the first ones of a branch.
  private func reach(to tips: [LogCuts.Position]) -> [Int64: UInt64] {
    var reach: [Int64: UInt64] = [:]
    for tip in tips {
      var next: Int64? = tip.branch
      var last = tip.sequence
      // If the path of an earlier tip reached the same sequence of this branch or a newer one, the rest of the path has
      // already been visited.
      while let branch = next.flatMap({ self[branch: $0] }), reach[branch.number] ?? 0 < last {
        if last >= branch.first { reach[branch.number] = last }
        last = min(last, branch.first - 1)
        next = branch.parent
      }
    }
    return reach
  }

  /// Marks parked sets as held if a cut excludes them, and held sets as parked if the cuts now allow them.
  package func settle(_ logs: Set<LogKey>) throws {
    for log in logs.sorted() where isCut(log) {
      for branch in self[log] {
        let allowed = newestAllowed(branch)
        try move(branch, "sequence <= ?2", allowed, from: .held, to: .waits)
        try move(branch, "sequence > ?2", allowed, from: .waits, to: .held)
      }
    }
  }

  private func move(
    _ branch: Branch, _ bound: String, _ sequence: UInt64, from old: FoldState, to new: FoldState
  ) throws {
    let sql = "UPDATE change_sets SET folded = ?3 WHERE branch = ?1 AND \(bound) AND folded = ?4"
    try connection.with(sql) { row in
      try row.bind(1, branch.number)
      try row.bind(2, Int64(bitPattern: sequence))
      try row.bind(3, new.rawValue)
      try row.bind(4, old.rawValue)
      try row.run()
    }
  }

  /// Returns whether more of a log is folded than its cuts in effect allow. That can happen when a missing tip arrives.
  package func foldsTooMuch(_ log: LogKey) -> Bool {
    isEnded(log) && self[log].contains { $0.foldedSequence > newestAllowed($0) }
  }
}
