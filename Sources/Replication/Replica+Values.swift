// Protocol/session.md, "Missing values"

import Membership
import Wire

extension Replica {
  // MARK: Requesting

  /// Handles a change of the store's list of missing slots.
  mutating func valuesMissing(_ isAny: Bool, _ now: Now, _ effects: inout [Effect]) {
    values.changed(isAny: isAny)
    requestValues(now, &effects)
  }

  /// Handles the next sets from the store's list.
  mutating func readMissing(_ sets: [MissingSlots], _ now: Now, _ effects: inout [Effect]) {
    values.filled(sets)
    requestValues(now, &effects)
  }

  /// Requests missing slots from all peers that can be asked now.
  mutating func requestValues(_ now: Now, _ effects: inout [Effect]) {
    guard values.isAny, !values.isReading, canKeep else { return }
    let lanes = sessionsInOrder.flatMap { session in
      Lane.allCases.filter { mayRequestValues(session, $0) }.map { (session.link, $0) }
    }
    guard !lanes.isEmpty else { return }
    if values.isStale { return effects.append(.readMissing(after: values.read(now.steady))) }
    var onTheirWay = Set(
      sessions.values.flatMap { session in
        Lane.allCases.flatMap { session[$0].open?.fetchingValues.expected.keys.map { $0 } ?? [] }
      })
    let isIdle = onTheirWay.isEmpty
    for (link, lane) in lanes { requestValues(link, lane, but: &onTheirWay, now, &effects) }
    guard isIdle, onTheirWay.isEmpty else { return }
    values.advance(now.steady)
    if values.isStale { effects.append(.readMissing(after: values.read(now.steady))) }
  }

  /// Whether a lane has nothing more urgent to request. Sets that are still to come may contain an erase that explains
  /// what is missing.
  private func mayRequestValues(_ session: Session, _ lane: Lane) -> Bool {
    guard !session.isClosing, let open = session[lane].open else { return false }
    return open.mayRequest && open.lacking.isEmpty && open.theirs.heads != nil && open.fetchingValues.isIdle
  }

  private mutating func requestValues(
    _ link: LinkID, _ lane: Lane, but onTheirWay: inout Set<ChangeSetID>, _ now: Now,
    _ effects: inout [Effect]
  ) {
    guard let device = sessions[link]?.device, let theirs = sessions[link]?[lane].theirs else { return }
    var sets: [SetSlots] = []
    var (slots, bytes) = (0, 0)
    for missing in values.window {
      let set = missing.set
      guard set.log.lane == lane, !onTheirWay.contains(set.id), theirs.reach(set),
        values.mayAsk(device, for: set.id, now.steady)
      else { continue }
      guard sets.count < Limits.valueSetsMax, slots + set.slots.count <= Limits.valueSlotsMax,
        bytes + missing.answerBytes <= Limits.valueBytesMax
      else { break }
      sets.append(set)
      slots += set.slots.count
      bytes += missing.answerBytes
    }
    guard !sets.isEmpty else { return }
    onTheirWay.formUnion(sets.map(\.id))
    values.noteAsked(device, for: sets.map(\.id), now.steady)
    sessions[link]?[lane].open?.fetchValues(sets, dueAt: now.steady + Limits.valueOverdueMilliseconds)
    effects.append(.send(link, .wantValues(lane, sets)))
    scheduleValues(link, now, &effects)
  }

  private func scheduleValues(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    let due = Lane.allCases.compactMap { sessions[link]?[$0].open?.fetchingValues.dueAt }.min()
    if let due { effects.append(.schedule(.values(link), after: max(due - now.steady, 1))) }
  }

  /// Abandons the requests that are overdue. Other peers are asked instead.
  mutating func valuesOverdue(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    for lane in Lane.allCases {
      guard let due = sessions[link]?[lane].open?.fetchingValues.dueAt, due <= now.steady else { continue }
      sessions[link]?[lane].open?.giveUpValues()
    }
    scheduleValues(link, now, &effects)
    requestValues(now, &effects)
  }

  // MARK: Receiving

  /// Ingress: drops values of a closed lane and values without a request.
  mutating func receivedValues(
    _ link: LinkID, _ lane: Lane, _ received: [SetValues], _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    guard isOpen(link, lane), sessions[link]?.isClosing == false else { return }
    // A request is forgotten when the lane closes, so the answer may arrive after the lane has opened again.
    guard let wanted = sessions[link]?[lane].open?.fetchingValues.sets,
      received.allSatisfy({ wanted[$0.id] != nil })
    else {
      let slots = received.reduce(0) { $0 + $1.slots.count }
      return chargeRedundant(link, points: 1 + slots / 16, now, &effects)
    }
    sessions[link]?[lane].open?.valuesAnswered()
    var arrived: [ArrivedValues] = []
    for values in received {
      guard let set = wanted[values.id], Set(values.slots.map(\.slot)).isSubset(of: set.slots) else {
        return drop(link, .misbehaved("values that were not requested"), &effects)
      }
      arrived.append(ArrivedValues(set: set, values: values.slots))
    }
    // More is requested once these are stored; before that, they would be requested from others too.
    guard !arrived.isEmpty, canKeep else { return requestValues(now, &effects) }
    effects.append(.storeValues(arrived, from: link))
  }

  /// Handles the store's verdict on values from a peer.
  mutating func storedValues(
    _ link: LinkID, hasWrong: Bool, isAnyMissing: Bool, _ now: Now, _ effects: inout [Effect]
  ) {
    if hasWrong { drop(link, .misbehaved("values that do not match their commitments"), &effects) }
    values.changed(isAny: isAnyMissing)
    requestValues(now, &effects)
  }

  // MARK: Serving

  mutating func receivedWantValues(
    _ link: LinkID, _ lane: Lane, _ sets: [SetSlots], _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    guard isOpen(link, lane) else { return }
    let slots = sets.reduce(0) { $0 + $1.slots.count }
    chargeRedundant(link, points: 1 + slots / 16, now, &effects)
    guard sessions[link]?.isClosing == false else { return }
    let servable = sets.filter { mayServe($0.want) }
    sessions[link]?[lane].open?.servingValues = .reading(servable)
    effects.append(.readValues(link, lane, servable))
  }

  /// Sends the slots that the shell has read. Egress: the lane is judged again.
  ///
  /// - Parameter found: nil if the link is congested; the slots are then read again once it has room.
  mutating func valuesRead(
    _ link: LinkID, _ lane: Lane, _ found: [SetValues]?, _ now: Now, _ effects: inout [Effect]
  ) {
    judgeLanes(link, now, &effects)
    guard isOpen(link, lane), sessions[link]?.isClosing == false, let found,
      sessions[link]?[lane].open?.servingValues.request != nil
    else { return }
    sessions[link]?[lane].open?.servingValues = .idle
    effects.append(.send(link, .values(lane, found)))
  }

  /// Continues serving a link that has room again.
  func serveValues(_ link: LinkID, _ lane: Lane, _ effects: inout [Effect]) {
    guard let sets = sessions[link]?[lane].open?.servingValues.request else { return }
    effects.append(.readValues(link, lane, sets))
  }
}

extension Heads {
  /// Whether the heads include a set, as far as sequences can tell.
  fileprivate func reach(_ set: SetSlots) -> Bool {
    tips(of: set.log).contains { $0.sequence >= set.sequence }
  }
}
