// Protocol/session.md, "Certificates"

import Membership
import Wire

/// Who has heard of which revocation: until a member has, it takes what the revoked device sends.
extension Replica {
  /// A member holds the same statements as this device.
  mutating func noteEqualStatements(_ link: LinkID, _ effects: inout [Effect]) {
    noteAcknowledged(link, { _ in true }, &effects)
  }

  /// A member holds these statements.
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

  /// Whether this device is in the circle, by the statements it holds.
  var isMember: Bool { circle.evaluation.isMember(device) }

  /// Ends the sessions of devices that are out of the circle; if this device is, all but those in which it asks whether
  /// it still is.
  ///
  /// An open session is told why, so that a device that is found again need not ask its owner.
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

  /// The peer has shown all its statements, and by them this device is still out of the circle.
  ///
  /// - Returns: whether the session has ended with that.
  mutating func endsAsking(_ link: LinkID, _ effects: inout [Effect]) -> Bool {
    guard !isMember, sessions[link]?.isAskingToReturn == true else { return false }
    drop(link, .excluded, &effects)
    return true
  }
}
