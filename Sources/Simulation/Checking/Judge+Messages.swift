// Protocol/session.md, "Gate", "Messages"; Protocol/circle.md, "The gate"

/// One end of a connection: who is there, and of which connection.
struct LinkKey: Hashable {
  let link: UInt64
  let node: String
}

/// What one end of a connection has heard of the other.
struct LinkView {
  let peer: String
  /// The reason that the peer's newest summary gives for its records lane; nil before the first.
  var announced: Int?
  /// Whether it was open at some time since the last look: what is handled first may not know better yet.
  var wasOpen = false
  /// Whether it has just opened: a node may have looked at the other lane before it heard so.
  var hasOpened = false
}

extension Judge {
  /// Names a device that takes part without being honest, so that what is sent to it can be judged.
  package func introduced(_ name: String, device: [UInt8]) { strangers[name] = Name32(device) }

  /// A node hands a message to a connection. Told before the node's step is looked at.
  ///
  /// - Parameters:
  ///   - link: a number of the connection, the same at both ends and never used again.
  ///   - wall: the sender's wall clock.
  package func sent(_ from: String, to: String, link: UInt64, _ bytes: [UInt8], wall: Int64) throws {
    count { $0.messages += 1 }
    guard let view = views[from], let ledger = ledgers[from] else { return }
    ledger.wall = wall
    let message: PlainMessage
    do {
      message = try PlainMessage(bytes)
    } catch {
      throw Violation(.falseMisbehaviour, from, "it sent a message to \(to) that is none: \(error)")
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
          .falseMisbehaviour, from, "it agrees with \(to) on a state that it was not asked about")
      }
      try note(.oneOf(hashes), to, view, ledger)
    case .sets(let lane, let sets):
      if lane == 1 { try checkOpen(view, to, link, "\(sets.count) sets") }
      for id in sets.map({ PlainSealing.setID($0.header) }) {
        ledger.unseen.append((id, to, library.index(of: id).map { view[$0] != .absent } ?? false))
      }
      try checkAsked(sets.map { PlainSealing.setID($0.header) }, to: to, view, ledger)
    case .heads(let lane, let ids, _):
      try checkAsked(ids, to: to, view, ledger)
      if lane == 1, !ids.isEmpty { try checkOpen(view, to, link, "heads") }
    case .want(let lane): if lane == 1 { try checkOpen(view, to, link, "a want") }
    case .answer(let answer):
      if answer.lane == 1 { try checkAnswer(view, to, "an answer") }
      try noteAnswer(answer, from: from, to: to, link: link, ledger)
    case .query, .other: break
    }
  }

  /// Keeps what a node said of itself, and which statements it had by then: in one step it may learn some often.
  private func note(_ said: SaidState, _ to: String, _ view: NodeView, _ ledger: NodeLedger) throws {
    // What it learns while its disk is full it holds in memory until there is room. It may have ended, and have lost
    // that again, when the other hears what it said.
    guard ledger.hasRoom else { return ledger.saidWithoutRoom.formUnion(said.hashes) }
    ledger.said.append((to, try certificates(view), said))
  }

  private func certificates(_ view: NodeView) throws -> Name32 {
    try view.certificates {
      NodeState.certificates(try StoreReader.statementIDs(view.connection).map { try statement($0, view) })
    }
  }

  /// A message has come out of a connection and is about to be handled.
  package func arrived(_ from: String, to: String, link: UInt64, _ bytes: [UInt8], wall: Int64) {
    guard let view = views[to], let ledger = ledgers[to] else { return }
    ledger.wall = wall
    if ledger.admitted == nil { startAdmitting(view, ledger) }
    guard let message = try? PlainMessage(bytes) else { return }
    noteArrival(of: message, link, ledger)
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
    case .query(let question): ledger.questions[link, default: [:]][question.token] = question
    // An answer comes with the token that this side gave to a question of its own. And of two questions in one
    // millisecond "the same" may answer either: the side that asked goes by neither.
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

  private func noteArrival(of message: PlainMessage, _ link: UInt64, _ ledger: NodeLedger) {
    switch message {
    case .summary, .heads, .state:
      ledger.toldAt = ledger.toldAt ?? steady
      ledger.tellers.insert(link)
    case .sets(_, let sets): ledger.arrived.formUnion(sets.map { PlainSealing.setID($0.header) })
    default: break
    }
  }

  /// A connection is over.
  package func ended(link: UInt64) {
    links = links.filter { $0.key.link != link }
    for ledger in ledgers.values { ledger.promised[link] = nil }
  }

  /// What a node had heard is gone with it; the other ends of its links may not have noticed yet.
  func dropLinks(of node: String) { links = links.filter { $0.key.node != node } }

  // MARK: The gate

  func device(_ name: String) -> Name32? { views[name]?.device ?? strangers[name] }

  private func gateTime(_ view: NodeView) -> UInt64 {
    // What the node has seen end stays so, whatever is done to its clock since.
    let floor = (try? StoreReader.gateFloor(view.connection)) ?? 0
    let wall = max(floor, UInt64(clamping: ledgers[view.name]?.wall ?? 0))
    return view.circle?.gateTime(wall: wall, foreign: view.newestForeignClock >> 16, extra: extraIssuer)
      ?? wall
  }

  /// Whether a node's own gate is open: premium, and wanted.
  func isOwnGateOpen(_ view: NodeView) -> Bool {
    guard let ledger = ledgers[view.name], ledger.prefersSync else { return false }
    return ledger.isPremiumHere
      || view.circle?.isPremium(view.device, at: gateTime(view), extra: extraIssuer) == true
  }

  private func isPeerPremium(_ view: NodeView, _ peer: String) -> Bool {
    guard let device = device(peer), view.circle?.members.contains(device) == true else { return false }
    return view.circle?.isPremium(device, at: gateTime(view), extra: extraIssuer) == true
  }

  /// Whether the records lane is open between a node and a peer, by all that the node can know.
  func isOpen(_ view: NodeView, _ peer: String, _ link: UInt64) -> Bool {
    guard isOwnGateOpen(view), isPeerPremium(view, peer) else { return false }
    guard ledgers[view.name]?.admitted != nil else { return true }
    let heard = links[LinkKey(link: link, node: view.name)]
    return heard?.announced == 0 || heard?.wasOpen == true
  }

  private func checkOpen(_ view: NodeView, _ to: String, _ link: UInt64, _ what: String) throws {
    // While its disk is full, its store does not show which entitlements it knows.
    if isOpen(view, to, link) || ledgers[view.name]?.hasRoom == false { return }
    ledgers[view.name]?.doubts.append(Doubt(to: to, link: link, what: what, isAnswer: false))
  }

  private func checkAnswer(_ view: NodeView, _ to: String, _ what: String) throws {
    guard ledgers[view.name]?.hasRoom != false else { return }
    if isOwnGateOpen(view), isPeerPremium(view, to) { return }
    ledgers[view.name]?.doubts.append(Doubt(to: to, link: 0, what: what, isAnswer: true))
  }

  /// What came before the world told what arrives was taken in by right.
  private func startAdmitting(_ view: NodeView, _ ledger: NodeLedger) {
    var known = Set(view.numbers.map { library.sets[$0].id })
    known.formUnion((try? StoreReader.quarantinedIDs(view.connection)) ?? [])
    ledger.admitted = known
  }

  // MARK: At the end of a step

  /// Nothing of the records lane is taken in but what came while it was open.
  func checkAdmitted(_ stored: [Int], _ view: NodeView) throws {
    guard let ledger = ledgers[view.name], let admitted = ledger.admitted else { return }
    for set in stored {
      let header = library.sets[set].header
      let id = library.sets[set].id
      guard header.log.lane == 1, header.log.device != view.device, !admitted.contains(id) else { continue }
      // What the node learnt in the same step may have opened the lane.
      if let (from, link) = ledger.turnedAway[id], isOpen(view, from, link) { continue }
      throw Violation(.gate, view.name, "it took in set \(id) of the records lane while the lane was closed")
    }
  }

  /// What a node said and sent in its step fits what its store shows after it.
  ///
  /// - Parameter before: where it stood when the step began.
  func checkSaid(_ view: NodeView, before: NodeState?) throws {
    guard let ledger = ledgers[view.name] else { return }
    defer {
      ledger.forgetStep()
      for key in links.keys where key.node == view.name {
        links[key]?.wasOpen = false
        links[key]?.hasOpened = false
      }
    }
    for doubt in ledger.doubts {
      let isRight =
        doubt.isAnswer
        ? isOwnGateOpen(view) && isPeerPremium(view, doubt.to) : isOpen(view, doubt.to, doubt.link)
      if isRight { continue }
      throw Violation(
        .gate, view.name, "it sent \(doubt.what) of the records lane to \(doubt.to) while the lane was closed"
      )
    }
    try checkOutsiders(view, ledger)
    try checkAnswers(view, ledger)
    for (id, to, wasHeld) in ledger.unseen {
      guard let set = library.index(of: id) else {
        throw Violation(.sentUnstored, view.name, "it sent set \(id) to \(to), which nobody holds")
      }
      // The kept tip of a cut may have come in the same step, and what leads to none has gone; or the end of a cut, and
      // what has seen more than is here waits aside.
      guard try view[set] != .absent || wasHeld && (!isAllowed(set, view) || isQuarantined(id, view)) else {
        throw Violation(
          .sentUnstored, view.name,
          "it sent set \(id) of \(library.sets[set].header.log) to \(to) and does not hold it; "
            + "it held it before: \(wasHeld), a cut leaves it out: \(!isAllowed(set, view))")
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
      throw Violation(.falseSync, view.name, "what it told \(to) of its \(lie) is not what its store holds")
    }
    for state in states { ledger.remember(state) }
    for (peers, certificates, openLink) in ledger.claims where !peers.isEmpty {
      let mine = states.map { NodeState(certificates: certificates, lanes: $0.lanes) }
      try checkClaim(view, peers, mine, openLink)
    }
  }

  /// A node says that it is in sync with one of these, two copies of one device perhaps.
  ///
  /// - Parameter openLink: the connection that it speaks of, if it holds the records lane for open there.
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
      .falseSync, view.name, "it says that it is in sync with \(peers[0]), whose store never was the same")
  }

  /// Whether a node has heard over a connection that the peer's records lane is open.
  private func isTold(_ view: NodeView, _ link: UInt64) -> Bool {
    guard let heard = links[LinkKey(link: link, node: view.name)] else { return false }
    return heard.announced == 0 && !heard.hasOpened
  }
}

/// Something sent that may have been of a closed lane: decided when the step is over.
struct Doubt {
  let to: String
  let link: UInt64
  let what: String
  let isAnswer: Bool
}
