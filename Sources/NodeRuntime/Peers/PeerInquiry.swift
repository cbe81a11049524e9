import Engine
import Home
import Membership
package import Reasons
package import Replication
import Storage
package import Verification
package import Wire

/// Asks a connected peer what the peer holds.
package struct PeerInquiry {
  package let peer: DeviceKey

  package init(peer: DeviceKey) { self.peer = peer }

  /// Sends a question to the peer and waits for the answer.
  ///
  /// - Throws: `WaymarkError` if the peer is not connected, keeps the lane closed, or does not answer in time.
  package func answer(_ lane: Lane, _ question: Question, on node: NodeCore) async throws -> Answer {
    try node.checkOpen()
    guard let link = node.replica.session(with: peer)?.link else { throw notReachable(on: node) }
    let reply = try await withCheckedThrowingContinuation { continuation in
      let id = node.connections.questions.add(link, lane, question, continuation)
      node.loop.after(milliseconds: Limits.answerMillisecondsMax) { node in
        guard let pending = node.connections.questions.remove(link, id) else { return }
        pending.continuation.resume(throwing: WaymarkError.unanswered(by: node.name(of: peer)))
        if let next = node.connections.questions.next(link) { node.loop.handle(next) }
      }
      if let next = node.connections.questions.next(link) { node.loop.handle(next) }
    }
    // An answer may have come just before the node closed.
    try node.checkOpen()
    switch reply {
    case .answer(let answer): return answer
    case .refused(.theirs(.tooManyHeads)):
      throw WaymarkError.tooManyHeads(node.name(of: peer), isSyncOn: node.replica.preference)
    case .refused(let reason): throw WaymarkError.refused(Reason(reason), by: node.name(of: peer))
    }
  }

  /// Asks for the heads of the peer's records lane: what the peer has stored and folded at this moment.
  package func recordHeads(on node: NodeCore) async throws -> [LogHead] {
    guard case .heads(let heads) = try await answer(.records, .heads, on: node).content else { return [] }
    return heads
  }

  /// Sends a heartbeat and measures the round-trip time.
  package func roundTrip(on node: NodeCore) async throws -> Duration {
    try node.checkOpen()
    guard let session = node.replica.session(with: peer) else { throw notReachable(on: node) }
    let before = session.echoes
    let began = ContinuousClock.now
    node.loop.handle(.timer(.beat(session.link)))
    let isBack = try await node.wait(milliseconds: Self.pingMilliseconds) { node in
      node.replica.sessions[session.link].map { $0.echoes != before } ?? true
    }
    guard isBack, node.replica.sessions[session.link] != nil else {
      throw WaymarkError.silent(node.name(of: peer), milliseconds: Self.pingMilliseconds)
    }
    return ContinuousClock.now - began
  }

  /// Measures the round-trip time several times.
  ///
  /// - Parameter count: the number of measurements, 1 to 20.
  package func ping(count: Int, on node: NodeCore) async throws -> PingResult {
    try node.checkServing()
    var trips: [Duration] = []
    for _ in 0..<min(max(count, 1), 20) { trips.append(try await roundTrip(on: node)) }
    return PingResult(
      device: peer, name: node.name(of: peer), address: node.connections.serving?.lastAddress[peer],
      roundTrips: trips)
  }

  private static let pingMilliseconds: Int64 = 5_000

  /// Returns the error for a peer that is not connected, with the reason.
  package func notReachable(on node: NodeCore) -> WaymarkError {
    guard node.isServing else { return .notServing }
    let peers = (try? node.inspection().peers()) ?? []
    let reason = peers.first { $0.device == peer }?.reason ?? .offline
    return .refused(reason == .inSync ? .offline : reason, by: node.name(of: peer))
  }

  /// Fails the pending questions of a link that has closed.
  ///
  /// - Parameter peer: the peer of the link; nil if the peer had not been identified yet.
  static func end(_ link: LinkID, to peer: DeviceKey?, on node: NodeCore) {
    for pending in node.connections.questions.removeAll(link) {
      let failure = peer.map { PeerInquiry(peer: $0).notReachable(on: node) }
      pending.continuation.resume(throwing: failure ?? WaymarkError.hungUp)
    }
  }

  /// Waits, for a few seconds at most, until all connected peers have sent their certificates.
  package static func waitForIntroductions(on node: NodeCore) async throws {
    _ = try await node.wait(milliseconds: introductionMilliseconds) { node in
      node.replica.sessions.values.allSatisfy { $0.isClosing || $0.isCurrent }
    }
  }

  private static let introductionMilliseconds: Int64 = 3_000
}

/// A comparison of states with connected peers, begun to learn what they have announced so far.
///
/// Messages of a connection arrive in order. So once a peer has answered, everything that the peer announced before it
/// was asked has been handled here: for example that its sync is on.
package struct StateInquiry {
  private let asked: [LinkID: Moment]

  /// Compares states with one connected peer, or with all of them.
  package init(with peer: DeviceKey?, on node: NodeCore) {
    var asked: [LinkID: Moment] = [:]
    for link in node.replica.identifiedSessions(with: peer).map(\.link).sorted() {
      asked[link] = node.loop.steady
      node.loop.handle(.timer(.beat(link)))
    }
    self.asked = asked
  }

  /// Whether all peers that are still connected have answered.
  package func isAnswered(on node: NodeCore) -> Bool { silentPeers(on: node).isEmpty }

  /// The peers that are connected and have not answered.
  private func silentPeers(on node: NodeCore) -> [DeviceKey] {
    asked.compactMap { link, moment in
      guard let session = node.replica.sessions[link], !session.isClosing else { return nil }
      return session.newestAnswered.map { $0 >= moment } == true ? nil : session.device
    }
  }

  /// The error for a peer that has not answered in time; nil if all have.
  package func failure(afterMilliseconds milliseconds: Int64, on node: NodeCore) -> WaymarkError? {
    silentPeers(on: node).map { node.name(of: $0) }.min().map { .silent($0, milliseconds: milliseconds) }
  }
}

extension Inventory {
  /// Returns the inventory of a node's own records.
  package static func own(of node: NodeCore) async throws -> Inventory {
    try await collect(on: node) { try node.store.answer(.records, .inventory(after: $0)) }
  }

  /// Returns the inventory of a peer's records, which is requested page by page.
  package static func of(_ peer: DeviceKey, asking node: NodeCore) async throws -> Inventory {
    try await collect(on: node) {
      try await PeerInquiry(peer: peer).answer(.records, .inventory(after: $0), on: node)
    }
  }

  /// Collects the pages of an inventory; starts over if something was folded in the meantime.
  private static func collect(
    on node: NodeCore, _ page: (RecordKey?) async throws -> Answer
  ) async throws -> Inventory {
    let end = node.wall() + Limits.inventoryMillisecondsMax
    var inventory: Inventory?
    var last: RecordKey?
    while node.wall() < end {
      try node.checkOpen()
      let answer = try await page(last)
      guard case .inventory(let items) = answer.content else { break }
      if inventory?.folded != answer.folded, last != nil {
        (inventory, last) = (nil, nil)
        continue
      }
      var grown = inventory ?? Inventory(folded: answer.folded)
      for item in items { grown.add(item) }
      if answer.isDone { return grown }
      guard grown.items.count <= Limits.inventoryRecordsMax else { break }
      (inventory, last) = (grown, items.last?.key)
      // Lets other work of the node run between pages.
      await Task.yield()
    }
    throw WaymarkError.failed(
      .notComparable, "There are too many records to compare, or they keep changing.",
      next: "\(waymark: "sync on --yes") turns sync on without comparing")
  }
}

extension WaymarkError {
  /// The error for a peer that has too many heads to send in one message.
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
      reason, "\(peer) can't be queried: \(reason.sentence(peer: peer)).",
      next: reason.next(peer: peer) ?? .waymark("why \(shellWord(peer))"))
  }

  fileprivate static func silent(_ peer: String, milliseconds: Int64) -> WaymarkError {
    .failed(
      .noAnswer,
      "\(peer) is connected, but did not answer within \(plural(max(Int(clamping: milliseconds / 1_000), 1), "second")).",
      next: .waymark("why \(shellWord(peer))"))
  }

  fileprivate static func unanswered(by peer: String) -> WaymarkError {
    .failed(
      .noAnswer, "\(peer) did not answer within \(Limits.answerMillisecondsMax / 1_000) seconds.",
      next: .waymark("peers"))
  }
}
