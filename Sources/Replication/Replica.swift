// Protocol/session.md
//
// The replica is the replication core of a node, written as a value: events in, effects out. It does no I/O and reads
// no clock. The shell (store, sockets and timers) passes each event to `handle`, carries out the effects in order, and
// reports their results as further events. This lets the simulator run many nodes from one seed and repeat every run
// exactly, so effects must never depend on the order of a dictionary.
//
//     event from the shell           effects                              decided in
//     opened, received(introduction) send introduction, send summary      Replica+SessionStart
//     received(summary)              send statementIDs, send heads        Replica+Comparison, +Certificates
//     received(heads)                send want, or lookUp forked tips     Replica+Sets
//     received(sets)                 commit                               Replica+Sets
//     committed                      push own sets, announce heads,       Replica+Gossip
//                                    schedule the next comparison
//     timer(settle)                  send state                           Replica+Comparison
//     received(want)                 serve: the shell reads and sends     Replica+Sets
//
// `handle` does four things, in this order:
//
// 1. A changed preference takes effect. If the person turns sync off, step 2 must not send anything on lanes that close
//    with it.
// 2. `updateTime` judges the gates again if their last verdicts no longer hold, so that no event is handled on a lane
//    that should be closed by now.
// 3. `dispatch` handles the input itself.
// 4. As long as a lane withholds sets, `considerOwnLogs` runs after every input, because any input may be the last
//    one that the release of the lane was waiting for.
//
// Which sets are valid depends on signed data only (Placement.swift). The clocks in `now` affect only gates, timeouts
// and rate limits.

package import Membership
package import Wire

/// The replication core: decides which messages a node sends to its peers and which sets enter its store.
///
/// It is a value and does no I/O. The shell passes every event to `handle` and carries out the effects in order.
package struct Replica: Sendable {
  package let device: DeviceKey
  package var circle: Circle
  package var preference: Bool
  package var localPremium: LocalPremium
  package internal(set) var settings: LaneState
  package internal(set) var records: LaneState
  package internal(set) var sessions: [LinkID: Session] = [:]
  /// When each device was last in sync with this one, by the wall clock.
  package var lastSync: [DeviceKey: Moment] { holdings.compactMapValues(\.syncedAt) }
  /// The sets that each device is known to hold. Saved by the shell.
  package var holdings: [DeviceKey: Holding] = [:]
  /// The devices that are known to hold each revocation. Saved by the shell.
  package var acknowledgedRevocations: [StatementID: Set<DeviceKey>] = [:]
  /// The newest clock in any folded set of another device.
  package internal(set) var newestForeignClock: Clock
  /// The tails of our own logs that are withheld until peers have announced what they hold, by lane. A lane that was
  /// released, or that withholds nothing, has no entry.
  var withheld: [Lane: WithheldLogs] = [:]
  /// Stored sets that the disk has altered, by log; see `Replica+Repair`.
  package internal(set) var damaged: [LogKey: [LogHead]] = [:]
  /// The logs of which sets beyond the quota were dropped.
  package internal(set) var full = FullLogs()
  /// The slots that are missing from stored sets; see `Replica+Values`.
  var values = ValueWants()
  /// When each device last failed to deliver sets that it had announced, on the steady clock.
  var brokenPromises: [DeviceKey: Moment] = [:]
  /// Each member's budget for redundant messages. Survives reconnecting.
  var repetition: [DeviceKey: Allowance] = [:]
  /// Each member's budget for new statements.
  var newStatements: [DeviceKey: Allowance] = [:]
  /// When the state of this node last changed, on the steady clock.
  var newestChangeAt = -Moment.max / 2
  /// When the next comparison after a change is scheduled, on the steady clock.
  var settlesAt: Moment?
  /// The exchange of files with all peers whose records lane is open.
  package internal(set) var files = FileExchange()
  /// False while the disk is full. Then no sets are requested, because they could not be stored.
  var canKeep = true
  var gateAnnounced: GateReason?
  /// The lower bound of gate time: the latest time-based gate change, of this device or of a connected peer, that this
  /// device has seen take effect. Saved by the shell.
  package var gateFloor: Moment?
  /// Both clocks at the last input.
  var lastNow: Now?
  /// The interval of gate time during which the last verdicts on our own gate and on those of connected peers remain
  /// valid; nil until the node starts serving.
  var gatesHold: Range<Moment>?
  var random: SplitMix

  /// The state of this node in one lane.
  package struct LaneState: Sendable {
    package internal(set) var heads: Heads
    package internal(set) var digest: Digest
    /// The hashes of `heads`, cached for comparisons.
    private(set) var hashes: (stored: Bytes32, folded: Bytes32)
    /// The link from which a log's sets were requested, so that the same sets are not requested from another peer.
    var asked: [LogKey: LinkID] = [:]

    package init(heads: [LogHead], digest: Digest) {
      self.heads = Heads(heads)
      self.digest = digest
      hashes = (self.heads.storedHash, self.heads.foldedHash)
    }

    mutating func advance(_ moved: [LogHead], gone: [LogHead], _ digest: Digest) {
      self.digest = digest
      guard !moved.isEmpty || !gone.isEmpty else { return }
      heads.move(moved, gone: gone)
      hashes = (heads.storedHash, heads.foldedHash)
    }
  }

  /// - Parameters:
  ///   - withheld: the newest set of each of our own logs that may have been sent, with sequence 0 if none may have
  ///     been. A lane without entries withholds nothing.
  ///   - seed: randomizes jitter, the choice of peers to push to, and similar decisions; nodes need not share a seed.
  package init(
    device: DeviceKey, circle: Circle, preference: Bool, localPremium: LocalPremium,
    settings: LaneState, records: LaneState, withheld: [LogKey: LogHead] = [:], newestForeignClock: Clock,
    seed: UInt64
  ) {
    self.device = device
    self.circle = circle
    self.preference = preference
    self.localPremium = localPremium
    self.settings = settings
    self.records = records
    self.newestForeignClock = newestForeignClock
    random = SplitMix(seed: seed)
    for (lane, logs) in Dictionary(grouping: withheld, by: \.key.lane) {
      self.withheld[lane] = WithheldLogs(sent: Dictionary(uniqueKeysWithValues: logs.map { ($0, $1) }))
    }
  }

  /// Handles one event and appends the effects for the shell.
  package mutating func handle(_ input: Input, now: Now, into effects: inout [Effect]) {
    // Must come first, so that nothing is sent on a lane that the person has just closed.
    if case .preferenceChanged(let preference) = input { self.preference = preference }
    updateTime(now, &effects)
    dispatch(input, now, &effects)
    if !withheld.isEmpty { considerOwnLogs(now, &effects) }
  }

  private mutating func dispatch(_ input: Input, _ now: Now, _ effects: inout [Effect]) {
    switch input {
    case .started:
      // The shell reports the initial gate itself, so only later changes are reported from here.
      gateAnnounced = ownGate(now: now.wall).reason
      scheduleGate(now, &effects)
      effects.append(.foldParked)
    case .opened(let link, let remote, let introduction):
      opened(link, remote, introduction, now, &effects)
    case .received(let link, let message): received(link, message, now, &effects)
    case .drained(let link): drained(link, now, &effects)
    case .closed(let link): closed(link, now, &effects)
    case .committed(let committed): self.committed(committed, now, &effects)
    case .notKept(let links): notKept(links)
    case .roomAgain: roomAgain(now, &effects)
    case .served(let link, let lane, let sent, let rest, let isCongested):
      served(link, lane, sent, rest, isCongested, now, &effects)
    case .damaged(let heads):
      askAgain(for: heads)
      askAll(now, &effects)
    case .valuesMissing(let isAny): valuesMissing(isAny, now, &effects)
    case .missingRead(let sets): readMissing(sets, now, &effects)
    case .valuesRead(let link, let lane, let found): valuesRead(link, lane, found, now, &effects)
    case .valuesStored(let link, let hasWrong, let isAny):
      storedValues(link, hasWrong: hasWrong, isAnyMissing: isAny, now, &effects)
    case .statementsAdded(let statements): statementsAdded(statements, now, &effects)
    case .ask(let link, let lane, let question): ask(link, lane, question, now, &effects)
    case .answered(let link, let query, let answer): answered(link, query, answer, now, &effects)
    case .preferenceChanged: gateMayHaveChanged(now, &effects)
    case .lookedUp(let link, let lane, let lacking): lookedUp(link, lane, lacking, now, &effects)
    case .file(let input): file(input, now, &effects)
    case .rebuilt(let settings, let records, let newestForeignClock):
      self.newestForeignClock = newestForeignClock
      rebuilt(settings, records, now, &effects)
    case .withholding(let sent): withhold(sent)
    case .released(let lane): released(lane, now, &effects)
    case .timer(let timer): fired(timer, now, &effects)
    }
  }

  private mutating func received(
    _ link: LinkID, _ message: Message, _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link], !session.isClosing else { return }
    guard session.peer != nil else {
      guard case .introduction(let bytes) = message else {
        return drop(link, .misbehaved("a message before the introduction"), &effects)
      }
      return introduced(link, bytes, now, &effects)
    }
    // While this device is asking whether it is still revoked, only statements are exchanged.
    guard isMember || message.isOfCircle else { return }
    switch message {
    case .introduction: drop(link, .misbehaved("a second introduction"), &effects)
    case .summary(let summary): receivedSummary(link, summary, now, &effects)
    case .statementIDs(let ids, let reply): receivedStatementIDs(link, ids, reply, now, &effects)
    case .statements(let statements, let last): receivedStatements(link, statements, last, now, &effects)
    case .heads(let lane, let heads, let complete):
      receivedHeads(link, lane, heads, complete, now, &effects)
    case .want(let lane, let wants): receivedWants(link, lane, wants, now, &effects)
    case .sets(let lane, let sets): receivedSets(link, lane, sets, now, &effects)
    case .served(let lane): receivedServed(link, lane, now, &effects)
    case .state(let hash, let token, let echo): receivedState(link, hash, token, echo, now, &effects)
    case .goodbye(let reason):
      if let reason { sessions[link]?.peer?.goodbye = reason }
      chargeRedundant(link, now, &effects)
    case .query(let query): receivedQuery(link, query, now, &effects)
    case .answer(let token, let answer): receivedAnswer(link, token, .success(answer), now, &effects)
    case .refusal(let token, let reason): receivedAnswer(link, token, .failure(reason), now, &effects)
    case .wantValues(let lane, let sets): receivedWantValues(link, lane, sets, now, &effects)
    case .values(let lane, let sets): receivedValues(link, lane, sets, now, &effects)
    case .file(let message): receivedFile(link, message, now, &effects)
    case .unknown(let bytes): chargeRedundant(link, points: 1 + bytes.count / 1_024, now, &effects)
    }
  }

  private mutating func fired(_ timer: ReplicaTimer, _ now: Now, _ effects: inout [Effect]) {
    switch timer {
    case .beat(let link): beat(link, now, &effects)
    case .settle: settle(now, &effects)
    case .gate: scheduleGate(now, &effects)
    case .unpark: effects.append(.foldParked)
    case .applyCuts: effects.append(.applyCuts)
    case .overdue(let link): overdue(link, now, &effects)
    case .answer(let link): answer(link, now, &effects)
    case .file(let timer): file(.timer(timer), now, &effects)
    case .trash: break
    case .values(let link): valuesOverdue(link, now, &effects)
    case .ownLogs: break  // `handle` checks withheld lanes after every input.
    }
  }

  // MARK: Shared helpers

  package subscript(lane: Lane) -> LaneState {
    _read { if lane == .settings { yield settings } else { yield records } }
    // Yields in place, because copying many heads for each message would be slow.
    _modify { if lane == .settings { yield &settings } else { yield &records } }
  }

  /// The sessions sorted by link, because effects must never depend on the order of a dictionary.
  var sessionsInOrder: [Session] { sessions.values.sorted { $0.link < $1.link } }

  /// Closes a session. Its outstanding requests are sent to other peers once the link has ended.
  mutating func drop(_ link: LinkID, _ cause: CloseCause, _ effects: inout [Effect]) {
    guard let session = sessions[link], !session.isClosing else { return }
    if cause == .duplicate { effects.append(.send(link, .goodbye(.duplicateConnection))) }
    effects.append(.close(link, cause))
    sessions[link]?.close()
    if let lastNow { file(.closed([link]), lastNow, &effects) }
  }

  mutating func closed(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard sessions.removeValue(forKey: link) != nil else { return }
    for lane in Lane.allCases {
      self[lane].asked = self[lane].asked.filter { $0.value != link }
      // Other peers may have lost their connection to that device too. Forget which logs each peer receives from
      // others, and learn it again.
      for session in sessions.keys { sessions[session]?[lane].open?.forgetSources() }
    }
    file(.closed([link]), now, &effects)
    askAll(now, &effects)
    requestValues(now, &effects)
  }
}
