// Protocol/circle.md, "What folds"

import Replication
import SQLite
import Wire

/// What the cuts of one log leave of it: sets that lead to a tip of any cut stay in store, so that everybody can
/// see how the tips hang together; those that lead to a tip of every cut in effect fold.
///
/// A cut is in effect with the last of its tips. Before, nobody here can tell what leads to one, and what has been
/// seen of the log must not go out of sight: without premium the tip may never come.
struct LogCuts {
  let cuts: Set<Set<ChangeSetID>>
  /// Where the tips are that are in store.
  private(set) var places: [ChangeSetID: Position] = [:]
  /// Of each cut in effect the newest sequence of every branch that leads to one of its tips; nil until somebody asks.
  var reach: [[Int64: UInt64]]?

  init(cuts: Set<Set<ChangeSetID>>) { self.cuts = cuts }

  mutating func note(_ tip: ChangeSetID, at place: Position) {
    places[tip] = place
    reach = nil
  }

  struct Position {
    let branch: Int64
    let sequence: UInt64
  }

  var tips: Set<ChangeSetID> { cuts.reduce(into: []) { $0.formUnion($1) } }
  var knowsAllTips: Bool { places.count == tips.count }
  var inEffect: [Set<ChangeSetID>] { cuts.filter { $0.allSatisfy { places[$0] != nil } } }
}

extension ChangeSetLogs {
  func isCut(_ log: LogKey) -> Bool { cuts(of: log) != nil }

  func isEnded(_ log: LogKey) -> Bool { cuts(of: log)?.inEffect.isEmpty == false }

  func excludes(new id: ChangeSetID, _ log: LogKey) -> Bool {
    guard let found = cuts(of: log) else { return false }
    return found.knowsAllTips && !found.tips.contains(id)
  }

  func excludes(dependency id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool {
    guard isCut(log) else { return false }
    // What is not here leads to no tip that is; before a cut is in effect, it may lead to one that is to come.
    guard let branch = try branch(of: id, log, sequence) else { return isEnded(log) }
    return sequence > newestAllowed(branch)
  }

  func isFolded(below id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool {
    guard let branch = try branch(of: id, log, sequence) else { return true }
    return branch.foldedSequence >= newestAllowed(onTheWayTo: branch, sequence)
  }

  /// The newest set that no cut excludes, of a set and all that it stands on in its log; 0 if there is none.
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

  /// The cuts of a log; nil for one that is open.
  func cuts(of log: LogKey) -> LogCuts? {
    if let known = cuts[log] { return known }
    var found: LogCuts?
    if let cuts = cutRule(log) {
      found = LogCuts(cuts: cuts)
      for tip in found?.tips ?? [] {
        do {
          if let place = try place(of: tip, log) { found?.note(tip, at: place) }
        } catch {
          // Without the tip, the log would seem to wait for it.
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

  /// Notes that a stored set has seen something of a log that is not here, because a cut leaves it out.
  func tolerateGap(_ log: LogKey) throws {
    let sql = "INSERT INTO excused(device, incarnation, lane) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING"
    try connection.with(sql) { row in
      try row.bind(1, log.device.bytes)
      try row.bind(2, log.incarnation.bytes)
      try row.bind(3, Int(log.lane.rawValue))
      try row.run()
    }
  }

  func toleratedGaps() throws -> Set<LogKey> {
    try connection.with("SELECT device, incarnation, lane FROM excused") { row in
      var found: Set<LogKey> = []
      while try row.step() {
        guard let device = DeviceKey(bytes: row.bytes(0)), let incarnation = Incarnation(bytes: row.bytes(1)),
          let lane = Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(2)))
        else { throw StoreError.damaged("an excused log") }
        found.insert(LogKey(device: device, incarnation: incarnation, lane: lane))
      }
      return found
    }
  }

  // MARK: Judging

  /// The newest set of a branch that no cut in effect excludes; the sequence before its first if there is none.
  func newestAllowed(_ branch: Branch) -> UInt64 {
    guard isCut(branch.log) else { return branch.sequence }
    return reach(of: branch.log).map { $0[branch.number] ?? 0 }.min().map { max($0, branch.first - 1) }
      ?? branch.sequence
  }

  /// The newest set of a branch that leads to a tip of some cut, or may.
  func newestKept(_ branch: Branch) -> UInt64 {
    guard let found = cuts(of: branch.log), found.knowsAllTips else { return branch.sequence }
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

  /// What leads to some tips is a beginning of each branch: how far it goes.
  private func reach(to tips: [LogCuts.Position]) -> [Int64: UInt64] {
    var reach: [Int64: UInt64] = [:]
    for tip in tips {
      var next: Int64? = tip.branch
      var last = tip.sequence
      // Where another tip's path has come at least as far, it has gone on to the first set.
      while let branch = next.flatMap({ self[branch: $0] }), reach[branch.number] ?? 0 < last {
        if last >= branch.first { reach[branch.number] = last }
        last = min(last, branch.first - 1)
        next = branch.parent
      }
    }
    return reach
  }

  /// Holds back the sets that wait and that a cut excludes, and lets go of those that it turns out to allow.
  func settle(_ logs: Set<LogKey>) throws {
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

  /// Whether a kept tip that has come shows that more of a log is folded than its cuts allow.
  func foldsTooMuch(_ log: LogKey) -> Bool {
    isEnded(log) && self[log].contains { $0.foldedSequence > newestAllowed($0) }
  }
}
