// Protocol/session.md

package import Membership
package import Wire

/// The replication core: a value that decides what one node says to its peers and what enters its store.
///
/// It does no I/O and reads no clock. The shell hands every event to `handle`, carries out the effects in
/// order, and feeds back what they lead to. Sets are judged by signed data; only the gate reads `now`.
package struct Replica: Sendable {
  package let device: DeviceKey
  package var circle: Circle
  package var preference: Bool
  package var localPremium: LocalPremium
  package internal(set) var settings: LaneState
  package internal(set) var records: LaneState
  package internal(set) var sessions: [LinkID: Session] = [:]
  /// When a device was last found to hold exactly what this one holds.
  package var lastSync: [DeviceKey: Moment] { holdings.compactMapValues(\.syncedAt) }
  /// What each device is known to hold; the shell keeps it.
  package var holdings: [DeviceKey: Holding] = [:]
  /// Which devices are known to hold a revocation; the shell keeps it.
  package var acknowledgedRevocations: [StatementID: Set<DeviceKey>] = [:]
  /// The newest clock folded from another device.
  package internal(set) var newestForeignClock: Clock
  /// What of the own logs goes to nobody yet; nil for a lane that was let go.
  var withheld: [Lane: WithheldLogs] = [:]
  /// Stored sets that the disk has altered, by log; see `Replica+Repair`.
  package internal(set) var damaged: [LogKey: [LogHead]] = [:]
  /// When a device last promised sets that it did not send, on the steady clock.
  var brokenPromises: [DeviceKey: Moment] = [:]
  /// How much each member has repeated of late; a new connection does not make it forgotten.
  var repetition: [DeviceKey: Allowance] = [:]
  /// How many new statements each member has brought of late.
  var newStatements: [DeviceKey: Allowance] = [:]
  /// When something changed here last, on the steady clock.
  var newestChangeAt = -Moment.max / 2
  /// For when the next comparison after a change is scheduled, on the steady clock.
  var settlesAt: Moment?
  /// False while the disk is full: nobody is asked for what could not be kept.
  var canKeep = true
  var gateAnnounced: GateReason?
  /// Gate time never falls below it: the latest change of a gate that this device has seen come; the shell keeps it.
  package var gateFloor: Moment?
  /// Both clocks at the last input.
  var lastNow: Now?
  /// From when to when, in gate time, the gates of this device and of connected peers are as they were last judged;
  /// nil before the node serves.
  var gatesHold: Range<Moment>?
  var random: SplitMix

  /// Where this node stands in one lane.
  package struct LaneState: Sendable {
    package internal(set) var heads: Heads
    package internal(set) var digest: Digest
    /// The hashes of `heads`, kept because every comparison needs them.
    private(set) var hashes: (stored: Bytes32, folded: Bytes32)
    /// Which link was asked for a log's sets, so that no other is.
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
  ///   - withheld: of own logs the newest set that may have been sent, sequence 0 if none; a lane that is not
  ///     named withholds nothing.
  ///   - seed: decides jitter and the choice of peers to push to; nothing that two nodes must agree on.
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

  /// Takes in one event and says what must be done about it.
  package mutating func handle(_ input: Input, now: Now, into effects: inout [Effect]) {
    // Whoever switches sync off is heard first: what the time changes may be told of by lanes that are still open.
    if case .preferenceChanged(let preference) = input { self.preference = preference }
    updateTime(now, &effects)
    take(input, now, &effects)
    if !withheld.isEmpty { considerOwnLogs(now, &effects) }
  }

  private mutating func take(_ input: Input, _ now: Now, _ effects: inout [Effect]) {
    switch input {
    case .started:
      // The shell says itself how the gate stands at the start; from here on its changes are reported.
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
    case .statementsAdded(let statements): statementsAdded(statements, now, &effects)
    case .ask(let link, let lane, let question): ask(link, lane, question, now, &effects)
    case .answered(let link, let query, let answer): answered(link, query, answer, now, &effects)
    case .preferenceChanged: gateMayHaveChanged(now, &effects)
    case .lookedUp(let link, let lane, let lacking): lookedUp(link, lane, lacking, now, &effects)
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
    // Who asks whether it is still out of the circle speaks of statements alone.
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
    }
  }

  private mutating func fired(_ timer: ReplicaTimer, _ now: Now, _ effects: inout [Effect]) {
    switch timer {
    case .beat(let link): beat(link, now, &effects)
    case .settle: settle(now, &effects)
    case .gate: scheduleGate(now, &effects)
    case .unpark: effects.append(.foldParked)
    case .overdue(let link): overdue(link, now, &effects)
    case .answer(let link): answer(link, now, &effects)
    case .ownLogs: break  // Looked at after every input.
    }
  }

  // MARK: What several stations need

  package subscript(lane: Lane) -> LaneState {
    _read { if lane == .settings { yield settings } else { yield records } }
    // In place: a copy of many heads for each message would be felt.
    _modify { if lane == .settings { yield &settings } else { yield &records } }
  }

  /// The sessions in order of links, so that effects never depend on the order of a dictionary.
  var sessionsInOrder: [Session] { sessions.values.sorted { $0.link < $1.link } }

  /// Ends a session; what the peer was asked for goes to others.
  mutating func drop(_ link: LinkID, _ cause: CloseCause, _ effects: inout [Effect]) {
    guard let session = sessions[link], !session.isClosing else { return }
    if cause == .duplicate { effects.append(.send(link, .goodbye(.duplicateConnection))) }
    effects.append(.close(link, cause))
    sessions[link]?.close()
  }

  mutating func closed(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard sessions.removeValue(forKey: link) != nil else { return }
    for lane in Lane.allCases {
      self[lane].asked = self[lane].asked.filter { $0.value != link }
      // Others may have lost the same one: who brings them what, will show anew.
      for session in sessions.keys { sessions[session]?[lane].open?.forgetSources() }
    }
    askAll(now, &effects)
  }
}
