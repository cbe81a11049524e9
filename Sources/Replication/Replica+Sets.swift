// Protocol/session.md, "Heads and needs", "Sets"

import Membership
import Wire

extension Replica {
  // MARK: Asking

  mutating func receivedHeads(
    _ link: LinkID, _ lane: Lane, _ heads: [LogHead], _ complete: Bool, _ now: Now,
    _ effects: inout [Effect]
  ) {
    guard let told = sessions[link]?[lane].open?.news(in: heads, isComplete: complete) else { return }
    // Heads are stored, looked up and compared, so the price in points grows with that work.
    chargeRedundant(link, points: told.isKnown ? 1 + heads.count / 16 : heads.count / 8, now, &effects)
    sessions[link]?[lane].open?.told(told.heads, isComplete: complete)
    noteTold(link, lane, told.heads, isComplete: complete, now)
    compare(told.heads, link, lane, now, &effects)
  }

  /// Compares heads that a peer announced with our own, and requests what is missing here.
  mutating func compare(
    _ heads: [LogHead], _ link: LinkID, _ lane: Lane, _ now: Now, _ effects: inout [Effect]
  ) {
    let unsure = look(at: heads, link, lane)
    // If some tips must be looked up, everything is requested at once after the lookup, because sets of one log may
    // depend on those of another.
    guard unsure.isEmpty else { return effects.append(.lookUp(link, lane, unsure)) }
    ask(link, lane, now, &effects)
    requestValues(now, &effects)
  }

  /// Records which of a peer's heads are missing here.
  ///
  /// - Returns: the tips that must be looked up in the store.
  private mutating func look(at told: [LogHead], _ link: LinkID, _ lane: Lane) -> [LogHead] {
    let mine = shownHeads(lane)
    let theirs = sessions[link]?[lane].theirs ?? Heads()
    var lacking: [LogHead] = []
    var unforked: [LogKey] = []
    var unsure: [LogHead] = []
    for (log, tips) in Dictionary(grouping: told, by: \.log).sorted(by: { $0.key < $1.key }) {
      let count = theirs.tipCount(of: log)
      let isCut = circle.isCut(log)
      if count <= 1 { unforked.append(log) }
      for tip in count > 1 ? tips : theirs.tips(of: log) where !full.hasDropped(tip) {
        // In a log that is cut, only the store knows which sets may lead to a kept tip.
        switch isCut ? nil : mine.lacks(tip, among: count) {
        case true?: lacking.append(tip)
        case nil: unsure.append(tip)
        case false?: break
        }
      }
    }
    // The session is accessed only once, because updating it for each log would be slow.
    sessions[link]?[lane].open?.forgetLacking(unforked)
    sessions[link]?[lane].open?.note(lacking) { circle.isStranger($0) }
    return unsure
  }

  /// Lets the logs of newly certified devices be requested.
  mutating func admitStrangers() {
    for lane in Lane.allCases {
      for link in sessions.keys { sessions[link]?[lane].open?.admitStrangers { circle.mayAuthor($0) } }
    }
  }

  /// Handles the result of a lookup: these tips are not in the store.
  mutating func lookedUp(
    _ link: LinkID, _ lane: Lane, _ lacking: [LogHead], _ now: Now, _ effects: inout [Effect]
  ) {
    guard isOpen(link, lane) else { return }
    // A tip may have been dropped since it was looked up.
    let wanted = lacking.filter { !full.hasDropped($0) }
    sessions[link]?[lane].open?.note(wanted) { circle.isStranger($0) }
    ask(link, lane, now, &effects)
  }

  /// Sends all peers the requests that are possible now.
  mutating func askAll(_ now: Now, _ effects: inout [Effect]) {
    for lane in Lane.allCases {
      for session in sessionsInOrder { ask(session.link, lane, now, &effects) }
    }
  }

  /// Requests the sets that a peer has and this node lacks, unless another peer is already sending some of them.
  mutating func ask(_ link: LinkID, _ lane: Lane, _ now: Now, _ effects: inout [Effect]) {
    guard canKeep, let session = sessions[link], !session.isClosing, let open = session[lane].open,
      open.mayRequest
    else { return }
    let logs = open.lacking.keys.filter(circle.mayAuthor).sorted()
    let needs = open.needs(of: logs, shownHeads(lane)) { full.contains($0) }
    let repairs = repairs(open, lane, besides: logs, now).prefix(Limits.wantsMax - needs.count)
    let wants = needs + repairs
    // If another peer is already sending some of these logs, the others may depend on them, so wait until they have
    // arrived.
    guard !wants.isEmpty, !(logs + repairs.map(\.log)).contains(where: { isOnItsWay($0, lane, now) }) else {
      return
    }
    sessions[link]?[lane].open?.request(wants, repairs: repairs.map(\.tip), now)
    for want in wants { self[lane].asked[want.log] = link }
    effects.append(.send(link, .want(lane, wants)))
    scheduleOverdue(link, now, &effects)
  }

  /// Schedules the timer that both lanes share, for the lane that is due first.
  private func scheduleOverdue(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    let due = Lane.allCases.compactMap { sessions[link]?[$0].request?.overdueAt }.min()
    if let due { effects.append(.schedule(.overdue(link), after: max(due - now.steady, 1))) }
  }

  /// Abandons overdue requests and asks other peers instead. If a request is only slow, asks others in addition.
  mutating func overdue(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    for lane in Lane.allCases {
      guard let request = sessions[link]?[lane].request else { continue }
      if now.steady >= request.overdueAt {
        markUnresponsive(link, now)
        giveUp(link, lane, now, &effects)
      } else if request.isSlow(now) {
        for other in sessionsInOrder where other.link != link { ask(other.link, lane, now, &effects) }
      }
    }
    scheduleOverdue(link, now, &effects)
  }

  private mutating func giveUp(_ link: LinkID, _ lane: Lane, _ now: Now, _ effects: inout [Effect]) {
    for log in sessions[link]?[lane].open?.giveUp() ?? [] where self[lane].asked[log] == link {
      self[lane].asked[log] = nil
    }
    for session in sessionsInOrder where session.link != link { ask(session.link, lane, now, &effects) }
  }

  mutating func receivedServed(
    _ link: LinkID, _ lane: Lane, _ now: Now, _ effects: inout [Effect]
  ) {
    let mine = shownHeads(lane)
    switch sessions[link]?[lane].open?.answerEnded(mine) {
    case .unasked, nil: chargeRedundant(link, now, &effects)
    case .storing: break
    case .delivered, .repairs:
      giveUp(link, lane, now, &effects)
      // The answer may have made further requests possible.
      sessions[link]?[lane].open?.resume()
      ask(link, lane, now, &effects)
    case .nothing:
      markUnresponsive(link, now)
      giveUp(link, lane, now, &effects)
    }
  }

  // MARK: Receiving

  /// Ingress: rejects sets of a closed lane, of another circle, or of an author without a certificate.
  mutating func receivedSets(
    _ link: LinkID, _ lane: Lane, _ sets: [VerifiedChangeSet], _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    // Sets may have been in flight when the lane closed; they are sent again when it opens.
    guard isOpen(link, lane), canKeep else { return }
    for set in sets {
      guard set.header.circle == circle.id else {
        return drop(link, .misbehaved("a change set of another circle"), &effects)
      }
      guard set.header.log.lane == lane else {
        return drop(link, .misbehaved("a change set of another lane"), &effects)
      }
    }
    let admitted = sets.filter { circle.mayAuthor($0.header.log) }
    guard !admitted.isEmpty else { return }
    sessions[link]?[lane].open?.store(admitted.count)
    effects.append(.commit(admitted, from: link))
  }

  /// Handles sets from these links that could not be stored because the disk is full. They are requested again later.
  mutating func notKept(_ links: [LinkID]) {
    canKeep = false
    for lane in Lane.allCases {
      for link in links { sessions[link]?[lane].open?.notKept() }
      self[lane].asked = self[lane].asked.filter { !links.contains($0.value) }
    }
  }

  mutating func roomAgain(_ now: Now, _ effects: inout [Effect]) {
    canKeep = true
    // Sets that another copy of our data had written could not be stored until now, so restart the wait before anything
    // is released.
    for lane in withheld.keys { withheld[lane]?.toldAt = nil }
    for link in sessions.keys {
      for lane in Lane.allCases { sessions[link]?[lane].open?.resume() }
    }
    askAll(now, &effects)
    requestValues(now, &effects)
    effects.append(.foldParked)
    scheduleSettle(now, &effects)
  }

  // MARK: Serving

  mutating func receivedWants(
    _ link: LinkID, _ lane: Lane, _ wants: [Want], _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    guard isOpen(link, lane) else { return }
    let servable = wants.filter(mayServe)
    let step = sessions[link]?[lane].open?.wanted(wants, servable: servable)
    serve(link, lane, step, &effects)
  }

  private func serve(_ link: LinkID, _ lane: Lane, _ step: Serving.Step?, _ effects: inout [Effect]) {
    switch step {
    case .read(let wants): effects.append(.serve(link, lane, wants))
    case .finish: effects.append(.send(link, .served(lane)))
    case nil: break
    }
  }

  mutating func served(
    _ link: LinkID, _ lane: Lane, _ sent: [LogHead], _ rest: [Want], _ isCongested: Bool,
    _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    guard isOpen(link, lane), sessions[link]?.isClosing == false else {
      sessions[link]?[lane].open?.stopServing()
      return
    }
    let step = sessions[link]?[lane].open?.served(sent, rest: rest, isCongested: isCongested)
    serve(link, lane, step, &effects)
  }

  /// Back-pressure: continues serving a congested link when it has room again.
  mutating func drained(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    judgeLanes(link, now, &effects)
    guard sessions[link]?.isClosing == false else { return }
    for lane in Lane.allCases {
      let step = sessions[link]?[lane].open?.drained()
      serve(link, lane, step, &effects)
      serveValues(link, lane, &effects)
    }
    answer(link, now, &effects)
  }
}

extension Circle {
  /// Whether sets of a log may be stored: its author is certified, and if the log is cut, some of its sets are kept.
  /// The store decides which ones.
  func mayAuthor(_ log: LogKey) -> Bool {
    switch evaluation.admission(of: log) {
    case .open: true
    case .cut(let cuts, let line): cuts.isEmpty ? line ?? 0 > 0 : cuts.contains { !$0.isEmpty }
    case .unknownDevice: false
    }
  }

  /// Whether a log is cut, so that heads alone don't show which sets of it are missing.
  func isCut(_ log: LogKey) -> Bool {
    if case .cut = evaluation.admission(of: log) { true } else { false }
  }

  /// Whether a log belongs to a device without a certificate.
  func isStranger(_ log: LogKey) -> Bool { evaluation.admission(of: log) == .unknownDevice }
}
