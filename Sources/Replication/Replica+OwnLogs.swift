// Protocol/session.md, "Own logs after a start"
//
// A device may start with an old copy of its data, such as a restored disk image, without noticing. Peers may then hold
// sets that it wrote before and no longer knows. If it sent new sets at once, two different sets could exist at the
// same sequence: its log would fork. So the sets that it writes after a start, and those that an earlier run had not
// released, are withheld lane by lane until peers have shown what they hold of our logs.
//
//     our old copy:     40                        a peer holds:   40 ─ 41a ─ 42a
//     we write:         40 ─ 41b                  41b is withheld: the heads we send end at 40
//     peer connects:    its heads say 42a         we request 41a and 42a
//     41a arrives:      it diverges from 41b      41b is re-authored under a new incarnation, then 41a is stored
//     then:             40 ─ 41a ─ 42a            and a new log with the contents of 41b: no fork
//
// States of a lane, looked at after every input (`considerOwnLogs`):
//
//     withheld ──▶ waiting ──▶ Effect.release ──▶ released
//        ▲            │        (saved durably)    (`withheld[lane]` is nil)
//        └────────────┘
//     withheld:  no connected peer has sent all its heads of the lane, or an equal hash of them
//     waiting:   one has (at `toldAt`); how long to wait from then:
//                  20 ms   every other connected peer has done so too, or its lane is closed
//                   5 s    another connected peer has yet to do so
//                  60 s    a peer has announced sets of the withheld logs that are missing here and may still come
//
// The waits are bounded, so that a peer that is silent, or announces sets that it does not deliver, delays our changes
// only once, and briefly. If no peer connects, the lane stays withheld and writing continues. A released lane stays
// released until the node stops. Re-authoring happens in the engine: Replicator+OwnLogs.swift.

import Membership
package import Wire

/// Tails of our own logs in one lane that are withheld from peers.
struct WithheldLogs: Sendable {
  /// For each log, the newest set that may have been sent, with sequence 0 if there is none. Later sets are withheld.
  var sent: [LogKey: LogHead]
  /// When a connected peer finished announcing its heads of the lane, on the steady clock; nil while no connected peer
  /// has. The wait for the release begins at this moment.
  var toldAt: Moment?
  /// When the scheduled timer fires, on the steady clock.
  var dueAt: Moment?
}

extension Replica {
  /// Returns the heads of a lane that are announced to peers, which leave out withheld sets.
  func shownHeads(_ lane: Lane) -> Heads {
    var heads = self[lane].heads
    for (log, sent) in withheld[lane]?.sent ?? [:] { heads.cut(log, behind: sent) }
    return heads
  }

  /// Whether a peer's request contains no withheld sets.
  func mayServe(_ want: Want) -> Bool {
    guard let sent = withheld[want.log.lane]?.sent[want.log] else { return true }
    return want.through <= sent.sequence
  }

  /// Updates the newest sets of our own logs that may have been sent. Released lanes stay released.
  mutating func withhold(_ sent: [LogKey: LogHead]) {
    for lane in Lane.allCases where withheld[lane] != nil {
      withheld[lane]?.sent = sent.filter { $0.key.lane == lane }
    }
  }

  /// Releases each withheld lane that is due, or schedules when to check again.
  mutating func considerOwnLogs(_ now: Now, _ effects: inout [Effect]) {
    for lane in Lane.allCases {
      guard let held = withheld[lane] else { continue }
      let connected = sessionsInOrder.filter { !$0.isClosing }
      guard connected.contains(where: { $0[lane].hasTold }) else {
        withheld[lane]?.toldAt = nil
        continue
      }
      let toldAt = held.toldAt ?? now.steady
      withheld[lane]?.toldAt = toldAt
      let due = toldAt + waitingTime(connected, lane, held)
      if now.steady >= due {
        effects.append(.release(lane))
      } else if held.dueAt != due {
        withheld[lane]?.dueAt = due
        effects.append(.schedule(.ownLogs(lane), after: due - now.steady))
      }
    }
  }

  private func waitingTime(_ connected: [Session], _ lane: Lane, _ held: WithheldLogs) -> Moment {
    let isPromised = connected.contains { session in
      !session[lane].isStalled && held.sent.keys.contains { session[lane].lacking[$0] != nil }
    }
    if isPromised { return Limits.ownSetsMillisecondsMax }
    let isAwaited = connected.contains { $0.isAboutToTell(lane) }
    return isAwaited ? Limits.ownHeadsMillisecondsMax : Limits.ownHeadsMillisecondsMin
  }

  package func withholds(_ lane: Lane) -> Bool { withheld[lane] != nil }

  /// Whether a connected peer has announced sets of withheld logs that are missing here, even if they may never arrive.
  package func isToldOfMoreOwnSets(_ lane: Lane) -> Bool {
    guard let held = withheld[lane] else { return false }
    return sessions.values.contains { session in
      !session.isClosing && held.sent.keys.contains { session[lane].lacking[$0] != nil }
    }
  }

  /// Announces the sets of a lane after its release has been saved durably.
  mutating func released(_ lane: Lane, _ now: Now, _ effects: inout [Effect]) {
    guard let held = withheld.removeValue(forKey: lane) else { return }
    let heads = held.sent.keys.sorted().flatMap { self[lane].heads.tips(of: $0) }
    if !heads.isEmpty { pushOrAnnounce(lane, [], heads, now, &effects) }
  }
}

extension Session {
  /// Whether the peer is still expected to announce its heads of a lane.
  fileprivate func isAboutToTell(_ lane: Lane) -> Bool {
    if device == nil || theirs == nil { return true }
    return self[lane].isOpen && !self[lane].hasTold
  }
}
