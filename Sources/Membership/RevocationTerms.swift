// Protocol/circle.md, "Revoking a device".

package import Sodium
package import Wire

/// What the person decides about a revocation; the rest follows from the circle.
package struct RevocationTerms: Hashable, Sendable {
  package var device: DeviceKey
  /// What the revoking device holds of the revoked one's logs; the most important first.
  package var kept: [KeptLog]
  /// Devices that the revoked one had revoked, and that are to be members again.
  package var reinstated: Set<DeviceKey>

  package init(device: DeviceKey, kept: [KeptLog], reinstated: Set<DeviceKey> = []) {
    self.device = device
    self.kept = kept
    self.reinstated = reinstated
  }
}

extension Circle {
  /// Signs that a device is out of the circle.
  ///
  /// What it signed and counts now stays valid, so that the devices it invited stay members; all that it signs
  /// later is void. Logs for which a statement has no room are left out from the end.
  package func revocation(
    _ terms: RevocationTerms, by key: SigningKey, at now: Int64
  ) throws(StatementError) -> Statement {
    let valid = statementsToKeep(terms)
    let body = Revocation(
      circle: id, issuer: DeviceKey(key), device: terms.device,
      kept: Self.fitting(terms.kept, room: Self.room - valid.count * Self.idBytes), valid: valid, issued: now)
    return try Statement(signing: body, with: key)
  }

  private func statementsToKeep(_ terms: RevocationTerms) -> [StatementID] {
    let cuts = logCuts(of: terms.device)
    let revocations = evaluation.countingRevocations(by: terms.device)
      .filter { !terms.reinstated.contains($0.body.device) }.map(\.id)
    return evaluation.countingCertificates(of: terms.device) + cuts + revocations
  }

  private func logCuts(of device: DeviceKey) -> [StatementID] {
    statements(notIn: []).filter { statement in
      guard case .logCut(let cut) = statement.content else { return false }
      return cut.log.device == device && !evaluation.isVoid(statement)
    }.map(\.id)
  }

  /// Whoever is revoked may have begun any number of logs; that must not keep anybody from revoking it.
  private static func fitting(_ logs: [KeptLog], room: Int) -> [KeptLog] {
    var room = room
    return Array(
      logs.prefix { log in
        room -= logBytes + log.tips.count * idBytes
        return room >= 0
      })
  }

  /// What a statement holds besides logs and ids, at most.
  private static let room = Limits.statementBytesMax - 512
  private static let idBytes = 34
  private static let logBytes = 32

  /// Revocations that a device shows to whoever may not have heard of them: first those that take it out of the circle,
  /// if it is out, and those by which one of the device
  /// itself does not count; then the others that count, the newest first, for it may have been revoked by one of
  /// these and not know it. Who has heard only of that would turn it away, and could never hear more.
  func revocationsToShow(by device: DeviceKey) -> [Statement] {
    let own = newestFirst(evaluation.revocations[device] ?? []).compactMap { statement($0.id) }
    let known = own + rehabilitation(of: device)
    let ids = Set(known.map(\.id))
    let others = newestFirst(evaluation.revocations.values.joined())
    return known + others.filter { !ids.contains($0.id) }.compactMap { statement($0.id) }
  }

  private func newestFirst(_ revocations: some Sequence<CountedRevocation>) -> [CountedRevocation] {
    revocations.sorted { ($0.body.issued, $0.id) > ($1.body.issued, $1.id) }
  }

  private func rehabilitation(of device: DeviceKey) -> [Statement] {
    var found: [Statement] = []
    for statement in statements(notIn: []) {
      guard case .revocation(let body) = statement.content, body.device == device,
        evaluation.isVoid(statement)
      else { continue }
      for counted in evaluation.revocations[body.issuer] ?? []
      where !counted.body.valid.contains(statement.id) {
        if let voiding = self.statement(counted.id), !found.contains(where: { $0.id == voiding.id }) {
          found.append(voiding)
        }
      }
    }
    return found
  }
}
