// Protocol/circle.md, "Revoking a device".

package import Sodium
package import Wire

/// The user's decisions about a revocation. Everything else in the revocation follows from the circle.
package struct RevocationTerms: Hashable, Sendable {
  package var device: DeviceKey
  /// The logs of the revoked device, as the revoking device holds them. The most important logs come first.
  package var kept: [KeptLog]
  /// The devices that the revoked device had revoked and that become members again.
  package var reinstated: Set<DeviceKey>
  /// The devices of which the certificates by the revoked device become void, although they are members without them.
  package var withdrawn: Set<DeviceKey>

  package init(
    device: DeviceKey, kept: [KeptLog], reinstated: Set<DeviceKey> = [], withdrawn: Set<DeviceKey> = []
  ) {
    self.device = device
    self.kept = kept
    self.reinstated = reinstated
    self.withdrawn = withdrawn
  }
}

extension Circle {
  /// Signs the revocation of a device.
  ///
  /// The device's statements that count now stay valid, so that the devices it invited remain members. All its later
  /// statements are void. If the logs do not all fit into the statement, the last ones are left out.
  package func revocation(
    _ terms: RevocationTerms, by key: SigningKey, at now: Int64
  ) throws(StatementError) -> Statement {
    let valid = statementsToKeep(terms)
    let body = Revocation(
      circle: id, issuer: DeviceKey(key), device: terms.device,
      kept: Self.fitting(terms.kept, room: Self.room - valid.count * Self.idBytes), valid: valid, issued: now)
    return try Statement(signing: body, with: key)
  }

  /// Signs the revocation that a member has asked for by revoking itself.
  ///
  /// - Parameter held: the device's logs as the signing device holds them. What the device named in its request is kept
  ///   in addition, because the signing device may hold no records.
  package func completion(
    of request: Revocation, held: [KeptLog], by key: SigningKey, at now: Int64
  ) throws(StatementError) -> Statement {
    var logs = held
    for log in request.kept {
      guard let index = logs.firstIndex(where: { !($0 < log) && !(log < $0) }) else {
        logs.append(log)
        continue
      }
      logs[index] = KeptLog(
        incarnation: log.incarnation, lane: log.lane, tips: Array(Set(logs[index].tips + log.tips)))
    }
    return try revocation(RevocationTerms(device: request.device, kept: logs), by: key, at: now)
  }

  private func statementsToKeep(_ terms: RevocationTerms) -> [StatementID] {
    let cuts = logCuts(of: terms.device)
    let revocations = evaluation.countingRevocations(by: terms.device)
      .filter { !terms.reinstated.contains($0.body.device) }.map(\.id)
    let certificates = evaluation.countingCertificates(of: terms.device).filter { id in
      guard case .deviceCertificate(let body)? = statement(id)?.content else { return true }
      return !terms.withdrawn.contains(body.device)
    }
    return certificates + cuts + revocations
  }

  private func logCuts(of device: DeviceKey) -> [StatementID] {
    statements(notIn: []).filter { statement in
      guard case .logCut(let cut) = statement.content else { return false }
      return cut.log.device == device && !evaluation.isVoid(statement)
    }.map(\.id)
  }

  /// Returns the logs that fit into the statement. The revoked device may have begun any number of logs, and this must
  /// not prevent its revocation.
  private static func fitting(_ logs: [KeptLog], room: Int) -> [KeptLog] {
    var room = room
    return Array(
      logs.prefix { log in
        room -= logBytes + log.tips.count * idBytes
        return room >= 0
      })
  }

  /// The number of bytes in a statement that are available for logs and ids. The rest of the statement takes at most
  /// 512 bytes.
  private static let room = Limits.statementBytesMax - 512
  private static let idBytes = 34
  private static let logBytes = 32

  /// Returns the revocations that a device presents when it connects. First come those that revoke the device itself,
  /// if it is revoked, and those that void a revocation of it. Then come all others that count, the newest first.
  ///
  /// A peer that knows only a revocation of the device would reject the device, and so could never receive the
  /// statement that voids this revocation. The others are included because one of the devices that they revoke may have
  /// revoked this device without this device knowing it.
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
