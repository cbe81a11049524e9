import Replication

extension Script {
  /// Bob's log forks, as after a restore from an old copy, and two revocations keep some tips of both branches.
  ///
  ///     Bob     0 ── 1 ── 2            Carol   5, after she has seen some of this
  ///              ╲
  ///               3 ── 4
  static let forks: [Script] = [[], [1], [4], [2, 4]].flatMap { seen in
    [[], [1], [2], [3], [1, 3], [2, 4]].flatMap { one in
      [[0], [2], [3], [2, 4]].map { other in
        Script(
          name: "forked log, cuts at \(one) and \(other), seen \(seen)",
          sets: [
            PlannedSet(author: .bob, entries: [.insert]),
            PlannedSet(author: .bob, previous: 0, entries: [.name("Roma")]),
            PlannedSet(author: .bob, previous: 1, entries: [.notes("hot")]),
            PlannedSet(author: .bob, previous: 0, entries: [.name("Bari")]),
            PlannedSet(author: .bob, previous: 3, entries: [.delete]),
            PlannedSet(author: .carol, seen: seen, entries: [.name("Rimini"), .restore]),
          ],
          statements: [
            .certificate(by: .root, for: .carol), .certificate(by: .root, for: .bob),
            .revocation(by: .root, of: .bob, kept: one), .revocation(by: .alice, of: .bob, kept: other),
          ], heldAtStart: 2)
      }
    }
  }

  /// Bob wrote too many branches after a set, which two proofs show, and he is revoked.
  static let lines: [Script] = [[nil], [0], [1], [1, 0]].flatMap { (lines: [Int?]) in
    [nil, [], [0], [2], [1, 3]].flatMap { (kept: [Int]?) in
      [[1], [2], [3]].map { (seen: [Int]) in
        let revocation = kept.map { [PlannedStatement.revocation(by: .root, of: .bob, kept: $0)] } ?? []
        return Script(
          name: "branch proofs after \(lines), cut at \(kept.map { "\($0)" } ?? "nothing"), seen \(seen)",
          sets: [
            PlannedSet(author: .bob, entries: [.insert]),
            PlannedSet(author: .bob, previous: 0, entries: [.name("Roma")]),
            PlannedSet(author: .bob, previous: 1, entries: [.erase]),
            PlannedSet(author: .bob, previous: 0, entries: [.name("Bari")]),
            PlannedSet(author: .carol, seen: seen, entries: [.name("Rimini")]),
            PlannedSet(author: .carol, previous: 4, entries: [.notes("windy")]),
          ],
          statements: [.certificate(by: .root, for: .carol), .certificate(by: .root, for: .bob)]
            + lines.map { .branchProof(of: .bob, after: $0) } + revocation,
          heldAtStart: 2)
      }
    }
  }
}
