// Protocol/session.md, "Own log after a start"

import Membership
package import Wire

/// Own logs of one lane of which a part was sent to nobody yet.
struct WithheldLogs: Sendable {
  /// By log the newest set that may have been sent; sequence 0 if none.
  var sent: [LogKey: LogHead]
  /// Since when, on the steady clock, a connected peer has told what it holds of these logs.
  var toldAt: Moment?
  /// When to look again.
  var dueAt: Moment?
}

extension Replica {
  /// The heads of a lane as peers are told them: without own sets that are withheld.
  func shownHeads(_ lane: Lane) -> Heads {
    var heads = self[lane].heads
    for (log, sent) in withheld[lane]?.sent ?? [:] { heads.cut(log, behind: sent) }
    return heads
  }

  /// Whether what a peer asks for may be sent to it.
  func mayServe(_ want: Want) -> Bool {
    guard let sent = withheld[want.log.lane]?.sent[want.log] else { return true }
    return want.through <= sent.sequence
  }

  /// The shell knows better what of the own logs was sent; lanes that were let go stay so.
  mutating func withhold(_ sent: [LogKey: LogHead]) {
    for lane in Lane.allCases where withheld[lane] != nil {
      withheld[lane]?.sent = sent.filter { $0.key.lane == lane }
    }
  }

  /// Lets own sets go to peers as soon as all that are connected have told what they hold of the own logs.
  ///
  /// Another copy of this device's data may have written more: then a peer tells of it, and what is withheld gives
  /// way before anyone has seen it. Nobody can hold this up for long: a peer that says nothing, or promises sets
  /// and does not deliver, is waited for only so long after the first has told.
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
      let due = toldAt + patience(connected, lane, held)
      if now.steady >= due {
        effects.append(.release(lane))
      } else if held.dueAt != due {
        withheld[lane]?.dueAt = due
        effects.append(.schedule(.ownLogs(lane), after: due - now.steady))
      }
    }
  }

  private func patience(_ connected: [Session], _ lane: Lane, _ held: WithheldLogs) -> Moment {
    let isPromised = connected.contains { session in
      !session[lane].isStalled && held.sent.keys.contains { session[lane].lacking[$0] != nil }
    }
    if isPromised { return Limits.ownSetsMillisecondsMax }
    let isAwaited = connected.contains { $0.isAboutToTell(lane) }
    return isAwaited ? Limits.ownHeadsMillisecondsMax : Limits.ownHeadsMillisecondsMin
  }

  package func withholds(_ lane: Lane) -> Bool { withheld[lane] != nil }

  /// Whether a connected peer has sets of withheld logs that are not here, whether or not they still come.
  package func isToldOfMoreOwnSets(_ lane: Lane) -> Bool {
    guard let held = withheld[lane] else { return false }
    return sessions.values.contains { session in
      !session.isClosing && held.sent.keys.contains { session[lane].lacking[$0] != nil }
    }
  }

  /// The store keeps in mind that anything may have been sent from now on.
  mutating func released(_ lane: Lane, _ now: Now, _ effects: inout [Effect]) {
    guard let held = withheld.removeValue(forKey: lane) else { return }
    let heads = held.sent.keys.sorted().flatMap { self[lane].heads.tips(of: $0) }
    if !heads.isEmpty { pushOrAnnounce(lane, [], heads, now, &effects) }
  }
}

extension Session {
  /// Whether the peer will say by itself, or has yet to show, what it holds of a lane.
  fileprivate func isAboutToTell(_ lane: Lane) -> Bool {
    if device == nil || theirs == nil { return true }
    return self[lane].isOpen && !self[lane].hasTold
  }
}
