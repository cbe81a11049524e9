// Protocol/session.md, "Questions"

import Membership
import Wire

extension Replica {
  // MARK: Asking

  /// Asks a peer a question. Egress: questions about records are asked only if both sides are premium. Our own
  /// preference does not matter, because questions are also asked before sync is turned on.
  mutating func ask(
    _ link: LinkID, _ lane: Lane, _ question: Question, _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link], let peer = session.device, !session.isClosing else { return }
    if let reason = askingReason(peer, lane, now) {
      return effects.append(.reply(link, .refused(reason)))
    }
    guard let query = sessions[link]?.peer?.outgoing.ask(lane, question) else { return }
    effects.append(.send(link, .query(query)))
  }

  /// Handles a peer's answer. Ingress: an unsolicited answer closes the session; a late answer is dropped.
  mutating func receivedAnswer(
    _ link: LinkID, _ token: UInt64, _ result: AnswerResult, _ now: Now, _ effects: inout [Effect]
  ) {
    guard let peer = sessions[link]?.device, let match = sessions[link]?.peer?.outgoing.answered(token) else {
      return
    }
    switch match {
    case .neverAsked: drop(link, .misbehaved("an answer to a question that was never asked"), &effects)
    case .tooLate: break
    case .query(let query): receivedAnswer(link, to: query, of: peer, result, now, &effects)
    }
  }

  private mutating func receivedAnswer(
    _ link: LinkID, to query: Query, of peer: DeviceKey, _ result: AnswerResult, _ now: Now,
    _ effects: inout [Effect]
  ) {
    switch result {
    case .failure(let reason): effects.append(.reply(link, .refused(.theirs(reason))))
    case .success(let answer):
      guard answer.fits(query) else {
        return drop(link, .misbehaved("an answer that does not match its question"), &effects)
      }
      let reason = askingReason(peer, query.lane, now)
      effects.append(.reply(link, reason.map { .refused($0) } ?? .answer(answer)))
    }
  }

  /// Returns the reason why this device may not ask about a peer's lane; nil if it may.
  private func askingReason(_ peer: DeviceKey, _ lane: Lane, _ now: Now) -> LaneReason? {
    guard lane == .records else { return nil }
    if let reason = ownGate(now: now.wall).premiumReason { return .mine(reason) }
    return peerReason(peer, now: now.wall).map { .peerNotPremium($0) }
  }

  // MARK: Answering

  mutating func receivedQuery(
    _ link: LinkID, _ query: Query, _ now: Now, _ effects: inout [Effect]
  ) {
    chargeRedundant(link, now, &effects)
    sessions[link]?.peer?.incoming.received(query)
    answer(link, now, &effects)
  }

  /// Lets the shell read the answer to the peer's question, unless the lane is closed or the peer asks too often.
  mutating func answer(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let session = sessions[link], let incoming = session.peer?.incoming, let query = incoming.waiting,
      !session.isClosing, !refused(link, query, now, &effects)
    else { return }
    if let pause = incoming.pause(now) { return effects.append(.schedule(.answer(link), after: pause)) }
    sessions[link]?.peer?.incoming.read()
    effects.append(.answer(link, query))
  }

  mutating func answered(
    _ link: LinkID, _ query: Query, _ answer: Answer?, _ now: Now, _ effects: inout [Effect]
  ) {
    let isNewest = sessions[link]?.peer?.incoming.answered(query, isSendable: answer != nil, now)
    // On a congested link, the answer is read again once the link has drained.
    guard let answer, let isNewest else { return }
    // A newer question has replaced this one.
    guard isNewest else { return self.answer(link, now, &effects) }
    guard sessions[link]?.isClosing == false, !refused(link, query, now, &effects) else { return }
    sessions[link]?.peer?.incoming.finish()
    guard answer.fitsMessage else {
      return effects.append(.send(link, .refusal(token: query.token, .tooManyHeads)))
    }
    effects.append(.send(link, .answer(token: query.token, answer)))
  }

  /// Refuses a question if the peer may not ask it, and returns whether it was refused. Egress: a peer may ask about
  /// records only if it could also sync them once it turns sync on.
  private mutating func refused(
    _ link: LinkID, _ query: Query, _ now: Now, _ effects: inout [Effect]
  ) -> Bool {
    guard query.lane == .records, let peer = sessions[link]?.device else { return false }
    let reason = recordsReason(for: peer, now: now.wall)
    guard reason != .open else { return false }
    sessions[link]?.peer?.incoming.finish()
    effects.append(.send(link, .refusal(token: query.token, reason)))
    return true
  }
}

/// A received answer, or the reason for a refusal.
enum AnswerResult {
  case success(Answer)
  case failure(ReasonCode)
}
