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
    switch message {
    case .summary(let certificates, let settings, let records):
      ledger.said.append(
        (to, .summary(certificates: certificates, settings: settings.state, records: records.state)))
    case .state(let hash): ledger.said.append((to, .hash(hash)))
    case .sets(let lane, let sets):
      if lane == 1 { try checkOpen(view, to, link, "\(sets.count) sets") }
      for set in sets { ledger.unseen.append((PlainSealing.setID(set.header), to)) }
    case .heads(let lane, let ids):
      if lane == 1, !ids.isEmpty { try checkOpen(view, to, link, "heads") }
    case .want(let lane): if lane == 1 { try checkOpen(view, to, link, "a want") }
    case .answer(let lane): if lane == 1 { try checkAnswer(view, to, "an answer") }
    case .query, .other: break
    }
  }

  /// A message has come out of a connection and is about to be handled.
  package func arrived(_ from: String, to: String, link: UInt64, _ bytes: [UInt8], wall: Int64) {
    guard let view = views[to], let ledger = ledgers[to] else { return }
    ledger.wall = wall
    if ledger.admitted == nil { startAdmitting(view, ledger) }
    guard let message = try? PlainMessage(bytes) else { return }
    switch message {
    case .summary(_, _, let records):
      links[LinkKey(link: link, node: to), default: LinkView(peer: from)].announced = records.reason
    case .sets(1, let sets):
      let isOpen = isOpen(view, from, link)
      for set in sets {
        let id = PlainSealing.setID(set.header)
        if isOpen { ledger.admitted?.insert(id) } else { ledger.turnedAway[id] = (from, link) }
      }
    default: break
    }
  }

  /// A connection is over.
  package func ended(link: UInt64) { links = links.filter { $0.key.link != link } }

  func dropLinks(of node: String) { links = links.filter { $0.key.node != node && $0.value.peer != node } }

  // MARK: The gate

  func device(_ name: String) -> Name32? { views[name]?.device ?? strangers[name] }

  private func gateTime(_ view: NodeView) -> UInt64 {
    let wall = UInt64(clamping: ledgers[view.name]?.wall ?? 0)
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
    return links[LinkKey(link: link, node: view.name)]?.announced == 0
  }

  private func checkOpen(_ view: NodeView, _ to: String, _ link: UInt64, _ what: String) throws {
    if isOpen(view, to, link) { return }
    ledgers[view.name]?.doubts.append(Doubt(to: to, link: link, what: what, isAnswer: false))
  }

  private func checkAnswer(_ view: NodeView, _ to: String, _ what: String) throws {
    if isOwnGateOpen(view), isPeerPremium(view, to) { return }
    ledgers[view.name]?.doubts.append(Doubt(to: to, link: 0, what: what, isAnswer: true))
  }

  /// What came before the world told what arrives was taken in by right.
  private func startAdmitting(_ view: NodeView, _ ledger: NodeLedger) {
    var known = Set(view.numbers.map { library.sets[$0].id })
    known.formUnion((try? NodeReading.asideIDs(view.connection)) ?? [])
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
    ledger.turnedAway = [:]
  }

  /// What a node said and sent in its step fits what its store shows after it.
  ///
  /// - Parameter before: where it stood when the step began.
  func checkSaid(_ view: NodeView, before: NodeState?) throws {
    guard let ledger = ledgers[view.name] else { return }
    defer { (ledger.said, ledger.unseen, ledger.doubts) = ([], [], []) }
    for doubt in ledger.doubts {
      let isRight =
        doubt.isAnswer
        ? isOwnGateOpen(view) && isPeerPremium(view, doubt.to) : isOpen(view, doubt.to, doubt.link)
      if isRight { continue }
      throw Violation(
        .gate, view.name, "it sent \(doubt.what) of the records lane to \(doubt.to) while the lane was closed"
      )
    }
    for (id, to) in ledger.unseen {
      guard let set = library.index(of: id), view[set] != .absent else {
        throw Violation(.sentUnstored, view.name, "it sent set \(id) to \(to) and does not hold it")
      }
      if library.sets[set].header.log.device == view.device { ledger.sent.insert(id) }
    }
    guard !ledger.said.isEmpty else { return }
    let now = NodeState(view, library)
    for (to, said) in ledger.said where !said.isTrue(of: (before.map { [$0] } ?? []) + [now]) {
      throw Violation(.falseSync, view.name, "what it told \(to) of its state is not what its store holds")
    }
    ledger.remember(now)
  }

  /// A node says that it is in sync with another.
  package func claimedInSync(_ node: String, with peer: String) throws {
    guard let view = views[node], let other = views[peer] else { return }
    let mine = NodeState(view, library)
    let withRecords = isOwnGateOpen(view) && isPeerPremium(view, peer) && isOwnGateOpen(other)
    let theirs = (ledgers[peer]?.states ?? []) + [NodeState(other, library)]
    guard
      theirs.contains(where: { $0.hash(withRecords: withRecords) == mine.hash(withRecords: withRecords) })
        || theirs.contains(where: { $0.hash(withRecords: false) == mine.hash(withRecords: false) })
          && !isTold(view, peer)
    else {
      throw Violation(
        .falseSync, node, "it says that it is in sync with \(peer), whose store never was the same")
    }
  }

  /// Whether a node has heard from a peer that its records lane is open.
  private func isTold(_ view: NodeView, _ peer: String) -> Bool {
    links.contains { $0.key.node == view.name && $0.value.peer == peer && $0.value.announced == 0 }
  }
}

/// Something sent that may have been of a closed lane: decided when the step is over.
struct Doubt {
  let to: String
  let link: UInt64
  let what: String
  let isAnswer: Bool
}
