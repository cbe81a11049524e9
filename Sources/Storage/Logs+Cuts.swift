// Protocol/circle.md, "What folds"

import Replication
import SQLite
import Wire

/// What the cuts of one log leave of it: sets that lead to a tip of any cut stay in store, so that everybody can
/// see how the tips hang together; those that lead to a tip of every cut fold.
struct LogCuts {
  let cuts: Set<Set<ChangeSetID>>
  /// Where the tips are that are in store.
  var places: [ChangeSetID: Place] = [:]

  struct Place {
    let branch: Int64
    let sequence: UInt64
  }

  var tips: Set<ChangeSetID> { cuts.reduce(into: []) { $0.formUnion($1) } }
  var knowsAllTips: Bool { places.count == tips.count }
}

extension Logs {
  func isCut(_ log: LogKey) -> Bool { cuts(of: log) != nil }

  func excludes(new id: ChangeSetID, _ log: LogKey) -> Bool {
    guard let found = cuts(of: log) else { return false }
    return found.knowsAllTips && !found.tips.contains(id)
  }

  func excludes(dependency id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool {
    guard let found = cuts(of: log), found.knowsAllTips else { return false }
    guard let branch = try branch(of: id, log, sequence) else { return true }
    return !isAllowed(branch.number, sequence, found)
  }

  /// The cuts of a log; nil for one that is open.
  func cuts(of log: LogKey) -> LogCuts? {
    if let known = cuts[log] { return known }
    var found: LogCuts?
    if let cuts = cutRule(log) {
      found = LogCuts(cuts: cuts)
      for tip in found?.tips ?? [] { found?.places[tip] = try? place(of: tip, log) }
    }
    cuts[log] = .some(found)
    return found
  }

  private func place(of tip: ChangeSetID, _ log: LogKey) throws -> LogCuts.Place? {
    for branch in self[log] {
      let sequence = try connection.with("SELECT sequence FROM change_sets WHERE branch = ?1 AND id = ?2") {
        row in
        try row.bind(1, branch.number)
        try row.bind(2, tip.bytes)
        return try row.step() ? row.integer(0) : nil
      }
      if let sequence {
        return LogCuts.Place(branch: branch.number, sequence: UInt64(bitPattern: sequence))
      }
    }
    return nil
  }

  func noteTip(_ id: ChangeSetID, _ log: LogKey, branch: Int64, sequence: UInt64) {
    guard case .some(.some(var found)) = cuts[log], found.tips.contains(id) else { return }
    found.places[id] = LogCuts.Place(branch: branch, sequence: sequence)
    cuts[log] = found
  }

  /// Notes that a stored set has seen something of a log that is not here, because a cut leaves it out.
  func excuse(_ log: LogKey) throws {
    let sql = "INSERT INTO excused(device, incarnation, lane) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING"
    try connection.with(sql) { row in
      try row.bind(1, log.device.bytes)
      try row.bind(2, log.incarnation.bytes)
      try row.bind(3, Int(log.lane.rawValue))
      try row.run()
    }
  }

  func excused() throws -> Set<LogKey> {
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

  /// Whether all that a set stands on is stored, or is left out by a cut.
  func hasGround(_ header: ChangeSetHeader) throws -> Bool {
    if let previous = header.previous,
      try branch(of: previous, header.log, header.sequence - 1) == nil
    {
      return false
    }
    return try header.dependencies.allSatisfy {
      let log = $0.log(lane: header.log.lane)
      return try isCut(log) || branch(of: $0.id, log, $0.sequence) != nil
    }
  }

  // MARK: Judging

  private func isAllowed(_ branch: Int64, _ sequence: UInt64, _ found: LogCuts) -> Bool {
    found.cuts.allSatisfy { tips in
      tips.contains { leads(branch, sequence, to: found.places[$0]) }
    }
  }

  private func leads(_ branch: Int64, _ sequence: UInt64, to tip: LogCuts.Place?) -> Bool {
    guard let tip else { return false }
    return path(tip.branch, through: tip.sequence).contains { $0.branch == branch && sequence <= $0.last }
  }

  /// The newest set of a branch that fits; the sequence before its first if none does.
  private func newest(_ branch: Branch, _ fits: (UInt64) -> Bool) -> UInt64 {
    var newest = branch.first - 1
    // What leads to a tip is a beginning of the branch.
    var (low, high) = (branch.first, branch.sequence)
    while low <= high {
      let middle = low + (high - low) / 2
      if fits(middle) { (newest, low) = (middle, middle + 1) } else { high = middle - 1 }
    }
    return newest
  }

  /// The newest set of a branch that no cut excludes.
  func newestAllowed(_ branch: Branch) -> UInt64 {
    guard let found = cuts(of: branch.log) else { return branch.sequence }
    return newest(branch) { isAllowed(branch.number, $0, found) }
  }

  /// The newest set of a branch that leads to a tip of some cut, or may.
  func newestKept(_ branch: Branch) -> UInt64 {
    guard let found = cuts(of: branch.log), found.knowsAllTips else { return branch.sequence }
    return newest(branch) { sequence in
      found.places.values.contains { leads(branch.number, sequence, to: $0) }
    }
  }

  /// Lets go of the held sets that turn out to be allowed; false if there are none.
  func releaseHeld(in logs: Set<LogKey>) throws -> Bool {
    var count = 0
    for log in logs.sorted() where isCut(log) {
      for branch in self[log] {
        try connection.with(
          "UPDATE change_sets SET folded = 0 WHERE branch = ?1 AND sequence <= ?2 AND folded = 2"
        ) { row in
          try row.bind(1, branch.number)
          try row.bind(2, Int64(bitPattern: newestAllowed(branch)))
          try row.run()
        }
        count += connection.changes
      }
    }
    return count > 0
  }
}
