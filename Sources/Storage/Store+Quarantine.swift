// Protocol/circle.md, "What folds"

import Replication
import SQLite
package import Wire

// Quarantine: sets that were received and verified, but have no position in the logs for now.
//
// A set gets here only by a rebuild (Store+Cuts.swift), for one of two reasons:
//
// 1. It is neither a kept tip nor an ancestor of one, and all kept tips of its log are in store.
// 2. It depends on a set that a cut had excluded. The cut is void now, so that the dependency is required again; but
//    that is missing, or its clock is not before the set's own (`hasClockConflict`). Sets that depend on such a set
//    follow it here.
//
//     log X    x1 ── x2 ── x3           x3 depends on nothing outside X; y5 depends on x3
//     log Y    y4 ── y5
//
//     cut of X at x2 in effect     x3 quarantined (1);  y5 stored: an excluded dependency is not required
//     cut void, x3 in quarantine   a rebuild places x3, then y5
//     cut void, x3 never received  y5 lacks an ancestor and is quarantined (2) until x3 arrives
//
// Quarantined sets (table `set_aside`) are in no head and no digest, and are neither sent nor folded. They are kept
// because the cut may turn out to be void, and then peers would have to send them again. They return by a rebuild,
// which is due when the cuts of their log or of one that they depend on change or take effect
// (`logsAroundQuarantine`), or when the last missing ancestor is stored (`areAncestors`).
//
// Without a quarantine, a device that has applied a cut would lack these sets once the cut is void: until a peer sends
// them again, and for good if no peer has kept them.

/// Lookups of quarantined sets.
extension Store {
  /// The logs of the quarantined sets and of their dependencies: a change of the cuts of either may release sets.
  func logsAroundQuarantine() throws -> Set<LogKey> {
    var found: Set<LogKey> = []
    try eachQuarantined { _, header in
      found.insert(header.log)
      found.formUnion(header.dependencies.map { $0.log(lane: header.log.lane) })
    }
    return found
  }

  /// Whether sets of an incarnation are quarantined. Other devices may hold them, so writing at their positions would
  /// fork the log.
  package func hasQuarantined(_ device: DeviceKey, _ incarnation: Incarnation) throws -> Bool {
    var isFound = false
    try eachQuarantined { isFound = isFound || ($1.log.device, $1.log.incarnation) == (device, incarnation) }
    return isFound
  }

  /// Whether newly stored sets were the last missing ancestors of a quarantined set.
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

  /// For each quarantined set that waits for ancestors, the missing ones.
  private func readLacking() throws -> [Set<ChangeSetID>] {
    var found: [Set<ChangeSetID>] = []
    try eachQuarantined { id, header in
      // A set that leads to no kept tip stays here whatever arrives, and so does one with a clock conflict.
      if try logs.excludes(new: id, header.log) || logs.hasClockConflict(header) { return }
      found.append(try logs.missingAncestors(of: header))
    }
    return found
  }

  /// What remains of the dependencies of a set that cuts have removed since: the newest remaining sequence, by
  /// branch. A cut removes the end of a log; its beginning still counts as seen.
  func seenBelowCuts(_ header: ChangeSetHeader) throws -> [Int64: UInt64] {
    var found: [Int64: UInt64] = [:]
    for dependency in header.dependencies {
      guard let kept = try newestKept(below: dependency.id) else { continue }
      found[kept.branch] = max(found[kept.branch] ?? 0, kept.sequence)
    }
    return found
  }

  /// The newest stored ancestor, in its own log, of a quarantined set; nil if there is none or the way to it is
  /// unknown.
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
  /// Whether all ancestors of a set are stored, with earlier clocks, or excluded by a cut in effect.
  func hasAncestors(_ header: ChangeSetHeader) throws -> Bool {
    try missingAncestors(of: header).isEmpty && !hasClockConflict(header)
  }

  /// Whether the clock of a set is not after that of a stored dependency that no cut in effect excludes.
  ///
  /// A cut may have kept that dependency out when the set arrived, so that clocks were not compared.
  func hasClockConflict(_ header: ChangeSetHeader) throws -> Bool {
    try header.dependencies.contains { dependency in
      let log = dependency.log(lane: header.log.lane)
      guard let seen = try stored(dependency.id, log, dependency.sequence), header.clock <= seen.clock else {
        return false
      }
      return try !excludes(dependency: dependency.id, log, dependency.sequence)
    }
  }

  /// The predecessor and dependencies of a set that are neither stored nor excluded by a cut in effect.
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
