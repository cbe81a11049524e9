// Protocol/circle.md, "Joining".

package import Sodium
package import Wire

/// The first transport message of a joiner. It contains the keys and the name to certify, and a proof that the joiner
/// holds the device key.
package struct JoinRequest: Hashable, Sendable {
  package let device: DeviceKey
  package let transport: TransportKey
  package let name: String
  private let signature: [UInt8]

  /// Creates the request of a joiner. The proof is a signature over the hash of the completed handshake.
  package init(key: SigningKey, transport: TransportKey, name: String, handshakeHash: [UInt8]) {
    device = DeviceKey(key)
    self.transport = transport
    self.name = name
    signature = key.sign(prefix: Prefix.joinProof.bytes, handshakeHash)
  }

  package init(_ bytes: [UInt8]) throws(WireError) {
    var map = try MapReader(bytes)
    device = DeviceKey(try map.bytes32(1))
    transport = TransportKey(try map.bytes32(2))
    name = try map.name(3)
    try map.required(4)
    let start = map.reader.offset
    signature = try map.reader.byteString(max: 64)
    guard signature.count == 64 else { throw .unexpected(offset: start) }
    try map.skipRest()
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter(reserving: 256)
    writer.map(5)
    writer.pair(0, MapReader.version)
    writer.pair(1, device.raw)
    writer.pair(2, transport.raw)
    writer.pair(3, name)
    writer.unsigned(4)
    writer.byteString(signature)
    return writer.bytes
  }

  /// Whether the joiner proved in this handshake that it holds the device key, and whether its transport key is the one
  /// that Noise authenticated.
  package func isProven(handshakeHash: [UInt8], authenticated transport: TransportKey) -> Bool {
    self.transport == transport && Signature.isValidPublicKey(device.bytes)
      && device.hasSigned(handshakeHash, .joinProof, signature)
  }
}

/// The inviter's reply to a join request.
package enum JoinReply: Hashable, Sendable {
  /// The joiner is accepted. The reply contains statements of the circle: the genesis comes first, and the joiner's
  /// certificate is among them.
  case accepted(circle: [[UInt8]])
  case refused(JoinRefusal)

  package init(_ bytes: [UInt8]) throws(WireError) {
    guard bytes.count <= Limits.messageBytesMax else { throw .limit(offset: 0) }
    var map = try MapReader(bytes)
    if try map.optional(1) {
      let statements = try map.reader.statements(max: Limits.setItemsMax)
      guard !statements.isEmpty, try !map.optional(2) else { throw .unexpected(offset: map.reader.offset) }
      self = .accepted(circle: statements)
    } else {
      let code = try map.unsigned(2, max: 255)
      self = .refused(JoinRefusal(rawValue: UInt8(code)) ?? .other)
    }
    try map.skipRest()
  }

  package var encoded: [UInt8] {
    var writer = CBORWriter()
    writer.map(2)
    writer.pair(0, MapReader.version)
    switch self {
    case .accepted(let statements):
      writer.unsigned(1)
      writer.statements(statements)
    case .refused(let refusal): writer.pair(2, UInt64(refusal.rawValue))
    }
    return writer.bytes
  }
}

/// The reason why an inviter does not certify a joiner that holds a ticket. The raw values are part of the format.
package enum JoinRefusal: UInt8, Sendable {
  /// A reason that this version does not know.
  case other = 0
  case ticketSpent = 1
  case ticketExpired = 2
  case circleFull = 3
  /// The device key or the transport key belongs to another member, or to a revoked device.
  case keyInUse = 4
  /// The inviter is not an admin, or is no longer one.
  case notAdmin = 5
  case badProof = 6
}

extension Circle {
  /// Certifies a joiner that has proved its keys. If the joiner is already a member, repeats the reply, because the
  /// joiner may have missed it.
  ///
  /// If the name looks like another member's, a number is appended to it, as in `phone 2`.
  ///
  /// - Parameter key: an admin's key, or the circle's root key.
  /// - Returns: the reply to the joiner, and the new certificate, which must be inserted and stored before the reply is
  ///   sent.
  package func admit(
    _ request: JoinRequest, role: Role, by key: SigningKey, at now: Int64
  ) throws(StatementError) -> (reply: JoinReply, certificate: Statement?) {
    let inviter = DeviceKey(key)
    guard inviter == genesis.root || evaluation.members[inviter]?.role == .admin else {
      return (.refused(.notAdmin), nil)
    }
    if let member = evaluation.members[request.device], member.transport == request.transport {
      return (.accepted(circle: replyStatements(chain: member.chain)), nil)
    }
    guard evaluation.status(of: request.device) == .unknown, request.device != genesis.root,
      !evaluation.isTaken(request.transport)
    else { return (.refused(.keyInUse), nil) }
    guard evaluation.members.count < Limits.devicesMax else { return (.refused(.circleFull), nil) }
    let body = DeviceCertificate(
      circle: id, issuer: inviter, device: request.device, transport: request.transport,
      name: evaluation.freeName(request.name), role: role, issued: now)
    let certificate = try Statement(signing: body, with: key)
    var extended = self
    extended.insert([certificate])
    guard let member = extended.evaluation.members[request.device] else {
      return (.refused(.notAdmin), nil)
    }
    return (.accepted(circle: extended.replyStatements(chain: member.chain)), certificate)
  }

  /// Returns the genesis, the joiner's chain, and as many other statements as fit into half a message. The joiner
  /// receives the rest in its first session.
  private func replyStatements(chain: [StatementID]) -> [[UInt8]] {
    var statements = ([genesisID] + chain.filter { $0 != genesisID }).compactMap { statement($0)?.bytes }
    var room = Limits.messageBytesMax / 2
    for bytes in statements { room -= bytes.count + 5 }
    for other in self.statements(notIn: [genesisID] + chain) {
      room -= other.bytes.count + 5
      guard room >= 0 else { break }
      statements.append(other.bytes)
    }
    return statements
  }

  /// Returns the circle to which a joiner was admitted; nil unless the reply is for the ticket's circle and certifies
  /// the joiner's own keys.
  package static func joined(
    _ statements: [[UInt8]], ticket: Ticket, device: DeviceKey, transport: TransportKey
  ) -> Circle? {
    var verified: [Statement] = []
    for bytes in statements {
      guard let statement = try? Statement(bytes) else { return nil }
      verified.append(statement)
    }
    guard let circle = try? Circle(statements: verified), circle.id == ticket.circle,
      circle.evaluation.members[device]?.transport == transport
    else { return nil }
    return circle
  }
}

extension Evaluation {
  /// Returns the name if it does not look like any member's. If it does, returns the name with the lowest number that
  /// makes it look different from all of them, as in `phone 2`.
  ///
  /// - Parameters:
  ///   - name: a name of at most `Limits.nameBytesMax` bytes. Its end is cut off if there is no room for the number
  ///     otherwise.
  ///   - device: a member whose own name is ignored.
  package func freeName(_ name: String, for device: DeviceKey? = nil) -> String {
    let taken = Set(members.values.filter { $0.device != device }.map { skeleton($0.name) })
    guard taken.contains(skeleton(name)) else { return name }
    for number in 2...taken.count + 2 {
      let suffix = " \(number)"
      var stem = name
      while stem.utf8.count + suffix.utf8.count > Limits.nameBytesMax { stem.removeLast() }
      if !taken.contains(skeleton(stem + suffix)) { return stem + suffix }
    }
    return name
  }
}

extension CBORReader {
  /// Reads an array of statements, each as a byte string.
  mutating func statements(max: Int) throws(WireError) -> [[UInt8]] {
    var statements: [[UInt8]] = []
    for _ in 0..<(try array(max: max)) {
      statements.append(try byteString(max: Limits.statementBytesMax))
    }
    return statements
  }
}

extension CBORWriter {
  mutating func statements(_ statements: [[UInt8]]) {
    array(statements.count)
    for statement in statements { byteString(statement) }
  }
}
