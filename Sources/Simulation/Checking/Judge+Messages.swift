// Protocol/session.md, "Gate", "Messages"; Protocol/circle.md, "The gate"

/// One end of a connection.
struct LinkKey: Hashable {
  let link: UInt64
  let node: String
}

/// What one end of a connection knows about the other.
struct LinkView {
  let peer: String
  /// The state of the records lane in the peer's newest summary, 0 for open; nil before the first summary.
  var announced: Int?
  /// Whether the peer's records lane was open at any time since the last look. Messages that were handled before the
  /// newest summary still found the lane open.
  var wasOpen = false
  /// Whether the peer's records lane has opened since the last look. A claim to be in sync may have been made before
  /// that, and so concern only the settings lane.
  var hasOpened = false
}

extension Judge {
  /// Registers an adversary's device key, so that messages sent to the adversary can be judged.
  package func introduced(_ name: String, device: [UInt8]) { strangers[name] = Name32(device) }

  /// Reports that a node is sending a message. Called before the look at the step in which the message is sent.
  ///
  /// - Parameters:
  ///   - link: the number of the connection, the same at both ends and never reused.
  ///   - wall: the sender's wall clock.
  package func sent(_ from: String, to: String, link: UInt64, _ bytes: [UInt8], wall: Int64) throws {
    count { $0.messages += 1 }
    guard let view = views[from], let ledger = ledgers[from] else { return }
    ledger.wall = wall
    let message: PlainMessage
    do {
      message = try PlainMessage(bytes)
    } catch {
      throw Violation(.falseMisbehaviour, from, "it sent an invalid message to \(to): \(error)")
    }
    if !message.isForAnybody { noteOutsider(to, view, ledger) }
    switch message {
    case .summary(let certificates, let settings, let records):
      let said = SaidState.summary(
        certificates: certificates, settings: settings.state, records: records.state)
      try note(said, to, view, ledger)
    case .state(let hash, let token, _):
      guard let hashes = hash.map({ [$0] }) ?? ledger.heardStates[link]?[token] else {
        throw Violation(
          .falseMisbehaviour, from, "it confirmed to \(to) a state that it was not asked about")
      }
      try note(.oneOf(hashes), to, view, ledger)
    case .sets(let lane, let sets):
      if lane == 1 { try checkOpen(view, to, link, "\(sets.count) sets") }
      for set in sets { try checkValues(of: set, to: to, view) }
      for id in sets.map({ PlainSealing.setID($0.header) }) {
        ledger.unseen.append((id, to, library.index(of: id).map { view[$0] != .absent } ?? false))
      }
      try checkAsked(sets.map { PlainSealing.setID($0.header) }, to: to, view, ledger)
    case .heads(let lane, let ids, _):
      try checkAsked(ids, to: to, view, ledger)
      if lane == 1, !ids.isEmpty { try checkOpen(view, to, link, "heads") }
    case .want(let lane): if lane == 1 { try checkOpen(view, to, link, "a want") }
    case .wantValues(let lane): if lane == 1 { try checkOpen(view, to, link, "a request for values") }
    case .values(let lane, let sets):
      if lane == 1 { try checkOpen(view, to, link, "values") }
      for (id, slots) in sets { try checkValues(slots, of: id, to: to, view) }
    case .answer(let answer):
      if answer.lane == 1 { try checkAnswer(view, to, "an answer") }
      try noteAnswer(answer, from: from, to: to, link: link, ledger)
    case .file(let message):
      try checkOpen(view, to, link, "a message about a file")
      try sentFile(message, to: to, bytes, view)
    case .query, .other: break
    }
  }

  /// Records what a node said about its state, and which statements it had then, because they may change within a step.
  private func note(_ said: SaidState, _ to: String, _ view: NodeView, _ ledger: NodeLedger) throws {
    // While its disk is full, a node keeps new statements only in memory. It may be killed and lose them before the
    // peer receives this message.
    guard ledger.hasRoom else { return ledger.saidWithoutRoom.formUnion(said.hashes) }
    ledger.said.append((to, try certificates(view), said))
  }

  private func certificates(_ view: NodeView) throws -> Name32 {
    try view.certificates {
      NodeState.certificates(try StoreReader.statementIDs(view.connection).map { try statement($0, view) })
    }
  }

  /// Reports that a node is about to handle a received message.
  package func arrived(_ from: String, to: String, link: UInt64, _ bytes: [UInt8], wall: Int64) {
    guard let view = views[to], let ledger = ledgers[to] else { return }
    ledger.wall = wall
    if ledger.admitted == nil { startAdmitting(view, ledger) }
    guard let message = try? PlainMessage(bytes) else { return }
    noteArrival(of: message, link, ledger, of: view.device)
    if ledger.mayFork, case .sets(_, let sets) = message { noteOwnSets(sets.map(\.header), view, ledger) }
    if case .heads(let lane, let ids, let isComplete) = message {
      noteTold(ids, lane, isComplete: isComplete, link, view, ledger)
    }
    switch message {
    case .summary(_, _, let records):
      let key = LinkKey(link: link, node: to)
      if links[key]?.announced == 0 { links[key]?.wasOpen = true }
      if links[key]?.announced != 0, records.reason == 0 {
        links[key, default: LinkView(peer: from)].hasOpened = true
      }
      links[key, default: LinkView(peer: from)].announced = records.reason
    case .values: ledger.mayHaveFilled = true
    case .file(let message): arrivedFile(message, from: from, link: link, view)
    case .query(let question): ledger.questions[link, default: [:]][question.token] = question
    // Only requests for an echo count, because an answer carries the receiver's own token. Tokens are times in
    // milliseconds, so two requests may share a token. An answer without a hash may then confirm either request.
    case .state(let hash?, let token, true):
      ledger.heardStates[link, default: [:]][token, default: []].insert(hash)
    case .sets(1, let sets):
      let isOpen = isOpen(view, from, link)
      for set in sets {
        let id = PlainSealing.setID(set.header)
        if isOpen { ledger.admitted?.insert(id) } else { ledger.turnedAway[id] = (from, link) }
      }
    default: break
    }
  }

  private func noteArrival(
    of message: PlainMessage, _ link: UInt64, _ ledger: NodeLedger, of device: Name32
  ) {
    switch message {
    case .summary, .heads, .state:
      ledger.toldAt = ledger.toldAt ?? steady
      ledger.tellers.insert(link)
    case .sets(_, let sets):
      ledger.arrived.formUnion(sets.map { PlainSealing.setID($0.header) })
      let clocks = sets.compactMap { try? PlainHeader($0.header) }.filter { $0.log.device != device }.map(
        \.clock)
      // Sets that are dated further ahead are parked.
      let known = clocks.filter { Int64($0 >> 16) <= ledger.wall + 600_000 }
      ledger.arrivedClock = known.reduce(ledger.arrivedClock, max)
    default: break
    }
  }

  /// Reports that a connection has ended.
  package func ended(link: UInt64) {
    links = links.filter { $0.key.link != link }
    for ledger in ledgers.values { ledger.promised[link] = nil }
  }

  /// Forgets what a node that has ended knew about its links. The other ends may not have noticed yet.
  func dropLinks(of node: String) { links = links.filter { $0.key.node != node } }

  // MARK: The gate

  func device(_ name: String) -> Name32? { views[name]?.device ?? strangers[name] }

  private func gateTime(_ view: NodeView) -> UInt64 {
    // Once a node has seen premium expire, setting its clock back must not revive it.
    let floor = (try? StoreReader.gateFloor(view.connection)) ?? 0
    let wall = max(floor, UInt64(clamping: ledgers[view.name]?.wall ?? 0))
    let arrived = ledgers[view.name].map { $0.countsArrivedClock ? $0.arrivedClock : 0 } ?? 0
    let foreign = max(view.newestForeignClock, arrived)
    return view.circle?.gateTime(wall: wall, foreign: foreign >> 16, extra: extraIssuer)
      ?? wall
  }

  /// Whether a node's own gate is open, which requires that it has premium and its user wants sync.
  func isOwnGateOpen(_ view: NodeView) -> Bool {
    guard let ledger = ledgers[view.name], ledger.prefersSync else { return false }
    return ledger.isPremiumHere
      || view.circle?.isPremium(view.device, at: gateTime(view), extra: extraIssuer) == true
  }

  private func isPeerPremium(_ view: NodeView, _ peer: String) -> Bool {
    guard let device = device(peer), view.circle?.members.contains(device) == true else { return false }
    return view.circle?.isPremium(device, at: gateTime(view), extra: extraIssuer) == true
  }

  /// Whether the records lane is open between a node and a peer, according to everything that the node can know.
  func isOpen(_ view: NodeView, _ peer: String, _ link: UInt64) -> Bool {
    guard isOwnGateOpen(view), isPeerPremium(view, peer) else { return false }
    guard ledgers[view.name]?.admitted != nil else { return true }
    let heard = links[LinkKey(link: link, node: view.name)]
    return heard?.announced == 0 || heard?.wasOpen == true
  }

  private func checkOpen(_ view: NodeView, _ to: String, _ link: UInt64, _ what: String) throws {
    // While the disk is full, the store does not contain all entitlements that the node knows.
    if isOpen(view, to, link) || ledgers[view.name]?.hasRoom == false { return }
    ledgers[view.name]?.doubts.append(Doubt(to: to, link: link, what: what, isAnswer: false))
  }

  private func checkAnswer(_ view: NodeView, _ to: String, _ what: String) throws {
    guard ledgers[view.name]?.hasRoom != false else { return }
    if isOwnGateOpen(view), isPeerPremium(view, to) { return }
    ledgers[view.name]?.doubts.append(Doubt(to: to, link: 0, what: what, isAnswer: true))
  }

  /// Starts to track admitted sets. Sets stored before the first reported message count as admitted.
  private func startAdmitting(_ view: NodeView, _ ledger: NodeLedger) {
    var known = Set(view.numbers.map { library.sets[$0].id })
    known.formUnion((try? StoreReader.quarantinedIDs(view.connection)) ?? [])
    ledger.admitted = known
  }

  // MARK: At the end of a step

  /// Checks that newly stored sets of the records lane were received while the lane was open.
  func checkAdmitted(_ stored: [Int], _ view: NodeView) throws {
    guard let ledger = ledgers[view.name], let admitted = ledger.admitted else { return }
    for set in stored {
      let header = library.sets[set].header
      let id = library.sets[set].id
      guard header.log.lane == 1, header.log.device != view.device, !admitted.contains(id) else { continue }
      // A statement received in the same step may have opened the lane.
      if let (from, link) = ledger.turnedAway[id], isOpen(view, from, link) { continue }
      throw Violation(
        .gate, view.name, "it stored set \(id) of the records lane, received while the lane was closed")
    }
  }

  /// Checks what a node said and sent in a step against the node's store before, during and after the step.
  ///
  /// - Parameter before: the node's state when the step began; nil if unknown.
  func checkSaid(_ view: NodeView, before: NodeState?) throws {
    guard let ledger = ledgers[view.name] else { return }
    defer {
      ledger.forgetStep()
      // The keys are collected first: changing the dictionary while it is iterated would copy it.
      let opened = links.filter { $0.key.node == view.name && ($0.value.wasOpen || $0.value.hasOpened) }
      for key in opened.keys {
        links[key]?.wasOpen = false
        links[key]?.hasOpened = false
      }
    }
    for doubt in ledger.doubts {
      let isRight = [false, true].contains { countsArrivedClock in
        ledger.countsArrivedClock = countsArrivedClock
        return doubt.isAnswer
          ? isOwnGateOpen(view) && isPeerPremium(view, doubt.to) : isOpen(view, doubt.to, doubt.link)
      }
      ledger.countsArrivedClock = false
      if isRight { continue }
      throw Violation(
        .gate, view.name, "it sent \(doubt.what) of the records lane to \(doubt.to) while the lane was closed"
      )
    }
    try checkOutsiders(view, ledger)
    try checkAnswers(view, ledger)
    for (id, to, wasHeld) in ledger.unseen {
      guard let set = library.index(of: id) else {
        throw Violation(.sentUnstored, view.name, "it sent set \(id), which no node holds, to \(to)")
      }
      // After it was sent, the set may have left the log in the same step: a cut excluded it when the kept tip arrived,
      // or it was quarantined because a cut ended and its ancestors are missing.
      guard try view[set] != .absent || wasHeld && (!isAllowed(set, view) || isQuarantined(id, view)) else {
        throw Violation(
          .sentUnstored, view.name,
          "it sent set \(id) of \(library.sets[set].header.log) to \(to) and does not hold it; "
            + "held before: \(wasHeld), excluded by a cut: \(!isAllowed(set, view))")
      }
      guard library.sets[set].header.log.device == view.device else { continue }
      ledger.sent.insert(id)
      ledger.knowsSent.insert(id)
    }
    guard !ledger.said.isEmpty || !ledger.claims.isEmpty else { return }
    let end = NodeState(view, library)
    let between = ledger.passed.map { NodeState(certificates: end.certificates, lanes: $0) }
    let states = (before.map { [$0] } ?? []) + between + [end]
    for (to, certificates, said) in ledger.said {
      for state in states { ledger.remember(NodeState(certificates: certificates, lanes: state.lanes)) }
      let isOutside = view.circle?.members.contains(view.device) != true
      guard let lie = said.lie(certificates: certificates, states, isOutside: isOutside) else { continue }
      throw Violation(.falseSync, view.name, "what it told \(to) about its \(lie) does not match its store")
    }
    for state in states { ledger.remember(state) }
    for (peers, certificates, openLink) in ledger.claims where !peers.isEmpty {
      let mine = states.map { NodeState(certificates: certificates, lanes: $0.lanes) }
      try checkClaim(view, peers, mine, openLink)
    }
  }

  /// Reports that a node claims to be in sync with a device. The claim is checked after the step.
  ///
  /// - Parameters:
  ///   - peers: the name of the device, or the names of both of its copies. The claim must hold for one of them.
  ///   - openLink: the connection that the claim is about, if the node considers the records lane to be open on it.
  package func claimedInSync(_ node: String, withOneOf peers: [String], openLink: UInt64?) throws {
    guard let view = views[node] else { return }
    guard let ledger = ledgers[node], ledger.hasRoom else { return }
    ledger.claims.append((peers, try certificates(view), openLink))
  }

  private func checkClaim(_ view: NodeView, _ peers: [String], _ states: [NodeState], _ openLink: UInt64?)
    throws
  {
    for peer in peers {
      guard let other = views[peer], let ledger = ledgers[peer], !ledger.wasCutShort else { return }
      let theirs = [NodeState(other, library)] + ledger.states.reversed()
      let isTold = openLink.map { self.isTold(view, $0) } ?? false
      let isRecordsOpen = isTold && isOwnGateOpen(view) && isPeerPremium(view, peer)
      let mine = Set(states.map { $0.hash(withRecords: isRecordsOpen) })
      if theirs.contains(where: { mine.contains($0.hash(withRecords: isRecordsOpen)) }) { return }
      if !mine.isDisjoint(with: ledger.saidWithoutRoom) { return }
    }
    throw Violation(
      .falseSync, view.name, "it claims to be in sync with \(peers[0]), whose state was never the same")
  }

  /// Whether a node already knew that the peer's records lane was open when it made a claim in this step.
  private func isTold(_ view: NodeView, _ link: UInt64) -> Bool {
    guard let heard = links[LinkKey(link: link, node: view.name)] else { return false }
    return heard.announced == 0 && !heard.hasOpened
  }
}

/// A message that may have been sent on a closed lane. It is judged after the step, when all statements are known.
struct Doubt {
  let to: String
  let link: UInt64
  let what: String
  let isAnswer: Bool
}
