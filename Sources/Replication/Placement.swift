// Protocol/change-set.md, "Causal closure".

package import Wire

/// A set in the store, as the rules of placement see it.
package struct StoredPosition: Hashable, Sendable {
  package let id: ChangeSetID
  package let clock: Clock
  package let isFolded: Bool

  package init(id: ChangeSetID, clock: Clock, isFolded: Bool) {
    self.id = id
    self.clock = clock
    self.isFolded = isFolded
  }
}

/// What placement asks of the store.
package protocol LogIndex {
  /// A set of a log, if it is stored at that sequence.
  func stored(_ id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> StoredPosition?

  /// Whether a cut is in effect here that ends the log: a further set of it folds only if it turns out to be a kept
  /// tip.
  func isEnded(_ log: LogKey) -> Bool

  /// Whether a set that is not stored leads to none of the tips that cuts keep, as far as is known.
  func excludes(new id: ChangeSetID, _ log: LogKey) -> Bool

  /// Whether a cut excludes a set that another depends on.
  func excludes(dependency id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool

  /// Whether all is folded that an excluded dependency stands on and that no cut excludes, as far as it is stored.
  func isFolded(below id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool
}

/// What becomes of a verified set on its way into the store.
package enum Placement: Hashable, Sendable {
  /// It has its place; `folds` is false if it must wait for its time, or for a set that waits.
  case place(folds: Bool)
  case duplicate
  /// A cut of its log leaves it out.
  case excluded
  /// Its predecessor or a dependency is not here: it may come later.
  case missing(LogKey, sequence: UInt64)
  /// Its clock is not above that of a dependency, and no cut that is in effect here excludes that: it has no place
  /// as long as that is so. Whoever knows another cut may have stored it all the same.
  case clockConflict
  /// It can never have a place.
  case refused(String)

  /// Decides from the header and the store alone, but for `horizon`: the clock up to which sets fold now.
  package static func of(
    _ set: VerifiedChangeSet, in index: some LogIndex, horizon: Clock
  ) throws -> Placement {
    let header = set.header
    if try index.stored(set.id, header.log, header.sequence) != nil { return .duplicate }
    if index.excludes(new: set.id, header.log) { return .excluded }
    var folds = header.clock <= horizon && !index.isEnded(header.log)
    if let previous = header.previous {
      guard let predecessor = try index.stored(previous, header.log, header.sequence - 1) else {
        return .missing(header.log, sequence: header.sequence - 1)
      }
      guard header.clock > predecessor.clock else { return .refused("a clock not above its predecessor's") }
      folds = folds && predecessor.isFolded
    }
    for dependency in header.dependencies {
      let log = LogKey(
        device: dependency.device, incarnation: dependency.incarnation, lane: header.log.lane)
      // Honest logs go on, whatever becomes of a log that they have seen.
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
