// Protocol/session.md, "Gossip"

import Membership
import Wire

extension Replica {
  /// Handles a commit: pushes our own sets, announces received ones, and requests what is still missing.
  mutating func committed(_ committed: Committed, _ now: Now, _ effects: inout [Effect]) {
    let moved = Dictionary(grouping: committed.heads, by: \.log.lane)
    let gone = Dictionary(grouping: committed.goneHeads, by: \.log.lane)
    settings.advance(moved[.settings] ?? [], gone: gone[.settings] ?? [], committed.settingsDigest)
    records.advance(moved[.records] ?? [], gone: gone[.records] ?? [], committed.recordsDigest)
    newestForeignClock = max(newestForeignClock, committed.newestForeignClock)
    let unparked = committed.nextParkedClock.map { $0.milliseconds - Limits.clockDriftMilliseconds }
    if let due = [unparked, committed.nextHeldErase].compactMap({ $0 }).min() {
      effects.append(.schedule(.unpark, after: Self.wait(until: due, now)))
    }
    judge(committed.items, &effects)
    noteBeyondQuota(committed.items, now, &effects)
    noteSenders(committed.items, now, &effects)
    // A clock folded from another device may have moved gate time.
    updateTime(now, &effects)
    for lane in Lane.allCases {
      let heads = moved[lane] ?? []
      settleAsked(lane, now, &effects)
      guard !heads.isEmpty else { continue }
      forgetComparison(lane)
      let own = committed.items.filter { $0.link == nil && $0.set.header.log.lane == lane }.map(\.set)
      pushOrAnnounce(lane, own, heads, now, &effects)
    }
    if !committed.heads.isEmpty { scheduleSettle(now, &effects) }
    requestValues(now, &effects)
  }

  /// Handles rebuilt logs. The store no longer holds the same sets as before, so everything is compared again.
  mutating func rebuilt(
    _ settings: LaneState, _ records: LaneState, _ now: Now, _ effects: inout [Effect]
  ) {
    for (lane, state) in [(Lane.settings, settings), (.records, records)] {
      let asked = self[lane].asked
      self[lane] = state
      self[lane].asked = asked
      forgetComparison(lane)
      // Forget missing tips, except in our own withheld logs. The sets that peers announced there are still awaited,
      // because withheld sets may have to yield to them.
      let own = withheld[lane]?.sent ?? [:]
      for link in sessions.keys { sessions[link]?[lane].open?.forgetLacking { own[$0] != nil } }
    }
    for session in sessionsInOrder where session.device != nil && !session.isClosing {
      sessions[session.link]?.peer?.lastSummarySent = nil
      say(session.link, now, &effects)
    }
    // If sets dated ahead were cut, gate time may go back. Sets that were added back may be waiting to be folded.
    gateMayHaveChanged(now, &effects)
    effects.append(.foldParked)
    scheduleSettle(now, &effects)
  }

  /// Forgets that a lane was found equal. This is called after the lane has changed.
  private mutating func forgetComparison(_ lane: Lane) {
    for session in sessionsInOrder where session[lane].isOpen {
      sessions[session.link]?[lane].open?.isDigestEqual = nil
      sessions[session.link]?.peer?.isInSync = false
    }
  }

  /// Closes sessions whose peer sent an invalid set. Forks, clock conflicts and sets beyond the quota are
  /// not the sender's fault.
  private mutating func judge(_ items: [Committed.Item], _ effects: inout [Effect]) {
    for item in items {
      switch item.placement {
      case .refused(let rule):
        if let link = item.link { drop(link, .misbehaved(rule), &effects) }
      case .place, .duplicate, .beyondQuota, .excluded, .missing, .clockConflict: break
      }
    }
  }

  /// Updates what peers are known to hold, and the progress of requests, according to the sets that the peers sent.
  private mutating func noteSenders(
    _ items: [Committed.Item], _ now: Now, _ effects: inout [Effect]
  ) {
    let arrived = items.filter(\.hasArrived).map(\.set)
    for lane in Lane.allCases {
      let sets = arrived.filter { $0.header.log.lane == lane }
      for link in sessions.keys where !sets.isEmpty { sessions[link]?[lane].open?.noteArrivals(sets) }
    }
    // Each session is accessed only once, because updating it for each set would be slow.
    let batches = Dictionary(grouping: items.filter { $0.link != nil }) { $0.link ?? LinkID(0) }
    for (link, batch) in batches.sorted(by: { $0.key < $1.key }) {
      var unneeded = 0
      var heads: [LogHead] = []
      for lane in Lane.allCases {
        let sent = batch.filter { $0.set.header.log.lane == lane }
        // A lane that has closed in the meantime keeps no state.
        guard !sent.isEmpty, let count = sessions[link]?[lane].open?.noteSent(sent, now) else { continue }
        unneeded += count
        heads += sent.map(\.head)
      }
      if unneeded > 0 { chargeRedundant(link, points: unneeded, now, &effects) }
      noteSent(link, heads)
    }
  }

  /// Removes arrived sets from the requests, and requests what is missing now.
  private mutating func settleAsked(_ lane: Lane, _ now: Now, _ effects: inout [Effect]) {
    let mine = shownHeads(lane)
    for session in sessionsInOrder {
      let link = session.link
      for log in sessions[link]?[lane].open?.settleRequest(mine) ?? [] { self[lane].asked[log] = nil }
      if sessions[link]?[lane].open?.takeAnswerEnd() == true { receivedServed(link, lane, now, &effects) }
      ask(link, lane, now, &effects)
      if let request = session[lane].request, sessions[link]?[lane].request == nil,
        session.isCatchingUp(request)
      {
        caughtUp(link, now, &effects)
      }
    }
  }

  mutating func pushOrAnnounce(
    _ lane: Lane, _ own: [VerifiedChangeSet], _ moved: [LogHead], _ now: Now,
    _ effects: inout [Effect]
  ) {
    let (own, heads) = withheld[lane] == nil ? (own, moved) : ([], shown(moved, lane))
    for session in sessionsInOrder where !session.isClosing { judgeLanes(session.link, now, &effects) }
    let open = sessionsInOrder.filter { $0[lane].isOpen && !$0.isClosing && $0[lane].theirs != nil }
    // A large transaction is announced and then sent on request, so that back-pressure applies to it.
    let isSmall = own.reduce(0) { $0 + $1.raw.byteCount } <= Self.pushBytesMax
    let pushed = own.isEmpty || !isSmall ? [] : chosen(open.map(\.link))
    let mine = shownHeads(lane)
    for session in open {
      // If a log has forked, only the tips that moved are announced, because it may have very many.
      let lacking = heads.filter { session[lane].theirs?.lacks($0, among: mine.tipCount(of: $0.log)) ?? true }
      guard !lacking.isEmpty else { continue }
      if pushed.contains(session.link), session[lane].theirs?.lacksOnly(own) == true {
        effects.append(.send(session.link, .sets(lane, own)))
        sessions[session.link]?[lane].open?.pushed(lacking)
      } else {
        announce(lacking, session, lane, &effects)
      }
    }
  }

  /// Announces to a peer the heads that moved, except in logs that the peer receives from other peers. If a set does
  /// not reach the peer that way, the next comparison shows that.
  private mutating func announce(
    _ heads: [LogHead], _ session: Session, _ lane: Lane, _ effects: inout [Effect]
  ) {
    let elsewhere = session[lane].open?.elsewhere ?? []
    let told = heads.filter { !elsewhere.contains($0.log) }
    guard !told.isEmpty else { return }
    sessions[session.link]?[lane].open?.noteAnnounced(told.map(\.log).filter { $0.device != device })
    tell(showingForks(told, lane), session.link, lane, isComplete: false, &effects)
  }

  /// Returns the given heads in order of logs. A single tip would hide that its log has forked, so a second tip of a
  /// forked log is added.
  private func showingForks(_ heads: [LogHead], _ lane: Lane) -> [LogHead] {
    let mine = shownHeads(lane)
    return Dictionary(grouping: heads, by: \.log).sorted { $0.key < $1.key }.flatMap { log, tips in
      guard tips.count == 1, mine.tipCount(of: log) > 1 else { return tips }
      return tips + mine.tips(of: log).lazy.filter { $0.id != tips[0].id }.prefix(1)
    }
  }

  /// Returns the heads that moved. In logs with withheld sets, returns the tips without the withheld sets instead.
  private func shown(_ moved: [LogHead], _ lane: Lane) -> [LogHead] {
    let heads = shownHeads(lane)
    let isWithheld = withheld[lane]?.sent ?? [:]
    let held = Set(moved.map(\.log).filter { isWithheld[$0] != nil }).sorted()
    return moved.filter { isWithheld[$0.log] == nil } + held.flatMap { heads.tips(of: $0) }
  }

  /// Chooses the peers to push to: all of them if there are at most eight, otherwise ⌈ln n⌉ + 2 of them at random. The
  /// other peers get announcements.
  private mutating func chosen(_ links: [LinkID]) -> Set<LinkID> {
    guard links.count > Limits.pushToAllPeersMax else { return Set(links) }
    var rest = links
    var picked: Set<LinkID> = []
    while picked.count < Self.fanout(links.count), !rest.isEmpty {
      picked.insert(rest.remove(at: Int(random.below(UInt64(rest.count)))))
    }
    return picked
  }

  /// Returns ⌈ln n⌉ + 2 without using floating point. The table contains the powers of e, rounded down, up to the limit
  /// on connections.
  private static func fanout(_ count: Int) -> Int {
    let powers = [1, 2, 7, 20, 54, 148]
    return (powers.firstIndex { count <= $0 } ?? powers.count) + 2
  }

  /// The most bytes of an operation's sets that are sent to peers without being requested.
  package static let pushBytesMax = 128 * 1024
}

extension Session {
  /// Whether a request catches up on sets that this side missed, rather than fetching a single new change.
  fileprivate func isCatchingUp(_ request: SetRequest) -> Bool {
    peer?.states.agreed == nil || request.count >= Self.catchUpSets
  }

  private static let catchUpSets: UInt64 = 8
}

extension Heads {
  /// Whether these sets, which are consecutive sets of one log, directly continue one of its tips.
  fileprivate func lacksOnly(_ sets: [VerifiedChangeSet]) -> Bool {
    guard let first = sets.first?.header else { return false }
    let tips = tips(of: first.log)
    return first.previous == nil ? tips.isEmpty : tips.contains { $0.id == first.previous }
  }
}

extension Committed.Item {
  /// Whether the set is stored or is not needed.
  fileprivate var hasArrived: Bool {
    switch placement {
    case .place, .duplicate, .beyondQuota, .excluded: true
    case .missing, .clockConflict, .refused: false
    }
  }

  /// The set as a tip of its log.
  var head: LogHead {
    LogHead(log: set.header.log, sequence: set.header.sequence, id: set.id, foldedSequence: 0)
  }
}
