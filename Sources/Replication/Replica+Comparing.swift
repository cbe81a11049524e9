// Protocol/session.md, "Summary and state"

import Membership
import Wire

extension Replica {
  /// Where this node stands, as it says it to a peer.
  private func summary(for peer: DeviceKey, now: Moment) -> Summary {
    Summary(
      certificates: circle.setHash, wall: now, settings: laneSummary(settings, .open),
      records: laneSummary(records, recordsReason(for: peer, now: now)))
  }

  private func laneSummary(_ lane: LaneState, _ reason: ReasonCode) -> Summary.LaneState {
    Summary.LaneState(
      reason: reason, heads: lane.hashes.stored, folded: lane.hashes.folded, digest: lane.digest.sum)
  }

  /// Sends the summary unless the peer has it already.
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

  /// Follows up wherever the two summaries differ: statements first, then the heads of open lanes.
  private mutating func compare(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let session = sessions[link], let theirs = session.theirs else { return }
    if theirs.certificates == circle.setHash {
      sessions[link]?.peer?.statements.foundEqual()
      noteEqualStatements(link, &effects)
    } else if session.isInitiator, sessions[link]?.peer?.statements.request(now) == true {
      // One side begins, so that the lists do not cross.
      effects.append(.send(link, .statementIDs(circle.ids, reply: true)))
    }
    compareLanes(link, isFresh: true, now, &effects)
  }

  /// - Parameter isFresh: the peer's summary has just come. An older one decides only for lanes of which
  ///   nothing newer is known.
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
      // While sets are on their way the heads move by themselves; a list would only repeat them.
      guard session[lane].request == nil, !session[lane].isServing else { return }
      tellAllHeads(link, lane, now, &effects)
    }
  }

  /// The peer was found to hold exactly what is here: it may also be asked for what is damaged here.
  private mutating func level(
    _ link: LinkID, _ lane: Lane, isDigestEqual: Bool, _ now: Now, _ effects: inout [Effect]
  ) {
    let mine = self[lane].heads
    sessions[link]?[lane].open?.level(with: mine, isDigestEqual: isDigestEqual)
    noteLevel(link, lane, now, isDigestEqual: isDigestEqual)
    if !damaged.isEmpty { ask(link, lane, now, &effects) }
  }

  // MARK: One hash of everything

  /// The hash of all that the two sides of a session should have in common.
  func stateHash(_ session: Session) -> Bytes32 {
    var input = circle.setHash.bytes
    for lane in Lane.allCases where session[lane].isOpen {
      input.append(lane.rawValue)
      self[lane].hashes.stored.append(to: &input)
      self[lane].hashes.folded.append(to: &input)
      self[lane].digest.sum.append(to: &input)
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

  /// The peer stands where this side stands: what it said before is out of date.
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

  /// In sync means equal certificates, equal folded heads and equal digests on every open lane.
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

  /// The state changed; peers hear of it once the burst is over and has had the time to reach them.
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
      // Where sets are on their way, their end brings the next comparison.
      if session.canCompare, !hasAgreed { askState(session, now, &effects) }
    }
    awaitSettle(now, &effects)
  }

  /// What the peer had more of is here: whoever is done last finds that the two agree.
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

  /// Only the side that dialled beats; the other's answer carries its own hash.
  mutating func scheduleBeat(_ link: LinkID, _ effects: inout [Effect]) {
    guard sessions[link]?.isInitiator == true else { return }
    let jitter = Moment(random.below(UInt64(Self.beatMilliseconds / 2)))
    effects.append(.schedule(.beat(link), after: Self.beatMilliseconds * 3 / 4 + jitter))
  }

  static let beatMilliseconds: Moment = 5_000
}
