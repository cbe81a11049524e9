// Protocol/session.md, "What a peer is known to hold"

package import Wire

extension Replica {
  /// The sets that a device is known to hold, because it announced their heads or sent them. Sets that were sent to the
  /// device count only once it has announced them.
  package struct Holding: Hashable, Sendable {
    package var settings = LaneHolding()
    package var records = LaneHolding()
    /// When the device was last in sync on every open lane.
    package var syncedAt: Moment?

    package init() {}

    package subscript(lane: Lane) -> LaneHolding {
      get { lane == .settings ? settings : records }
      // Yields in place, because copying many heads for each received set would be slow.
      _modify { if lane == .settings { yield &settings } else { yield &records } }
    }

    fileprivate mutating func advance(to heads: [LogHead]) {
      for head in heads { self[head.log.lane].heads.advance(to: head) }
    }
  }

  package struct LaneHolding: Hashable, Sendable {
    package var heads = Heads()
    /// When the peer last held exactly the same sets as this device, by the wall clock.
    package var levelAt: Moment?
    /// When the peer last announced what it holds, by the wall clock.
    package var toldAt: Moment?

    package init() {}
  }

  /// Records heads that a peer announced: all its heads, or those that moved.
  mutating func noteTold(_ link: LinkID, _ lane: Lane, _ heads: [LogHead], isComplete: Bool, _ now: Now) {
    guard let peer = sessions[link]?.device else { return }
    if isComplete { holdings[peer]?[lane].heads = Heads() }
    // The number of heads is bounded, because a peer could announce ever more logs from session to session.
    let heads = holdings[peer]?[lane].heads.rememberable(heads) ?? heads
    holdings[peer, default: Holding()][lane].heads.observe(heads)
    holdings[peer, default: Holding()][lane].toldAt = now.wall
  }

  /// Records that a peer holds exactly the same sets as this device.
  mutating func noteLevel(_ link: LinkID, _ lane: Lane, _ now: Now, isDigestEqual: Bool) {
    guard let peer = sessions[link]?.device else { return }
    let heads = self[lane].heads
    holdings[peer, default: Holding()][lane].heads = heads
    holdings[peer, default: Holding()][lane].toldAt = now.wall
    if isDigestEqual { holdings[peer]?[lane].levelAt = now.wall }
  }

  /// Records sets that a peer sent, and therefore holds.
  mutating func noteSent(_ link: LinkID, _ heads: [LogHead]) {
    guard let peer = sessions[link]?.device, !heads.isEmpty else { return }
    holdings[peer, default: Holding()].advance(to: heads)
  }
}
