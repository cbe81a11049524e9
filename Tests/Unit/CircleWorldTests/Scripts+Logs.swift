import Replication

extension Script {
  /// Bob cuts his log and goes on in another one, and Alice revokes him.
  static let logCuts: [Script] = [nil, 0, 1, 2].flatMap { (end: Int?) in
    [0, 1, 3].flatMap { cut in
      [[], [3]].flatMap { (second: [Int]) in
        [true, false].flatMap { isValid in
          [[2], [3]].map { (seen: [Int]) in
            Script(
              name: "log cut after \(end ?? -1), revoked at \(cut) and \(second), "
                + "\(isValid ? "valid" : "void"), seen \(seen)",
              sets: [
                PlannedSet(author: .bob, entries: [.insert]),
                PlannedSet(author: .bob, previous: 0, entries: [.name("Roma")]),
                PlannedSet(author: .bob, previous: 1, entries: [.erase]),
                PlannedSet(
                  author: .bob, incarnation: 2, seen: end.map { [$0] } ?? [], entries: [.name("Bari")]),
                PlannedSet(author: .carol, seen: seen, entries: [.name("Rimini")]),
                PlannedSet(author: .carol, previous: 4, entries: [.notes("windy")]),
              ],
              statements: [
                .certificate(by: .root, for: .carol), .certificate(by: .root, for: .bob),
                .logCut(by: .bob, after: end),
                .revocation(by: .alice, of: .bob, kept: tip(cut) + second, valid: isValid ? [2] : []),
              ], heldAtStart: 2)
          }
        }
      }
    }
  }

  /// Bob's clock runs ahead, so his sets wait, and he is revoked twice.
  static let clocksAhead: [Script] = (0...3).flatMap { one in
    [0, 3].flatMap { other in
      [PlannedEntry.name("Rimini"), .erase, .delete].map { carol in
        Script(
          name: "clock ahead, cuts at \(one) and \(other), Carol's \(carol.type)",
          sets: [
            PlannedSet(author: .bob, entries: [.insert]),
            PlannedSet(author: .bob, previous: 0, entries: [.name("Roma")], isAhead: true),
            PlannedSet(author: .bob, previous: 1, entries: [.notes("hot")]),
            PlannedSet(author: .carol, seen: [0], entries: [carol]),
            PlannedSet(author: .dave, seen: [2, 3], entries: [.name("Bari")]),
          ],
          statements: [
            .certificate(by: .root, for: .carol), .certificate(by: .root, for: .bob),
            .certificate(by: .root, for: .dave),
            .revocation(by: .root, of: .bob, kept: tip(one)),
            .revocation(by: .alice, of: .bob, kept: tip(other)),
          ], heldAtStart: 3, timePasses: true)
      }
    }
  }

  /// Carol erases what Bob wrote, and both are revoked.
  static let erases: [Script] = [0, 1].flatMap { seen in
    [
      ([PlannedEntry.erase], PlannedEntry.restore), ([.erase], .name("Rimini")),
      ([.name("Rimini"), .erase], .delete),
    ]
    .flatMap { erase, next in
      [[], [2]].flatMap { (byBob: [Int]) in
        [[0], [3]].flatMap { (byDave: [Int]) in
          [[], [2], [3]].flatMap { (carol: [Int]) in
            [[0], [4]].map { (bob: [Int]) in
              Script(
                name: "erase after \(seen) then \(next.type), Bob has seen \(byBob), Dave \(byDave), "
                  + "Carol cut at \(carol), Bob at \(bob)",
                sets: [
                  PlannedSet(author: .bob, entries: [.insert]),
                  PlannedSet(author: .bob, previous: 0, entries: [.name("Roma")]),
                  PlannedSet(author: .carol, seen: [seen], entries: erase),
                  PlannedSet(author: .carol, previous: 2, entries: [next]),
                  PlannedSet(author: .bob, previous: 1, seen: byBob, entries: [.notes("hot")]),
                  PlannedSet(author: .dave, seen: byDave, entries: [.name("Bari")]),
                ],
                statements: [
                  .certificate(by: .root, for: .carol), .certificate(by: .root, for: .bob),
                  .certificate(by: .root, for: .dave),
                  .revocation(by: .root, of: .carol, kept: carol),
                  .revocation(by: .alice, of: .bob, kept: bob),
                ], heldAtStart: 3)
            }
          }
        }
      }
    }
  }
}
