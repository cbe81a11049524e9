// Sources/store.md, "Log"

import SQLite
package import Wire

/// The branches of a forked log, as a tree. A hostile device may fork a log at every set, so code that runs once per
/// set must not visit all branches.
extension ChangeSetLogs {
  /// Returns the branch that holds a set; nil if none does. A log that never forked has only one branch, which is
  /// returned even if the set is not stored.
  func branch(holding id: ChangeSetID, _ log: LogKey) throws -> Branch? {
    if branchCount(log) <= 1 { return self[log].first }
    if located[log] == nil { located[log] = try locate(log) }
    return located[log]?[id].flatMap { self[branch: $0] }
  }

  private func locate(_ log: LogKey) throws -> [ChangeSetID: Int64] {
    var found: [ChangeSetID: Int64] = [:]
    for branch in self[log] {
      try connection.with("SELECT id FROM change_sets WHERE branch = ?1") { row in
        try row.bind(1, branch.number)
        while try row.step() { if let id = ChangeSetID(bytes: row.bytes(0)) { found[id] = branch.number } }
      }
    }
    return found
  }

  // MARK: Down to the first set

  /// Returns the stretches that lead from a branch back to the log's first set, newest first.
  package func path(_ number: Int64, through sequence: UInt64 = .max) -> [Stretch] {
    var stretches: [Stretch] = []
    eachStretch(of: number, through: sequence) { stretch in
      stretches.append(stretch)
      return true
    }
    return stretches
  }

  /// Calls `body` for the stretches of a path, newest first, until it returns false.
  package func eachStretch(of number: Int64, through sequence: UInt64, _ body: (Stretch) -> Bool) {
    var next: Int64? = number
    var last = sequence
    while let branch = next.flatMap({ self[branch: $0] }) {
      last = min(last, branch.sequence)
      if last >= branch.first {
        guard body(Stretch(branch: branch.number, first: branch.first, last: last)) else { return }
      }
      last = min(last, branch.first - 1)
      next = branch.parent
    }
  }

  /// Returns the part of a path that lies in one branch; nil if the path does not pass through that branch.
  func stretch(_ number: Int64, through sequence: UInt64, on other: Int64) -> Stretch? {
    var next: Int64? = number
    var last = sequence
    while let branch = next.flatMap({ self[branch: $0] }) {
      last = min(last, branch.sequence)
      if branch.number == other {
        return last < branch.first ? nil : Stretch(branch: other, first: branch.first, last: last)
      }
      last = min(last, branch.first - 1)
      next = branch.parent
    }
    return nil
  }

  /// Returns the branches that a branch, excluding its parents, has declared as seen.
  func declaredBranches(_ number: Int64) throws -> [Int64] {
    var found: [Int64] = []
    // Reads one row per declared branch and skips the others, because a branch may have declared the same branch many
    // times.
    let sql =
      "SELECT dep_branch FROM dependencies WHERE branch = ?1 AND dep_branch > ?2 ORDER BY dep_branch LIMIT 1"
    try connection.with(sql) { row in
      var last: Int64 = 0
      while true {
        row.reset()
        try row.bind(1, number)
        try row.bind(2, last)
        guard try row.step() else { break }
        last = row.integer(0)
        found.append(last)
      }
    }
    return found
  }

  // MARK: Up to the tips

  /// Returns whether a branch's newest folded set is a folded head of the log: it lies in the branch itself, and no
  /// folded set of another branch descends from it.
  package func isFoldedHead(_ branch: Branch) -> Bool {
    guard branch.foldedSequence >= branch.first else { return false }
    return !(children[branch.number] ?? []).contains { number in
      guard let child = self[branch: number] else { return false }
      return child.first > branch.foldedSequence && child.foldedSequence >= child.first
    }
  }

  /// Returns the branches whose path back to the first set includes a given set. The branch that holds the set comes
  /// first.
  func branches(through number: Int64, _ sequence: UInt64) -> [Int64] {
    var found = [number]
    var rest = (children[number] ?? []).filter { self[branch: $0].map { $0.first > sequence } ?? false }
    while let next = rest.popLast() {
      found.append(next)
      rest += children[next] ?? []
    }
    return found
  }

  // MARK: Too many branches

  package func isExcessive(_ tree: LogTree) -> Bool { treeBranches[tree] ?? 0 > Limits.branchesMax }

  /// Returns whether a set is the first one of its branch.
  package func hasBegun(_ place: SetPosition) -> Bool {
    self[branch: place.branch]?.first == UInt64(bitPattern: place.sequence)
  }
}
