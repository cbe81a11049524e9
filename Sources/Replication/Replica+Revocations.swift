// Protocol/session.md, "Certificates"

import Membership
import Wire

/// Tracks which members have acknowledged which revocations. A member that has not acknowledged a revocation may still
/// accept changes from the revoked device.
extension Replica {
  /// Records that a peer holds the same statements as this device.
  mutating func noteEqualStatements(_ link: LinkID, _ effects: inout [Effect]) {
    noteAcknowledged(link, { _ in true }, &effects)
  }

  /// Records that a peer holds these statements.
  mutating func noteHeld(_ link: LinkID, _ ids: [StatementID], _ effects: inout [Effect]) {
    guard !circle.evaluation.revocations.isEmpty else { return }
    let held = Set(ids)
    noteAcknowledged(link, held.contains, &effects)
  }

  private mutating func noteAcknowledged(
    _ link: LinkID, _ holds: (StatementID) -> Bool, _ effects: inout [Effect]
  ) {
    guard let peer = sessions[link]?.device else { return }
    let news = circle.evaluation.revocations.values.joined().map(\.id)
      .filter { holds($0) && acknowledgedRevocations[$0]?.contains(peer) != true }.sorted()
    guard !news.isEmpty else { return }
    for id in news { acknowledgedRevocations[id, default: []].insert(peer) }
    effects.append(.report(.acknowledgedRevocations(peer)))
  }

  /// Whether this device is a member, according to the statements that it holds.
  var isMember: Bool { circle.evaluation.isMember(device) }

  /// Closes the sessions with devices that are not members. If this device itself is not a member, closes all sessions
  /// except those in which it asks whether it is still revoked.
  ///
  /// Sends the revocation to the peer before closing, so that the revoked device learns why.
  mutating func endRevokedSessions(_ added: [Statement], _ effects: inout [Effect]) {
    for session in sessionsInOrder where !session.isClosing {
      if isMember { sessions[session.link]?.stopAskingToReturn() }
      guard isMember || session.isAskingToReturn else {
        drop(session.link, .excluded, &effects)
        continue
      }
      guard let peer = session.device, !circle.evaluation.isMember(peer) else { continue }
      let reasons = added.filter { statement in
        if case .revocation(let body) = statement.content { body.device == peer } else { false }
      }
      effects.append(.send(session.link, .statements(reasons.map(\.bytes), last: false)))
      drop(session.link, .revoked, &effects)
    }
  }

  /// Closes a session in which this device asks whether it is still revoked, if it still is after all of the peer's
  /// statements have been received.
  ///
  /// - Returns: whether the session was closed.
  mutating func endsAsking(_ link: LinkID, _ effects: inout [Effect]) -> Bool {
    guard !isMember, sessions[link]?.isAskingToReturn == true else { return false }
    drop(link, .excluded, &effects)
    return true
  }
}
