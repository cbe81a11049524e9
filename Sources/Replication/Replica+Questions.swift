// Protocol/session.md, "Questions"

import Membership
import Wire

extension Replica {
  // MARK: Asking

  /// Egress: a question about records is put only where both ends are premium. The own preference does not
  /// matter: one asks before one turns sync on.
  mutating func ask(
    _ link: LinkID, _ lane: Lane, _ question: Question, _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link], let peer = session.device, !session.isClosing else { return }
    if let reason = askingReason(peer, lane, now) {
      return effects.append(.reply(link, .refused(reason)))
    }
    let query = Query(token: session.lastToken + 1, lane: lane, question: question)
    sessions[link]?.lastToken = query.token
    sessions[link]?.asking = query
    effects.append(.send(link, .query(query)))
  }

  /// Ingress: an answer to a question that nobody put ends the session; a late one is dropped.
  mutating func receivedAnswer(
    _ link: LinkID, _ token: UInt64, _ result: AnswerResult, _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link], let peer = session.device else { return }
    guard token > 0, token <= session.lastToken else {
      return drop(link, .misbehaved("an answer to nothing that was asked"), &effects)
    }
    guard let query = session.asking, query.token == token else { return }
    sessions[link]?.asking = nil
    switch result {
    case .failure(let reason): effects.append(.reply(link, .refused(.theirs(reason))))
    case .success(let answer):
      guard answer.fits(query) else {
        return drop(link, .misbehaved("an answer to another question"), &effects)
      }
      let reason = askingReason(peer, query.lane, now)
      effects.append(.reply(link, reason.map { .refused($0) } ?? .answer(answer)))
    }
  }

  /// Why this device may not know of a peer's lane; nil if it may.
  private func askingReason(_ peer: DeviceKey, _ lane: Lane, _ now: Now) -> LaneReason? {
    guard lane == .records else { return nil }
    if let reason = ownGate(now: now.wall).premiumReason { return .mine(reason) }
    return peerReason(peer, now: now.wall).map { .peerNotPremium($0) }
  }

  // MARK: Answering

  mutating func receivedQuery(
    _ link: LinkID, _ query: Query, _ now: Now, _ effects: inout [Effect]
  ) {
    needless(link, now, &effects)
    sessions[link]?.asked = query
    answer(link, now, &effects)
  }

  /// Has the shell read what the peer asked, unless the lane is closed or the peer's turn has not come.
  mutating func answer(_ link: LinkID, _ now: Now, _ effects: inout [Effect]) {
    guard let session = sessions[link], let query = session.asked, !session.isClosing,
      !session.isReadingAnswer, !refused(link, query, now, &effects)
    else { return }
    if let last = session.answeredAt, now.steady < last + Limits.answerMillisecondsMin {
      return effects.append(.schedule(.answer(link), after: last + Limits.answerMillisecondsMin - now.steady))
    }
    sessions[link]?.isReadingAnswer = true
    effects.append(.answer(link, query))
  }

  mutating func answered(
    _ link: LinkID, _ query: Query, _ answer: Answer?, _ now: Now, _ effects: inout [Effect]
  ) {
    guard let session = sessions[link] else { return }
    sessions[link]?.isReadingAnswer = false
    // A full link is answered when it has room.
    guard let answer else { return }
    sessions[link]?.answeredAt = now.steady
    guard session.asked == query else {
      // The question was replaced meanwhile.
      return self.answer(link, now, &effects)
    }
    guard !session.isClosing, !refused(link, query, now, &effects) else { return }
    sessions[link]?.asked = nil
    guard answer.fitsMessage else {
      return effects.append(.send(link, .refusal(token: query.token, .tooManyHeads)))
    }
    effects.append(.send(link, .answer(token: query.token, answer)))
  }

  /// Egress: what a peer learns of the records it could as well sync, once it turns sync on.
  private mutating func refused(
    _ link: LinkID, _ query: Query, _ now: Now, _ effects: inout [Effect]
  ) -> Bool {
    guard query.lane == .records, let peer = sessions[link]?.device else { return false }
    let reason = recordsReason(for: peer, now: now.wall)
    guard reason != .open else { return false }
    sessions[link]?.asked = nil
    effects.append(.send(link, .refusal(token: query.token, reason)))
    return true
  }
}

/// An answer as it came, or why there is none.
enum AnswerResult {
  case success(Answer)
  case failure(ReasonCode)
}
