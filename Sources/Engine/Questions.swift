package import Replication
package import Wire

/// The questions that commands on this device ask peers. On each link, they are sent one at a time, in order.
package struct Questions {
  package struct Pending {
    let id: UInt64
    let lane: Lane
    let question: Question
    package let continuation: CheckedContinuation<Reply, any Error>
  }

  /// The unanswered questions on each link, in the order in which they were asked.
  private var pending: [LinkID: [Pending]] = [:]
  /// The question on each link that was sent and has not been answered yet.
  private var underWay: [LinkID: UInt64] = [:]
  private var nextID: UInt64 = 0

  package init() {}

  package mutating func add(
    _ link: LinkID, _ lane: Lane, _ question: Question,
    _ continuation: CheckedContinuation<Reply, any Error>
  ) -> UInt64 {
    nextID += 1
    pending[link, default: []].append(
      Pending(id: nextID, lane: lane, question: question, continuation: continuation))
    return nextID
  }

  /// Returns the next question to send on a link; nil while a question is unanswered, or if there is none.
  package mutating func next(_ link: LinkID) -> Input? {
    guard underWay[link] == nil, let first = pending[link]?.first else { return nil }
    underWay[link] = first.id
    return .ask(link, first.lane, first.question)
  }

  /// Resumes the task that asked the sent question, with its reply.
  ///
  /// - Returns: the next question to send; nil if there is none.
  package mutating func end(_ link: LinkID, _ reply: Reply) -> Input? {
    underWay[link].flatMap { remove(link, $0) }?.continuation.resume(returning: reply)
    return next(link)
  }

  package mutating func remove(_ link: LinkID, _ id: UInt64) -> Pending? {
    if underWay[link] == id { underWay[link] = nil }
    guard let index = pending[link]?.firstIndex(where: { $0.id == id }) else { return nil }
    return pending[link]?.remove(at: index)
  }

  package mutating func removeAll(_ link: LinkID) -> [Pending] {
    underWay[link] = nil
    return pending.removeValue(forKey: link) ?? []
  }
}
