// Protocol/session.md, "Summary and state"
//
// How two connected devices find out whether they agree. There are three levels. Each of them is used only where the
// cheaper level before it has found a difference:
//
//     state     one hash of everything the two should have in common
//     summary   a hash for each part: certificates; for each lane stored heads, folded heads, digest
//     lists     statement ids, or the heads of one lane
//
//       initiator                              responder
//          │ ── state(h, token, echo) ──────────▶ │
//          │ ◀──────────── state(nil, token) ──── │    equal: the two are in sync, done
//          │ ◀──────────── state(h′, token) ───── │    or different: each side sends its summary
//          │ ── summary ────────────────────────▶ │
//          │ ◀───────────────────── summary ───── │
//          │ ── statementIDs(reply) ────────────▶ │    certificates differ; only the initiator begins
//          │ ◀────────── heads(lane, complete) ── │    heads of a lane differ; both sides send theirs
//          │ ── heads(lane, complete) ──────────▶ │    then each requests what it lacks: Replica+Sets.swift
//
// A session starts at the second level: each side sends a summary after the introductions. Lanes are compared only once
// the statements are equal or exchanged, so that the author of a set is known before the set arrives. If heads are
// equal but digests differ, sending sets can't repair that, so it is reported as a digest mismatch.
//
// When is `state` sent?
// - After a change: 20 ms and one round trip later, once per burst (`settle`). By the time that the question arrives, a
//   set that was announced has been requested and sent. If the question came sooner, the two sides would follow up a
//   difference that is about to disappear. The initiator asks. The responder asks only if no question arrives in time,
//   so that questions do not cross.
// - After catching up: by the side whose request is complete (`caughtUp`). It does not ask if the request was for fewer
//   than eight sets and the two sides have agreed before in this session.
// - About every five seconds by the initiator (`beat`). Without it, a push that got lost would leave the two sides in
//   different states.

import Membership
package import Wire

extension Replica {
  /// Returns the summary of this node's state for a peer.
  private func summary(for peer: DeviceKey, now: Moment) -> Summary {
    Summary(
      certificates: circle.setHash, wall: now, settings: laneSummary(settings, .open),
      records: laneSummary(records, recordsReason(for: peer, now: now)))
  }

  private func laneSummary(_ lane: LaneState, _ reason: ReasonCode) -> Summary.LaneState {
    Summary.LaneState(
      reason: reason, heads: lane.hashes.stored, folded: lane.hashes.folded, digest: lane.digest.sum)
  }

  /// Sends the summary unless the peer already has it.
  mutating func say(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let peer = sessions[link]?.device else { return }
    let summary = summary(for: peer, now: now.wall)
    if sessions[link]?.peer?.send(summary) == true { effects.append(.send(link, .summary(summary))) }
  }

  mutating func receivedSummary(
    _ link: LinkID, _ summary: Summary, _ now: Now, _ effects: inout [Effect]
  ) {
    if sessions[link]?.peer?.received(summary, now) == false { chargeRedundant(link, now, &effects) }
    judgeLanes(link, now, &effects)
    say(link, now, &effects)
    compare(link, now, &effects)
  }

  /// Follows up the parts in which the two summaries differ: statements first, then the heads of open lanes.
  private mutating func compare(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let session = sessions[link], let theirs = session.theirs else { return }
    if theirs.certificates == circle.setHash {
      sessions[link]?.peer?.statements.foundEqual()
      noteEqualStatements(link, &effects)
    } else if session.isInitiator, sessions[link]?.peer?.statements.request(now) == true {
      // Only one side begins, so that the two lists do not cross.
      effects.append(.send(link, .statementIDs(circle.ids, reply: true)))
    }
    compareLanes(link, isFresh: true, now, &effects)
  }

  /// - Parameter isFresh: whether the peer's summary has just arrived. An older summary is used only for lanes whose
  ///   heads the peer has not sent since.
  mutating func compareLanes(
    _ link: LinkID, isFresh: Bool, _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link], let theirs = session.theirs, session.knowsStatements else { return }
    for lane in Lane.allCases where isFresh || session[lane].theirs == nil {
      compare(link, lane, theirs[lane], now, &effects)
    }
    noteSync(link, now, &effects)
  }

  private mutating func compare(
    _ link: LinkID, _ lane: Lane, _ theirs: Summary.LaneState, _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link], session[lane].isOpen else { return }
    let mine = self[lane]
    if theirs.heads == mine.hashes.stored, theirs.folded == mine.hashes.folded {
      let isEqual = theirs.digest == mine.digest.sum
      if !isEqual, session[lane].isDigestEqual != false, let peer = session.device {
        effects.append(.report(.digestMismatch(peer, lane)))
      }
      level(link, lane, isDigestEqual: isEqual, now, &effects)
    } else {
      sessions[link]?[lane].open?.isDigestEqual = nil
      // While sets are in flight, the heads move anyway, and a list of heads would only repeat them.
      guard session[lane].request == nil, !session[lane].isServing else { return }
      tellAllHeads(link, lane, now, &effects)
    }
  }

  /// Records that the peer holds exactly the same sets as this side. The peer can now be asked for sets that are
  /// damaged here, and for missing values.
  private mutating func level(
    _ link: LinkID, _ lane: Lane, isDigestEqual: Bool, _ now: Now, _ effects: inout [Effect]
  ) {
    let mine = self[lane].heads
    sessions[link]?[lane].open?.level(with: mine, isDigestEqual: isDigestEqual)
    noteLevel(link, lane, now, isDigestEqual: isDigestEqual)
    if !damaged.isEmpty { ask(link, lane, now, &effects) }
    requestValues(now, &effects)
  }

  // MARK: State hash

  /// Returns the hash of everything that the two sides of a session should have in common.
  func stateHash(_ session: Session) -> Bytes32 {
    let open = Lane.allCases.filter { session[$0].isOpen }
    return Self.stateHash(circle.setHash, open.map { ($0, laneSummary(self[$0], .open)) })
  }

  /// - Parameter lanes: the lanes that are open on both sides, settings first.
  package static func stateHash(_ certificates: Bytes32, _ lanes: [(Lane, Summary.LaneState)]) -> Bytes32 {
    var input = certificates.bytes
    for (lane, state) in lanes {
      input.append(lane.rawValue)
      state.heads.append(to: &input)
      state.folded.append(to: &input)
      state.digest.append(to: &input)
    }
    return blake2b256(HeadsPrefix.state, input)
  }

  mutating func receivedState(
    _ link: LinkID, _ hash: Bytes32?, _ token: UInt64, _ echo: Bool, _ now: Now,
    _ effects: inout [Effect]
  ) {
    chargeRedundant(link, now, &effects)
    guard let session = sessions[link], !session.isClosing else { return }
    let mine = stateHash(session)
    if echo {
      effects.append(.send(link, .state(hash == mine ? nil : mine, token: token, echo: false)))
    }
    let verdict = sessions[link]?.receivedState(
      hash, token, isAnswer: !echo, mine: mine, newestChangeAt: newestChangeAt, now)
    switch verdict {
    case .equal:
      for lane in Lane.allCases where session[lane].isOpen {
        level(link, lane, isDigestEqual: true, now, &effects)
      }
      noteEqualStatements(link, &effects)
      agree(link)
      noteSync(link, now, &effects)
    case .different: say(link, now, &effects)
    case .unclear, nil: break
    }
  }

  /// Updates the peer's summary after the hashes were equal, which shows that the peer is in the same state as this
  /// side.
  private mutating func agree(_ link: LinkID) {
    guard let session = sessions[link] else { return }
    sessions[link]?.peer?.summary?.certificates = circle.setHash
    for lane in Lane.allCases where session[lane].isOpen {
      let mine = self[lane]
      sessions[link]?.peer?.summary?[lane].heads = mine.hashes.stored
      sessions[link]?.peer?.summary?[lane].folded = mine.hashes.folded
      sessions[link]?.peer?.summary?[lane].digest = mine.digest.sum
    }
  }

  /// Updates whether the peer is in sync. It is in sync if the certificates, and the heads and digests of every open
  /// lane, are equal on both sides.
  mutating func noteSync(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let session = sessions[link], let peer = session.device else { return }
    let isInSync =
      session.theirs?.certificates == circle.setHash
      && Lane.allCases.allSatisfy { !session[$0].isOpen || session[$0].isDigestEqual == true }
    sessions[link]?.peer?.isInSync = isInSync
    guard isInSync else { return }
    holdings[peer, default: Holding()].syncedAt = now.wall
    if !session.isInSync { effects.append(.report(.inSync(peer))) }
  }

  /// Schedules a comparison after a change, for the time when the burst of changes is over and has had time to reach
  /// the peers.
  mutating func scheduleSettle(_ now: Now, _ effects: inout [Effect]) {
    newestChangeAt = now.steady
    for link in sessions.keys where sessions[link]?.changedAt == nil {
      sessions[link]?.changedAt = now.steady
    }
    awaitSettle(now, &effects)
  }

  private mutating func awaitSettle(_ now: Now, _ effects: inout [Effect]) {
    guard let next = sessions.values.compactMap(\.comparesAt).min() else { return }
    if let settlesAt, settlesAt <= next { return }
    settlesAt = next
    effects.append(.schedule(.settle, after: max(next - now.steady, 1)))
  }

  mutating func settle(_ now: Now, _ effects: inout [Effect]) {
    settlesAt = nil
    for session in sessionsInOrder {
      guard let due = session.comparesAt, due <= now.steady else { continue }
      sessions[session.link]?.changedAt = nil
      let hasAgreed = session.isInSync && session.peer?.states.agreed == stateHash(session)
      // While sets are in flight, the end of their transfer triggers the next comparison.
      if session.canCompare, !hasAgreed { askState(session, now, &effects) }
    }
    awaitSettle(now, &effects)
  }

  /// Compares after this side has received what it requested. Whichever side finishes last finds that the two agree.
  mutating func caughtUp(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let session = sessions[link], session.canCompare else { return }
    askState(session, now, &effects)
  }

  private mutating func askState(_ session: Session, _ now: Now, _ effects: inout [Effect]) {
    let hash = stateHash(session)
    guard let token = sessions[session.link]?.peer?.states.ask(hash, now) else { return }
    effects.append(.send(session.link, .state(hash, token: token, echo: true)))
  }

  mutating func beat(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let session = sessions[link], session.device != nil, !session.isClosing else { return }
    askState(session, now, &effects)
    scheduleBeat(link, &effects)
  }

  /// Schedules the next regular comparison. Only the side that dialled does this, because the answer contains the other
  /// side's hash.
  mutating func scheduleBeat(_ link: LinkID, _ effects: inout [Effect]) {
    guard sessions[link]?.isInitiator == true else { return }
    let jitter = Moment(random.below(UInt64(Self.beatMilliseconds / 2)))
    effects.append(.schedule(.beat(link), after: Self.beatMilliseconds * 3 / 4 + jitter))
  }

  static let beatMilliseconds: Moment = 5_000
}
