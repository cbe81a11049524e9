// Protocol/change-set.md, "Causal closure"

package import Replication
package import Wire

/// What a set depends on and is not stored.
extension ChangeSetLogs {
  /// Returns whether all ancestors of a set are stored with earlier clocks, or are excluded by a cut in effect.
  package func hasAncestors(_ header: ChangeSetHeader) throws -> Bool {
    try missingAncestors(of: header).isEmpty && !hasClockConflict(header)
  }

  /// Returns whether a set's clock is not later than that of a stored dependency that no cut in effect excludes.
  ///
  /// This can happen if a cut excluded the dependency when the set arrived, because the clocks were not compared then.
  package func hasClockConflict(_ header: ChangeSetHeader) throws -> Bool {
    try header.dependencies.contains { dependency in
      let log = dependency.log(lane: header.log.lane)
      guard let seen = try stored(dependency.id, log, dependency.sequence), header.clock <= seen.clock else {
        return false
      }
      return try !excludes(dependency: dependency.id, log, dependency.sequence)
    }
  }

  /// Returns the predecessor of a set if it is not stored, and the dependencies of the set that are neither stored nor
  /// excluded by a cut in effect.
  package func missingAncestors(of header: ChangeSetHeader) throws -> Set<ChangeSetID> {
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
