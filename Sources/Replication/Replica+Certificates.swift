// Protocol/session.md, "Certificates"

import Membership
import Wire

extension Replica {
  /// Statements made on this device go to every peer at once.
  mutating func statementsAdded(
    _ statements: [[UInt8]], _ now: Moment, _ effects: inout [Effect]
  ) {
    learn(statements, from: nil, now, &effects)
  }

  mutating func receivedStatementIDs(
    _ link: LinkID, _ ids: [StatementID], _ reply: Bool, _ effects: inout [Effect]
  ) {
    noteHeld(link, ids, &effects)
    if reply { effects.append(.send(link, .statementIDs(circle.ids, reply: false))) }
    var batches: [[[UInt8]]] = [[]]
    var bytes = 0
    for statement in circle.statements(notIn: ids) {
      if bytes + statement.bytes.count > Self.statementsMessageBytes {
        batches.append([])
        bytes = 0
      }
      batches[batches.count - 1].append(statement.bytes)
      bytes += statement.bytes.count + 8
    }
    for (index, batch) in batches.enumerated() {
      effects.append(.send(link, .statements(batch, last: index == batches.count - 1)))
    }
  }

  mutating func receivedStatements(
    _ link: LinkID, _ statements: [[UInt8]], _ last: Bool, _ now: Moment, _ effects: inout [Effect]
  ) {
    learn(statements, from: link, now, &effects)
    guard last, sessions[link] != nil, sessions[link]?.isClosing == false else { return }
    sessions[link]?.isAskingStatements = false
    sessions[link]?.knowsStatements = true
    say(link, now, &effects)
    // Not the certificates again: the summary held is older than the answer.
    compareLanes(link, isFresh: false, now, &effects)
  }

  /// Takes in statements, keeps the new ones, passes them on, and judges every session anew.
  mutating func learn(
    _ statements: [[UInt8]], from source: LinkID?, _ now: Moment, _ effects: inout [Effect]
  ) {
    var read: [Statement] = []
    for bytes in statements {
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
    _ changes: Circle.Changes, from source: LinkID?, _ now: Moment, _ effects: inout [Effect]
  ) {
    guard !changes.added.isEmpty else { return }
    let added = changes.added.compactMap { circle.statement($0) }
    effects.append(.saveStatements(added, removed: changes.removed))
    effects.append(.report(.membershipChanged))
    for session in sessionsInOrder where session.link != source && !session.isClosing {
      guard let peer = session.device, circle.evaluation.isMember(peer) else { continue }
      effects.append(.send(session.link, .statements(added.map(\.bytes), last: false)))
    }
    endRevokedSessions(added, &effects)
    gateMayHaveChanged(now, &effects)
  }

  private static let statementsMessageBytes = Limits.messageBytesMax / 2
}
