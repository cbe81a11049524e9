// Protocol/change-set.md, "Causal closure".
//
// Placement decides what the store does with a verified set. The store stays causally closed: the predecessor and the
// dependencies of every stored set are stored, and those of every folded set are folded, except for dependencies that a
// cut excludes. The checks run in this order, and the first that applies decides:
//
//     already stored                                             → duplicate
//     beyond the quota of its author                             → beyondQuota: dropped
//     all kept tips of its log are stored, so it leads to none,
//     or it lies beyond the line of a branch proof               → excluded
//     predecessor not stored                                     → missing: request it, the set comes again
//     clock not above the predecessor's, or other bytes of the
//     log so far                                                 → refused: the sender is at fault
//     for each dependency:
//       excluded by a cut                                        → skip it
//       not stored                                               → missing
//       clock not above the dependency's                         → clockConflict: only the author is at fault
//     otherwise                                                  → place, folded or not
//
// A placed set is folded at once, unless it is dated ahead (its clock is beyond `horizon`), its predecessor or a
// dependency is not folded, or a cut ends its log. In these cases, it is only stored. For an excluded dependency, it is
// enough that those of its ancestors that no cut excludes are folded. Sets that are dated ahead, and all sets that
// depend on them, are *parked* until their date.
//
//     log A:  1 ─ 2 ─ 3          log B:  1, depends on A 2
//
//     B 1 arrives first           missing(A, 2): dropped, A 1…2 are requested from the sender
//     A 1, A 2 arrive             place(folds: true)
//     B 1 again, 11 min ahead     place(folds: false): parked until ten minutes before its date
//     C 1, depends on B 1         place(folds: false): it waits for B 1, whatever its own date
//
// The decision uses only signed data and the store. The wall clock matters only through `horizon`, which delays folding
// and never rejects a set. If the sender or a local clock mattered beyond that, two devices with the same sets might
// never agree.

import Membership
package import Wire

/// A stored set, as placement sees it.
package struct StoredPosition: Hashable, Sendable {
  package let id: ChangeSetID
  package let clock: Clock
  package let isFolded: Bool
  /// The declared bytes of the log through this set.
  package let logBytes: UInt64

  package init(id: ChangeSetID, clock: Clock, isFolded: Bool, logBytes: UInt64) {
    self.id = id
    self.clock = clock
    self.isFolded = isFolded
    self.logBytes = logBytes
  }
}

/// The store's index of logs and cuts, as far as placement needs it.
package protocol LogIndex {
  /// Returns the set with this id at this sequence of a log; nil if the set is not stored.
  func stored(_ id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> StoredPosition?

  /// Returns the bytes that a device may write in a lane.
  func quota(of device: DeviceKey, _ lane: Lane) -> UInt64

  /// Whether a cut that is in effect here ends the log. A new set of such a log is folded only if it turns out to lead
  /// to a kept tip.
  func isEnded(_ log: LogKey) -> Bool

  /// Whether a set that is not stored is known to lead to none of the tips that the cuts of its log keep, or to lie
  /// beyond the line of a branch proof.
  func excludes(new id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) -> Bool

  /// Whether a cut excludes a set that another set depends on.
  func excludes(dependency id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool

  /// Whether all stored ancestors of an excluded dependency within its log are folded, except for those that a cut
  /// excludes.
  func isFolded(below id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool
}

/// The decision about a verified set that is to be stored.
package enum Placement: Hashable, Sendable {
  /// The set is stored. `folds` is false if the set must wait for its date, for a set that is not folded, or for a kept
  /// tip.
  case place(folds: Bool)
  case duplicate
  /// The set is not stored, because its log would hold more than its share of the author's quota.
  case beyondQuota
  /// The set is not stored, because a cut of its log excludes it.
  case excluded
  /// The set is not stored, because its predecessor or a dependency, at this sequence of this log, is missing. The set
  /// must be sent again later.
  case missing(LogKey, sequence: UInt64)
  /// The set is not stored, because its clock is not above that of a dependency that no cut in effect here excludes. A
  /// node that knows such a cut may have stored the set.
  case clockConflict
  /// The set is invalid and can never be stored. The text names the broken rule.
  case refused(String)

  /// Decides about a set on the basis of its header and the store.
  ///
  /// - Parameter horizon: the clock up to which sets are folded now. Later sets are parked.
  package static func of(
    _ set: VerifiedChangeSet, in index: some LogIndex, horizon: Clock
  ) throws -> Placement {
    let header = set.header
    if try index.stored(set.id, header.log, header.sequence) != nil { return .duplicate }
    let quota = index.quota(of: header.log.device, header.log.lane)
    let share = DeviceQuotas.share(of: quota, number: header.log.incarnation.number)
    guard set.logBytes <= share else { return .beyondQuota }
    if index.excludes(new: set.id, header.log, header.sequence) { return .excluded }
    var folds = header.clock <= horizon && !index.isEnded(header.log)
    if let previous = header.previous {
      guard let predecessor = try index.stored(previous, header.log, header.sequence - 1) else {
        return .missing(header.log, sequence: header.sequence - 1)
      }
      guard header.clock > predecessor.clock else { return .refused("a clock not above its predecessor's") }
      guard header.logBytes == predecessor.logBytes else { return .refused("wrong bytes of the log so far") }
      folds = folds && predecessor.isFolded
    }
    for dependency in header.dependencies {
      let log = LogKey(
        device: dependency.device, incarnation: dependency.incarnation, lane: header.log.lane)
      // A cut of one log must not block honest logs that depend on it.
      if try index.excludes(dependency: dependency.id, log, dependency.sequence) {
        folds = try folds && index.isFolded(below: dependency.id, log, dependency.sequence)
        continue
      }
      guard let seen = try index.stored(dependency.id, log, dependency.sequence) else {
        return .missing(log, sequence: dependency.sequence)
      }
      guard header.clock > seen.clock else { return .clockConflict }
      folds = folds && seen.isFolded
    }
    return .place(folds: folds)
  }
}
