// Protocol/session.md, "What a peer is known to hold"

package import Wire

extension Replica {
  /// What one device is known to hold, by its own word: heads that it told, sets that it sent. What was sent to it
  /// counts only once it says so.
  package struct Holding: Hashable, Sendable {
    package var settings = LaneHolding()
    package var records = LaneHolding()
    /// When it was last in sync on every open lane.
    package var syncedAt: Moment?

    package init() {}

    package subscript(lane: Lane) -> LaneHolding {
      get { lane == .settings ? settings : records }
      // In place: a copy of many heads for each set that comes would be felt.
      _modify { if lane == .settings { yield &settings } else { yield &records } }
    }

    fileprivate mutating func advance(to heads: [LogHead]) {
      for head in heads { self[head.log.lane].heads.advance(to: head) }
    }
  }

  package struct LaneHolding: Hashable, Sendable {
    package var heads = Heads()
    /// When it last held exactly what was here.
    package var levelAt: Moment?
    /// When it last said anything of what it holds.
    package var toldAt: Moment?

    package init() {}
  }

  /// A peer told its heads, all of them or those that moved.
  mutating func noteTold(_ link: LinkID, _ lane: Lane, _ heads: [LogHead], isComplete: Bool, _ now: Now) {
    guard let peer = sessions[link]?.device else { return }
    if isComplete { holdings[peer]?[lane].heads = Heads() }
    // From one session to the next a peer could tell of ever more logs.
    let heads = holdings[peer]?[lane].heads.rememberable(heads) ?? heads
    holdings[peer, default: Holding()][lane].heads.observe(heads)
    holdings[peer, default: Holding()][lane].toldAt = now.wall
  }

  /// A peer was found to hold exactly the sets that are here.
  mutating func noteLevel(_ link: LinkID, _ lane: Lane, _ now: Now, isDigestEqual: Bool) {
    guard let peer = sessions[link]?.device else { return }
    let heads = self[lane].heads
    holdings[peer, default: Holding()][lane].heads = heads
    holdings[peer, default: Holding()][lane].toldAt = now.wall
    if isDigestEqual { holdings[peer]?[lane].levelAt = now.wall }
  }

  /// Who sends a set has it.
  mutating func noteSent(_ link: LinkID, _ heads: [LogHead]) {
    guard let peer = sessions[link]?.device, !heads.isEmpty else { return }
    holdings[peer, default: Holding()].advance(to: heads)
  }
}
