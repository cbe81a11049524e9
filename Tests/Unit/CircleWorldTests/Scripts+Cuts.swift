import Replication
import Wire

extension PlannedEntry {
  static let insert = PlannedEntry(type: .insert, trip: 1, fields: [1: "Rome", 2: "sunny"])
  static let erase = PlannedEntry(type: .erase, trip: 1)
  static let delete = PlannedEntry(type: .delete, trip: 1)
  static let restore = PlannedEntry(type: .restore, trip: 1)

  static func name(_ text: String) -> PlannedEntry { PlannedEntry(type: .put, trip: 1, fields: [1: text]) }
  static func notes(_ text: String) -> PlannedEntry { PlannedEntry(type: .put, trip: 1, fields: [2: text]) }
}

/// Bob's log of three sets, and Carol's log of two, which has seen a part of it.
private struct TwoLogs {
  let seen: Int
  let last: PlannedEntry

  static let all = (0...3).flatMap { seen in
    [PlannedEntry.name("Bari"), .erase, .delete].map { TwoLogs(seen: seen, last: $0) }
  }

  var sets: [PlannedSet] {
    [
      PlannedSet(author: .bob, entries: [.insert]),
      PlannedSet(author: .bob, previous: 0, entries: [.name("Roma")]),
      PlannedSet(author: .bob, previous: 1, entries: [last]),
      PlannedSet(author: .carol, seen: seen > 0 ? [seen - 1] : [], entries: [.name("Rimini")]),
      PlannedSet(author: .carol, previous: 3, entries: [.notes("windy")]),
    ]
  }

  var name: String { "seen \(seen), last \(last.type)" }
}

/// The tip of a kept log at one of its sets; none for 0.
func tip(_ count: Int) -> [Int] { count > 0 ? [count - 1] : [] }

extension Script {
  /// Two revocations of Bob, by the root key and by Alice, each with its own cut.
  static let cuts: [Script] = TwoLogs.all.flatMap { logs in
    (0...3).flatMap { one in
      (one...3).map { other in
        Script(
          name: "cuts at \(one) and \(other), \(logs.name)", sets: logs.sets,
          statements: [
            .certificate(by: .root, for: .carol), .certificate(by: .alice, for: .bob),
            .revocation(by: .root, of: .bob, kept: tip(one)),
            .revocation(by: .alice, of: .bob, kept: tip(other)),
          ], heldAtStart: 1)
      }
    }
  }
}
