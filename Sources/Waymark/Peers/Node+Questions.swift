import Membership
import Replication
import Storage
import Wire

/// Asking peers.
extension Node {
  /// Puts a question to a peer that is connected.
  ///
  /// - Throws: `WaymarkError` if the peer is not connected, keeps the lane closed, or does not answer in time.
  func ask(_ peer: DeviceKey, _ lane: Lane, _ question: Question) async throws -> Answer {
    try checkOpen()
    guard let link = replica.session(with: peer)?.link else { throw notReachable(peer) }
    let reply = try await withCheckedThrowingContinuation { continuation in
      let id = questions.add(link, lane, question, continuation)
      timers.after(milliseconds: Limits.answerMillisecondsMax) { [weak self] in
        self?.assumeIsolated { node in
          guard let pending = node.questions.remove(link, id) else { return }
          pending.continuation.resume(throwing: WaymarkError.unanswered(by: node.name(of: peer)))
          if let next = node.questions.next(link) { node.handle(next) }
        }
      }
      if let next = questions.next(link) { handle(next) }
    }
    // An answer may have come just before the node closed.
    try checkOpen()
    switch reply {
    case .answer(let answer): return answer
    case .refused(.theirs(.tooManyHeads)):
      throw WaymarkError.tooManyHeads(name(of: peer), isSyncOn: replica.preference)
    case .refused(let reason): throw WaymarkError.refused(Reason(reason), by: name(of: peer))
    }
  }

  /// The heads of a peer's lane: what it has stored and folded at this moment.
  func heads(of peer: DeviceKey, _ lane: Lane) async throws -> [LogHead] {
    guard case .heads(let heads) = try await ask(peer, lane, .heads).content else { return [] }
    return heads
  }

  /// What became of the question under way; gives the next one.
  func asked(_ link: LinkID, _ reply: Reply) -> Input? {
    questions.end(link)?.continuation.resume(returning: reply)
    return questions.next(link)
  }

  /// The link is gone: nobody answers any more.
  func forgetQuestions(_ link: LinkID, of peer: DeviceKey?) {
    for pending in questions.removeAll(link) {
      pending.continuation.resume(throwing: peer.map(notReachable) ?? WaymarkError.hungUp)
    }
  }

  /// Why a peer can't be asked: it is not connected.
  func notReachable(_ peer: DeviceKey) -> WaymarkError {
    guard network != nil else { return .notServing }
    let peers = (try? currentPeers(wall())) ?? []
    let reason = peers.first { $0.device == peer }?.reason ?? .offline
    return .refused(reason == .inSync ? .offline : reason, by: name(of: peer))
  }
}

extension WaymarkError {
  /// Why a peer can't be asked for its heads although its lane is open.
  fileprivate static func tooManyHeads(_ peer: String, isSyncOn: Bool) -> WaymarkError {
    .failed(
      .notComparable,
      "\(peer) has more than \(Limits.headsPerMessageMax) logs and branches, too many for one answer.",
      next: isSyncOn
        ? "\(waymark: "history"), then \(waymark: "revoke NAME") for the device that began so many logs"
        : "\(waymark: "sync on --preview"), then \(waymark: "sync on"), which merges the records of both")
  }

  fileprivate static func refused(_ reason: Reason, by peer: String) -> WaymarkError {
    .failed(
      reason, "\(peer) can't be asked: \(reason.sentence(peer: peer)).",
      next: reason.next(peer: peer) ?? .waymark("why \(shellWord(peer))"))
  }

  fileprivate static func unanswered(by peer: String) -> WaymarkError {
    .failed(
      .noAnswer, "\(peer) did not answer within \(Limits.answerMillisecondsMax / 1_000) seconds.",
      next: .waymark("peers"))
  }
}
