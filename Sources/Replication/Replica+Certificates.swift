// Protocol/session.md, "Certificates"

import Membership
import Wire

extension Replica {
  /// Adds statements made on this device and sends them to all peers.
  mutating func statementsAdded(
    _ statements: [[UInt8]], _ now: Now, _ effects: inout [Effect]
  ) {
    learn(statements, from: nil, now, &effects)
  }

  mutating func receivedStatementIDs(
    _ link: LinkID, _ ids: [StatementID], _ reply: Bool, _ now: Now, _ effects: inout [Effect]
  ) {
    noteHeld(link, ids, &effects)
    chargeRedundant(link, points: Self.listPoints, now, &effects)
    if reply { effects.append(.send(link, .statementIDs(circle.ids, reply: false))) }
    // Certificates come first. Statements beyond the byte limit are sent at the next comparison.
    let lacking = circle.statements(notIn: ids).sorted { ($0.kind, $0.id) < ($1.kind, $1.id) }
    var room = Limits.statementsAnswerBytesMax
    let sent = lacking.prefix { statement in
      room -= statement.bytes.count
      return room >= 0
    }
    send(Array(sent), to: link, isAnswer: true, &effects)
  }

  /// Sends statements in as many messages as needed. An answer consists of at least one message.
  private func send(
    _ statements: [Statement], to link: LinkID, isAnswer: Bool, _ effects: inout [Effect]
  ) {
    var batches: [[[UInt8]]] = [[]]
    var bytes = 0
    for statement in statements {
      if bytes + statement.bytes.count > Self.statementsMessageBytes {
        batches.append([])
        bytes = 0
      }
      batches[batches.count - 1].append(statement.bytes)
      bytes += statement.bytes.count + 8
    }
    for (index, batch) in batches.enumerated() {
      effects.append(.send(link, .statements(batch, last: isAnswer && index == batches.count - 1)))
    }
  }

  mutating func receivedStatements(
    _ link: LinkID, _ statements: [[UInt8]], _ last: Bool, _ now: Now, _ effects: inout [Effect]
  ) {
    learn(statements, from: link, now, &effects)
    guard last, sessions[link] != nil, sessions[link]?.isClosing == false else { return }
    guard !endsAsking(link, &effects) else { return }
    sessions[link]?.peer?.statements.answered()
    say(link, now, &effects)
    // The certificates are not compared again here, because the peer's summary is older than its answer.
    compareLanes(link, isFresh: false, now, &effects)
  }

  /// Adds statements, saves the new ones, forwards them to the other peers and judges every session again.
  mutating func learn(
    _ statements: [[UInt8]], from source: LinkID?, _ now: Now, _ effects: inout [Effect]
  ) {
    // Statements that are already held have been verified earlier.
    let known = statements.compactMap { circle.held($0) }
    if let source {
      noteHeld(source, known, &effects)
      chargeRedundant(source, points: known.count, now, &effects)
      let news = statements.count - known.count
      guard news == 0 || hasRoomForNew(news, from: source, now) else { return }
    }
    var read: [Statement] = []
    for bytes in statements where circle.held(bytes) == nil {
      guard let statement = try? Statement(bytes), statement.circle == circle.id else {
        if let source { drop(source, .misbehaved("a statement that does not verify"), &effects) }
        return
      }
      read.append(statement)
    }
    learned(circle.insert(read), from: source, now, &effects)
    if let source { noteHeld(source, read.map(\.id), &effects) }
  }

  mutating func learned(
    _ changes: Circle.Changes, from source: LinkID?, _ now: Now, _ effects: inout [Effect]
  ) {
    if !changes.crowded.isEmpty { effects.append(.report(.statementsCrowded(changes.crowded))) }
    // Evicted statements are deleted from disk too, even if nothing was added.
    guard !changes.added.isEmpty || !changes.removed.isEmpty else { return }
    let added = changes.added.compactMap { circle.statement($0) }
    effects.append(.saveStatements(added, removed: changes.removed))
    effects.append(.report(.membershipChanged))
    for session in sessionsInOrder where session.link != source && !session.isClosing && !added.isEmpty {
      guard let peer = session.device, circle.evaluation.isMember(peer) else { continue }
      send(added, to: session.link, isAnswer: false, &effects)
    }
    endRevokedSessions(added, &effects)
    admitStrangers()
    quotasMayHaveChanged(now, &effects)
    gateMayHaveChanged(now, &effects)
  }

  private static let statementsMessageBytes = Limits.messageBytesMax / 2
  /// The price of answering a list of ids, in points.
  private static let listPoints = 64
}
