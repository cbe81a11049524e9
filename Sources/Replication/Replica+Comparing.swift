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
    if let said = sessions[link]?.said, said.saysTheSame(as: summary) { return }
    sessions[link]?.said = summary
    effects.append(.send(link, .summary(summary)))
  }

  mutating func receivedSummary(
    _ link: LinkID, _ summary: Summary, _ now: Now, _ effects: inout [Effect]
  ) {
    if sessions[link]?.theirs?.saysTheSame(as: summary) == true { needless(link, now, &effects) }
    sessions[link]?.theirs = summary
    sessions[link]?.clockSkew = summary.wall - now.wall
    judgeLanes(link, now, &effects)
    say(link, now, &effects)
    compare(link, now, &effects)
  }

  /// Follows up wherever the two summaries differ: statements first, then the heads of open lanes.
  private mutating func compare(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let session = sessions[link], let theirs = session.theirs else { return }
    if theirs.certificates == circle.setHash {
      sessions[link]?.knowsStatements = true
      noteEqualStatements(link, &effects)
    } else if session.isInitiator, !session.isAskingStatements, !hasJustAsked(session, now) {
      // One side begins, so that the lists do not cross.
      sessions[link]?.isAskingStatements = true
      sessions[link]?.askedStatementsAt = now.steady
      effects.append(.send(link, .statementIDs(circle.ids, reply: true)))
    }
    compareLanes(link, isFresh: true, now, &effects)
  }

  /// In a flood of statements the two sides differ all the time: then not every difference is followed up.
  private func hasJustAsked(_ session: Session, _ now: Now) -> Bool {
    session.askedStatementsAt.map { now.steady < $0 + Limits.statementIDsMilliseconds } ?? false
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
      sessions[link]?[lane].isLevel(with: mine.heads)
      sessions[link]?[lane].isDigestEqual = isEqual
      noteLevel(link, lane, now, isDigestEqual: isEqual)
      if !damaged.isEmpty { ask(link, lane, now, &effects) }
    } else {
      sessions[link]?[lane].isDigestEqual = nil
      // While sets are on their way the heads move by themselves; a list would only repeat them.
      guard session[lane].asked.isEmpty, !session[lane].isServing else { return }
      tellAllHeads(link, lane, now, &effects)
    }
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
    needless(link, now, &effects)
    guard let session = sessions[link], !session.isClosing else { return }
    let mine = stateHash(session)
    if echo {
      effects.append(.send(link, .state(hash == mine ? nil : mine, token: token, echo: false)))
    } else if token <= UInt64(clamping: now.steady) {
      sessions[link]?.roundTrip = now.steady - Moment(clamping: token)
      sessions[link]?.echoes &+= 1
    }
    // What the peer agreed with may not be what is here now: then the next comparison decides.
    guard hash != nil || session.stateAsked(token) == mine else { return }
    if hash == nil || hash == mine {
      sessions[link]?.changedAt = nil
      sessions[link]?.differsSince = nil
      sessions[link]?.agreedState = mine
      for lane in Lane.allCases where session[lane].isOpen {
        let heads = self[lane].heads
        sessions[link]?[lane].isLevel(with: heads)
        sessions[link]?[lane].isDigestEqual = true
        noteLevel(link, lane, now, isDigestEqual: true)
        if !damaged.isEmpty { ask(link, lane, now, &effects) }
      }
      sessions[link]?.knowsStatements = true
      noteEqualStatements(link, &effects)
      agree(link)
      noteSync(link, now, &effects)
    } else {
      sessions[link]?.isInSync = false
      // In the midst of changes the two differ all the time, and what is on its way is compared at the end of it.
      let isSettling = now.steady < newestChangeAt + session.settlingMilliseconds
      let since = session.differsSince ?? now.steady
      sessions[link]?.differsSince = since
      guard !isSettling || now.steady >= since + Self.changingMilliseconds else { return }
      sessions[link]?.differsSince = now.steady
      if !session.isInitiator { sessions[link]?.changedAt = nil }
      // The full summary shows which part differs. It is repeated even if nothing changed here since: a list
      // of heads that got lost must not leave the two apart.
      if session.isQuiet { sessions[link]?.said = nil }
      say(link, now, &effects)
    }
  }

  /// The peer stands where this side stands: what it said before is out of date.
  private mutating func agree(_ link: LinkID) {
    guard let session = sessions[link] else { return }
    sessions[link]?.theirs?.certificates = circle.setHash
    for lane in Lane.allCases where session[lane].isOpen {
      let mine = self[lane]
      sessions[link]?.theirs?[lane].heads = mine.hashes.stored
      sessions[link]?.theirs?[lane].folded = mine.hashes.folded
      sessions[link]?.theirs?[lane].digest = mine.digest.sum
    }
  }

  /// In sync means equal certificates, equal folded heads and equal digests on every open lane.
  mutating func noteSync(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let session = sessions[link], let peer = session.device else { return }
    let isInSync =
      session.theirs?.certificates == circle.setHash
      && Lane.allCases.allSatisfy { !session[$0].isOpen || session[$0].isDigestEqual == true }
    sessions[link]?.isInSync = isInSync
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
      let hasAgreed = session.isInSync && session.agreedState == stateHash(session)
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
    let (token, hash) = (UInt64(clamping: now.steady), stateHash(session))
    // Of two questions in one millisecond an answer would not say which it means.
    let isClear = session.askedState?.token != token || session.askedState?.hash == hash
    sessions[session.link]?.askedState = (token, isClear ? hash : nil)
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

  private static let changingMilliseconds: Moment = 1_000
  static let beatMilliseconds: Moment = 5_000
}

extension Summary {
  /// Equal but for the time of day.
  fileprivate func saysTheSame(as other: Summary) -> Bool {
    certificates == other.certificates && settings == other.settings && records == other.records
  }
}

extension Session {
  /// When what changed here is to be compared with the peer, on the steady clock; nil if nothing did.
  ///
  /// One side asks, so that the questions do not cross. The other makes sure that it does, when a question would
  /// be here.
  fileprivate var comparesAt: Moment? {
    let wait = settlingMilliseconds + (isInitiator ? 0 : Self.lateMilliseconds + patience)
    return changedAt.map { $0 + wait }
  }

  /// How long a change may be on its way to the peer: a set that is announced, asked for and sent takes one and a
  /// half round trips, and a question that is sent after one arrives with it. Asked sooner, the two would follow up
  /// a difference that is about to go.
  fileprivate var settlingMilliseconds: Moment { Self.settleMilliseconds + patience }

  /// A peer that was busy once, or says what it likes, puts no comparison off for long.
  private var patience: Moment { min(roundTrip ?? 0, Self.roundTripMillisecondsMax) }

  private static let settleMilliseconds: Moment = 20
  private static let lateMilliseconds: Moment = 40
  private static let roundTripMillisecondsMax: Moment = 500

  fileprivate var canCompare: Bool { device != nil && !isClosing && isQuiet }

  /// The hash that this side asked about with a token.
  fileprivate func stateAsked(_ token: UInt64) -> Bytes32? {
    askedState.flatMap { $0.token == token ? $0.hash : nil }
  }

  /// Nothing was asked for that is still to come, in either direction.
  var isQuiet: Bool {
    Lane.allCases.allSatisfy { self[$0].asked.isEmpty && !self[$0].isServing }
  }
}
