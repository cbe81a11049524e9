import Replication

extension Script {
  /// Alice revokes Bob, and the root key revokes Alice. It keeps her revocation or makes it void.
  static let voidedRevocations: [Script] = (0...3).flatMap { cut in
    [true, false].flatMap { isValid in
      [[], [4]].flatMap { (kept: [Int]) in
        [[1], [3], [2, 4]].flatMap { (seen: [Int]) in
          [PlannedEntry.name("Bari"), .erase].map { last in
            Script(
              name: "cut at \(cut), \(isValid ? "valid" : "void"), revoker cut at \(kept), seen \(seen), "
                + "last \(last.type)",
              sets: [
                PlannedSet(author: .bob, entries: [.insert]),
                PlannedSet(author: .bob, previous: 0, entries: [.name("Roma")]),
                PlannedSet(author: .bob, previous: 1, entries: [last]),
                PlannedSet(author: .alice, seen: [1], entries: [.name("Rimini")]),
                PlannedSet(author: .alice, previous: 3, entries: [.notes("windy")]),
                PlannedSet(author: .carol, seen: seen, entries: [.name("Rovigo")]),
              ],
              statements: [
                .certificate(by: .root, for: .carol), .certificate(by: .root, for: .bob),
                .revocation(by: .alice, of: .bob, kept: tip(cut)),
                .revocation(by: .root, of: .alice, kept: kept, valid: isValid ? [2] : []),
              ], heldAtStart: 2)
          }
        }
      }
    }
  }

  /// Bob certifies Dave and revokes Carol. Alice revokes Bob and keeps some of these statements.
  static let chains: [Script] = (0...2).flatMap { bob in
    [[4], [5]].flatMap { (carol: [Int]) in
      [[], [2], [3], [2, 3]].flatMap { (valid: [Int]) in
        [[], [1]].map { (seen: [Int]) in
          Script(
            name: "Bob cut at \(bob), Carol at \(carol), valid \(valid), Dave has seen \(seen)",
            sets: [
              PlannedSet(author: .bob, entries: [.insert]),
              PlannedSet(author: .bob, previous: 0, entries: [.name("Roma")]),
              PlannedSet(author: .dave, seen: seen, entries: [.name("Bari")]),
              PlannedSet(author: .dave, previous: 2, entries: [.erase]),
              PlannedSet(author: .carol, seen: [1], entries: [.name("Rimini")]),
              PlannedSet(author: .carol, previous: 4, seen: [2], entries: [.notes("windy")]),
            ],
            statements: [
              .certificate(by: .root, for: .carol), .certificate(by: .alice, for: .bob),
              .certificate(by: .bob, for: .dave, isAdmin: false),
              .revocation(by: .bob, of: .carol, kept: carol),
              .revocation(by: .alice, of: .bob, kept: tip(bob), valid: valid),
            ], heldAtStart: 2)
        }
      }
    }
  }

  /// Bob and Carol revoke each other, and the root key revokes Carol.
  static let mutualRevocations: [Script] = (0...2).flatMap { bob in
    [[2], [3]].flatMap { (carol: [Int]) in
      [true, false].flatMap { isValid in
        [[], [3]].flatMap { (byRoot: [Int]) in
          [[1], [1, 3]].map { (seen: [Int]) in
            Script(
              name: "Bob cut at \(bob), Carol at \(carol) and \(byRoot), \(isValid ? "valid" : "void"), "
                + "Dave has seen \(seen)",
              sets: [
                PlannedSet(author: .bob, entries: [.insert]),
                PlannedSet(author: .bob, previous: 0, entries: [.delete]),
                PlannedSet(author: .carol, seen: [0], entries: [.name("Rimini")]),
                PlannedSet(author: .carol, previous: 2, seen: [1], entries: [.restore]),
                PlannedSet(author: .dave, seen: seen, entries: [.name("Bari")]),
              ],
              statements: [
                .certificate(by: .root, for: .carol), .certificate(by: .root, for: .bob),
                .certificate(by: .root, for: .dave),
                .revocation(by: .carol, of: .bob, kept: tip(bob)),
                .revocation(by: .bob, of: .carol, kept: carol),
                .revocation(by: .root, of: .carol, kept: byRoot, valid: isValid ? [3] : []),
              ], heldAtStart: 3)
          }
        }
      }
    }
  }
}
