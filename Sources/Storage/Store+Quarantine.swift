// Protocol/circle.md, "What folds"

import Replication
import SQLite
package import Wire

/// Sets that have no place for now: they lead to no kept tip, or a cut that had left out what they stand on has ended.
extension Store {
  /// The logs of sets that have no place, and those that these sets have seen: the cuts of either may give them one.
  func logsAroundQuarantine() throws -> Set<LogKey> {
    var found: Set<LogKey> = []
    try eachQuarantined { _, header in
      found.insert(header.log)
      found.formUnion(header.dependencies.map { $0.log(lane: header.log.lane) })
    }
    return found
  }

  /// Whether sets of an incarnation have no place. Others may hold them: what is written in their place forks the log.
  package func hasQuarantined(_ device: DeviceKey, _ incarnation: Incarnation) throws -> Bool {
    var isFound = false
    try eachQuarantined { isFound = isFound || ($1.log.device, $1.log.incarnation) == (device, incarnation) }
    return isFound
  }

  /// Whether sets that have just been stored were all that one set aside stood on and that was not here.
  func areAncestors(_ ids: [ChangeSetID]) throws -> Bool {
    guard !ids.isEmpty else { return false }
    var lacking = try self.lacking ?? readLacking()
    guard !lacking.isEmpty else {
      self.lacking = []
      return false
    }
    let here = Set(ids)
    for index in lacking.indices { lacking[index].subtract(here) }
    self.lacking = lacking
    return lacking.contains { $0.isEmpty }
  }

  /// Of each set that waits for what it stands on, what that is.
  private func readLacking() throws -> [Set<ChangeSetID>] {
    var found: [Set<ChangeSetID>] = []
    try eachQuarantined { id, header in
      // What leads to no kept tip has no place, whatever comes; nor has what is dated before something it has seen.
      if try logs.excludes(new: id, header.log) || logs.hasClockConflict(header) { return }
      found.append(try logs.missingAncestors(of: header))
    }
    return found
  }

  /// Where a set has declared what cuts have taken out since, what of it stays: the newest sequences, by branch. A cut
  /// takes away the rest of a log, and nobody forgets the beginning.
  func seenBelowCuts(_ header: ChangeSetHeader) throws -> [Int64: UInt64] {
    var found: [Int64: UInt64] = [:]
    for dependency in header.dependencies {
      guard let kept = try newestKept(below: dependency.id) else { continue }
      found[kept.branch] = max(found[kept.branch] ?? 0, kept.sequence)
    }
    return found
  }

  /// What stays of what a set that a cut has taken out stands on in its log; nil if nothing does, or nobody knows.
  func newestKept(below id: ChangeSetID) throws -> (branch: Int64, sequence: UInt64)? {
    var next = try quarantined(id)
    while let header = next, let previous = header.previous {
      if let branch = try logs.branch(of: previous, header.log, header.sequence - 1) {
        return (branch.number, header.sequence - 1)
      }
      next = try quarantined(previous)
    }
    return nil
  }

  private func quarantined(_ id: ChangeSetID) throws -> ChangeSetHeader? {
    try connection.with("SELECT header FROM set_aside WHERE id = ?1") { row in
      try row.bind(1, id.bytes)
      return try row.step() ? try? ChangeSetHeader(decoding: row.bytes(0)) : nil
    }
  }

  private func eachQuarantined(_ body: (ChangeSetID, ChangeSetHeader) throws -> Void) throws {
    try connection.with("SELECT id, header FROM set_aside") { row in
      while try row.step() {
        guard let id = ChangeSetID(bytes: row.bytes(0)),
          let header = try? ChangeSetHeader(decoding: row.bytes(1))
        else { continue }
        try body(id, header)
      }
    }
  }
}

extension ChangeSetLogs {
  /// Whether all that a set stands on is here, or left out by a cut in effect, and dated before it.
  func hasAncestors(_ header: ChangeSetHeader) throws -> Bool {
    try missingAncestors(of: header).isEmpty && !hasClockConflict(header)
  }

  /// Whether a set is dated no later than something that it has seen, that is here, and that no cut in effect excludes.
  ///
  /// A cut may have kept that away when the set came.
  func hasClockConflict(_ header: ChangeSetHeader) throws -> Bool {
    try header.dependencies.contains { dependency in
      let log = dependency.log(lane: header.log.lane)
      guard let seen = try stored(dependency.id, log, dependency.sequence), header.clock <= seen.clock else {
        return false
      }
      return try !excludes(dependency: dependency.id, log, dependency.sequence)
    }
  }

  /// What a set stands on that is not stored, and that no cut in effect leaves out.
  func missingAncestors(of header: ChangeSetHeader) throws -> Set<ChangeSetID> {
    var missing: Set<ChangeSetID> = []
    if let previous = header.previous, try branch(of: previous, header.log, header.sequence - 1) == nil {
      missing.insert(previous)
    }
    for dependency in header.dependencies {
      let log = dependency.log(lane: header.log.lane)
      guard try branch(of: dependency.id, log, dependency.sequence) == nil else { continue }
      if try !excludes(dependency: dependency.id, log, dependency.sequence) { missing.insert(dependency.id) }
    }
    return missing
  }
}
