// Protocol/circle.md, "What folds"

import LogStorage
import Replication
import SQLite
package import Wire

// Quarantine: sets that were received and verified, but have no position in the logs for now.
//
// A set gets here only by a rebuild (Store+Cuts.swift), for one of three reasons:
//
// 1. It is neither a kept tip nor an ancestor of one, and all kept tips of its log are stored.
// 2. It depends on a set that a cut had excluded. The cut is now void, so the dependency is required again, but it is
//    missing or its clock is not before the set's own clock (`hasClockConflict`). Sets that depend on such a set are
//    quarantined with it.
// 3. It is beyond the quota of its author, which has shrunk because the circle had no room for a grant, or it depends on
//    such a set.
// 4. It lies beyond the line of a branch proof.
//
//     log X    x1 ── x2 ── x3           x3 depends on nothing outside X; y5 depends on x3
//     log Y    y4 ── y5
//
//     cut of X at x2 in effect     x3 quarantined (1);  y5 stored: an excluded dependency is not required
//     cut void, x3 in quarantine   a rebuild places x3, then y5
//     cut void, x3 never received  y5 lacks an ancestor and is quarantined (2) until x3 arrives
//
// Quarantined sets (table `quarantine`) are not part of any head or digest, and are neither sent nor folded. They are
// kept because the cut may turn out to be void, and then peers would have to send them again. A rebuild puts them back.
// The rebuild is due when the cuts of a quarantined set's log, or of a log that the set depends on, change or take
// effect (`logsAroundQuarantine`), when the last missing ancestor is stored (`areAncestors`), or when a quota admits a
// set again (`hasReturning`).
//
// Without quarantine, a device that has applied a cut would lack these sets once the cut is void. They would be missing
// until a peer sent them again, and forever if no peer had kept them.

/// Lookups of quarantined sets.
extension Store {
  /// Returns the logs of the quarantined sets and of their dependencies. If the cuts of any of these logs change, sets
  /// may leave quarantine.
  func logsAroundQuarantine() throws -> Set<LogKey> {
    var found: Set<LogKey> = []
    try eachQuarantined { _, header in
      found.insert(header.log)
      found.formUnion(header.dependencies.map { $0.log(lane: header.log.lane) })
    }
    return found
  }

  /// Returns whether any sets of an incarnation are quarantined. Other devices may hold these sets, so writing at their
  /// positions would fork the log.
  package func hasQuarantined(_ device: DeviceKey, _ incarnation: Incarnation) throws -> Bool {
    var isFound = false
    try eachQuarantined { isFound = isFound || ($1.log.device, $1.log.incarnation) == (device, incarnation) }
    return isFound
  }

  /// Returns whether newly stored sets include the last missing ancestor of a quarantined set.
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

  /// Returns the missing ancestors of each quarantined set that waits for ancestors.
  private func readLacking() throws -> [Set<ChangeSetID>] {
    var found: [Set<ChangeSetID>] = []
    try eachQuarantined { id, header in
      // Whatever arrives, a set stays in quarantine if it leads to no kept tip, is beyond the quota, or has a clock
      // conflict.
      if try !mayReturn(id, header) || logs.hasClockConflict(header) { return }
      found.append(try logs.missingAncestors(of: header))
    }
    return found
  }

  private func mayReturn(_ id: ChangeSetID, _ header: ChangeSetHeader) -> Bool {
    !logs.excludes(new: id, header.log, header.sequence)
      && logs.isWithinQuota(header, headerBytes: header.encoded.count)
  }

  /// Returns whether a rebuild would put back a quarantined set.
  func hasReturning() throws -> Bool {
    var isFound = false
    try eachQuarantined { id, header in
      guard !isFound, mayReturn(id, header) else { return }
      isFound = try logs.hasAncestors(header)
    }
    return isFound
  }

  /// For those dependencies of a set that cuts have since removed, returns how far their logs are still stored: by
  /// branch, the newest remaining sequence. A cut removes only the end of a log, so the beginning still counts as seen.
  func seenBelowCuts(_ header: ChangeSetHeader) throws -> [Int64: UInt64] {
    var found: [Int64: UInt64] = [:]
    for dependency in header.dependencies {
      guard let kept = try newestKept(below: dependency.id) else { continue }
      found[kept.branch] = max(found[kept.branch] ?? 0, kept.sequence)
    }
    return found
  }

  /// Returns the newest stored ancestor of a quarantined set in the set's own log. Returns nil if there is none, or if
  /// a set between the two is missing.
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
    try connection.with("SELECT header FROM quarantine WHERE id = ?1") { row in
      try row.bind(1, id.bytes)
      return try row.step() ? try? ChangeSetHeader(decoding: row.bytes(0)) : nil
    }
  }

  func eachQuarantined(_ body: (ChangeSetID, ChangeSetHeader) throws -> Void) throws {
    try connection.with("SELECT id, header FROM quarantine") { row in
      while try row.step() {
        guard let id = ChangeSetID(bytes: row.bytes(0)),
          let header = try? ChangeSetHeader(decoding: row.bytes(1))
        else { continue }
        try body(id, header)
      }
    }
  }
}
