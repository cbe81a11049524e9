// Protocol/circle.md, "Introduction".

package import Wire

/// The credentials that a device presents when a session opens. The initiator sends them as the payload of handshake
/// message 3, and the responder as its first transport message.
package struct Introduction: Hashable, Sendable {
  /// The chain of certificates from the root outward, ending with the device's own certificate. The genesis comes first
  /// if the chain begins with it. Revocations may precede the chain. If there is not room for all of them, those
  /// that revoke this device and those that void a revocation of this device take precedence.
  package var chain: [[UInt8]]
  package var entitlements: [[UInt8]]
  /// The time on the sender's wall clock.
  package var wallMilliseconds: Int64

  package init(_ bytes: [UInt8]) throws(WireError) {
    guard bytes.count <= Limits.introductionBytesMax else { throw .limit(offset: 0) }
    var map = try MapReader(bytes)
    try map.required(1)
    let start = map.reader.offset
    chain = try map.reader.statements(max: Limits.chainLinksMax)
    guard !chain.isEmpty else { throw .unexpected(offset: start) }
    try map.required(2)
    entitlements = try map.reader.statements(max: Limits.introductionEntitlementsMax)
    wallMilliseconds = try map.milliseconds(3)
    // Newer versions may say more about themselves.
    try map.skipRest()
  }

  init(chain: [[UInt8]], entitlements: [[UInt8]], wallMilliseconds: Int64) {
    self.chain = chain
    self.entitlements = entitlements
    self.wallMilliseconds = wallMilliseconds
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter()
    writer.map(4)
    writer.pair(0, MapReader.version)
    writer.unsigned(1)
    writer.statements(chain)
    writer.unsigned(2)
    writer.statements(entitlements)
    writer.pair(3, wallMilliseconds)
    return writer.bytes
  }
}

/// The reason why a peer is not admitted. The peer is not told.
package enum AdmissionError: Error, Hashable, Sendable {
  case malformed
  case wrongCircle
  case notAMember
  case revoked
}

extension Circle {
  /// Returns the introduction of this device; nil if the device is not a member. The introduction contains as many
  /// entitlements as fit, beginning with those that end last.
  package func introduction(of device: DeviceKey, wallMilliseconds: Int64) -> Introduction? {
    evaluation.members[device].map { introduction(of: $0, wallMilliseconds) }
  }

  /// Returns the introduction of a device that dials; nil for a device that was never certified. A device outside the
  /// circle dials to ask whether its exclusion still holds. It presents the chain that it would have without any
  /// revocation.
  package func dialledIntroduction(of device: DeviceKey, wallMilliseconds: Int64) -> Introduction? {
    (evaluation.members[device] ?? withoutRevocations.members[device]).map {
      introduction(of: $0, wallMilliseconds)
    }
  }

  private func introduction(of member: Member, _ wallMilliseconds: Int64) -> Introduction {
    let device = member.device
    var chain = member.chain.compactMap { statement($0)?.bytes }
    var room = Limits.introductionBytesMax - 64
    for bytes in chain { room -= bytes.count + 5 }
    for revocation in revocationsToShow(by: device).map(\.bytes) where chain.count < Limits.chainLinksMax {
      guard revocation.count + 5 <= room else { continue }
      room -= revocation.count + 5
      chain.insert(revocation, at: 0)
    }
    var shown: [[UInt8]] = []
    for bytes in entitlementStatements(for: device) where shown.count < Limits.introductionEntitlementsMax {
      guard bytes.count + 5 <= room else { continue }
      room -= bytes.count + 5
      shown.append(bytes)
    }
    return Introduction(chain: chain, entitlements: shown, wallMilliseconds: wallMilliseconds)
  }

  private func entitlementStatements(for device: DeviceKey) -> [[UInt8]] {
    var found: [(end: Int64, statement: Statement)] = []
    for entitlement in evaluation.entitlements where !entitlement.isWithdrawn {
      let body = entitlement.body
      guard isAccepted(issuer: body.issuer), body.counts(for: device), let statement = held[entitlement.id]
      else { continue }
      found.append((body.notAfter, statement))
    }
    return found.sorted { ($0.end, $0.statement.id) > ($1.end, $1.statement.id) }.map(\.statement.bytes)
  }

  /// Judges a peer by its introduction and by the transport key that Noise authenticated.
  ///
  /// The statements in the introduction are added to the circle only if the peer is a member, or was one until now. The
  /// caller must store the changes.
  ///
  /// - Returns: the member; nil if the introduction shows that the peer is no longer a member.
  package mutating func admit(
    _ introduction: Introduction, authenticated transport: TransportKey
  ) throws(AdmissionError) -> (member: Member?, changes: Changes) {
    try admit(introduction, authenticated: transport) { decoded throws(StatementError) in
      try Statement(verifying: decoded)
    }
  }

  /// - Parameter verify: verifies a signature. Called only for statements that are not held.
  mutating func admit(
    _ introduction: Introduction, authenticated transport: TransportKey,
    verify: (UnverifiedStatement) throws(StatementError) -> Statement
  ) throws(AdmissionError) -> (member: Member?, changes: Changes) {
    let shown = try ShownStatements(introduction)
    guard shown.all.allSatisfy({ $0.circle == id }) else { throw .wrongCircle }
    guard let own = shown.own.certified else { throw .malformed }
    guard own.transport == transport else { throw .notAMember }
    let statements = try verified(shown, verify)
    var extended = self
    let changes = extended.insert(statements)
    let status = extended.evaluation.status(of: own.device)
    let wasMember = evaluation.members[own.device]?.transport == transport
    if case .member(let member) = status, member.transport == transport {
      self = extended
      return (member, changes)
    }
    // A member may bring any statement, including those that end its own membership.
    guard !wasMember else {
      self = extended
      return (nil, changes)
    }
    throw status == .revoked ? .revoked : .notAMember
  }

  /// Verifies the statements of an introduction.
  ///
  /// Verifying a signature is expensive, and anyone who once saw a ticket can open a connection. So the certificate of
  /// the peer comes first, starting with a link of its chain whose signer this device knows: a stranger can't make
  /// such a link, and fails at the first signature. Statements whose signers are unknown are left out. If they are
  /// valid, they arrive when the two sides compare their statements.
  private func verified(
    _ shown: ShownStatements, _ verify: (UnverifiedStatement) throws(StatementError) -> Statement
  ) throws(AdmissionError) -> [Statement] {
    guard let path = shown.path(endingAt: { isHeld($0) || knows($0) }) else { throw .notAMember }
    var statements: [Statement] = []
    var certified: Set<DeviceKey> = []
    func add(_ decoded: UnverifiedStatement) throws(AdmissionError) {
      if let known = held[decoded.id], known.bytes == decoded.bytes { return statements.append(known) }
      do { statements.append(try verify(decoded)) } catch { throw .malformed }
    }
    for index in path {
      try add(shown.all[index])
      if let device = shown.all[index].certified?.device { certified.insert(device) }
    }
    for (index, decoded) in shown.all.enumerated() where !path.contains(index) {
      if isHeld(decoded) || knows(decoded) || certified.contains(decoded.signer) { try add(decoded) }
    }
    return statements
  }

  private func isHeld(_ decoded: UnverifiedStatement) -> Bool {
    statement(decoded.id)?.bytes == decoded.bytes
  }

  /// Whether the circle certifies the signer of a statement, or accepts it as an issuer of entitlements.
  private func knows(_ decoded: UnverifiedStatement) -> Bool {
    if case .entitlement(let body) = decoded.content, isAccepted(issuer: body.issuer) { return true }
    return decoded.signer == genesis.root || evaluation.known(decoded.signer) != nil
  }
}

/// The decoded statements of an introduction. No signature has been verified.
private struct ShownStatements {
  let all: [UnverifiedStatement]
  /// The position of the certificate of the device that introduces itself.
  private let last: Int

  init(_ introduction: Introduction) throws(AdmissionError) {
    var all: [UnverifiedStatement] = []
    for bytes in introduction.chain + introduction.entitlements {
      do { all.append(try UnverifiedStatement(bytes)) } catch { throw .malformed }
    }
    self.all = all
    last = introduction.chain.count - 1
  }

  var own: UnverifiedStatement { all[last] }

  /// Returns the positions of certificates that lead from one that meets a condition to the device's own; nil if there
  /// are none.
  func path(endingAt isEnd: (UnverifiedStatement) -> Bool) -> [Int]? {
    var path = [last]
    while let first = path.first, !isEnd(all[first]) {
      let issuer = all.indices.last { !path.contains($0) && all[$0].certified?.device == all[first].signer }
      guard let issuer else { return nil }
      path.insert(issuer, at: 0)
    }
    return path
  }
}
