import Replication

extension Script {
  /// Everything in one world: Bob's log forks and he cuts it, Carol erases what he wrote, and both are revoked.
  ///
  ///     Bob     0 ── 1                 Carol   3 erases, 4 restores          Dave    5
  ///              ╲
  ///               2
  static let combined: [Script] = [0, 1].flatMap { (end: Int) in
    [[2], [1, 2]].flatMap { (bob: [Int]) in
      [true, false].flatMap { isValid in
        [[3], [4]].flatMap { (carol: [Int]) in
          [0, 1].map { seen in
            Script(
              name:
                "log cut after \(end), Bob cut at \(bob), \(isValid ? "valid" : "void"), Carol at \(carol), "
                + "erase after \(seen)",
              sets: [
                PlannedSet(author: .bob, entries: [.insert]),
                PlannedSet(author: .bob, previous: 0, entries: [.name("Roma")]),
                PlannedSet(author: .bob, previous: 0, entries: [.name("Bari")]),
                PlannedSet(author: .carol, seen: [seen], entries: [.erase]),
                PlannedSet(author: .carol, previous: 3, seen: [2], entries: [.notes("windy"), .restore]),
                PlannedSet(author: .dave, seen: [3], entries: [.name("Rimini")]),
              ],
              statements: [
                .certificate(by: .root, for: .carol), .certificate(by: .root, for: .bob),
                .certificate(by: .root, for: .dave), .logCut(by: .bob, after: end),
                .revocation(by: .root, of: .bob, kept: bob, valid: isValid ? [3] : []),
                .revocation(by: .alice, of: .carol, kept: carol),
              ], heldAtStart: 3)
          }
        }
      }
    }
  }
}
