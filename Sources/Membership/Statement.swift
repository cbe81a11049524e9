// Protocol/circle.md, "Statements".

package import Sodium
package import Wire

/// The kinds of signed statements. The raw values are part of the format.
package enum StatementKind: UInt8, CaseIterable, Sendable {
  case genesis = 1
  case deviceCertificate = 2
  case revocation = 3
  case logCut = 4
  case entitlement = 5
  case issuers = 6
  case forkProof = 7
  case addresses = 8
  case grant = 9
  case branchProof = 10
  case purchase = 12
  case withdrawal = 13

  var name: String {
    switch self {
    case .genesis: "genesis"
    case .deviceCertificate: "device-certificate"
    case .revocation: "revocation"
    case .logCut: "log-cut"
    case .entitlement: "entitlement"
    case .issuers: "issuers"
    case .forkProof: "fork-proof"
    case .addresses: "addresses"
    case .grant: "grant"
    case .branchProof: "branch-proof"
    case .purchase: "purchase"
    case .withdrawal: "withdrawal"
    }
  }

  /// The name in the prefix of the signature. Since statements grow, a kind has its number there, so that programs that
  /// do not know the kind can verify it; older kinds have their names.
  var prefixName: String { self == .withdrawal ? Self.prefixName(ofUnknown: rawValue) : name }

  static func prefixName(ofUnknown kind: UInt8) -> String { "statement-\(kind)" }
}

/// The reason why bytes are not accepted as a statement of this circle.
package enum StatementError: Error, Hashable, Sendable {
  case malformed(WireError)
  case badSignature
  case wrongCircle
  /// The quota of the signer or of the circle is used up.
  case tooMany
}

/// A statement whose signature has been verified. No value of this type exists before verification. The statement may
/// still be void.
package struct Statement: Sendable {
  /// The decoded body of a statement.
  package enum Content: Hashable, Sendable {
    case genesis(Genesis)
    case deviceCertificate(DeviceCertificate)
    case revocation(Revocation)
    case logCut(LogCut)
    case entitlement(Entitlement)
    case issuers(IssuerStatement)
    case forkProof(ForkProof)
    case addresses(AddressStatement)
    case grant(Grant)
    case branchProof(BranchProof)
    case purchase(Purchase)
    case withdrawal(Withdrawal)
    /// A statement of a kind that only newer versions know. It is stored and forwarded, but has no effect here.
    case unknown
  }

  package let id: StatementID
  package let kind: UInt8
  package let circle: CircleID
  /// The key that the body names as signer; for a fork proof or a branch proof, the device whose logs forked.
  package let signer: DeviceKey
  package let content: Content
  /// The envelope as it was received. It is stored and forwarded unchanged.
  package let bytes: [UInt8]

  /// Decodes one statement and verifies its signature.
  package init(_ bytes: [UInt8]) throws(StatementError) {
    try self.init(verifying: UnverifiedStatement(bytes))
  }

  /// Verifies the signature of a decoded statement.
  init(verifying decoded: UnverifiedStatement) throws(StatementError) {
    guard decoded.envelope.isSigned(by: decoded.signer, content: decoded.content) else {
      throw .badSignature
    }
    id = decoded.id
    kind = decoded.envelope.kind
    circle = decoded.circle
    signer = decoded.signer
    content = decoded.content
    bytes = decoded.bytes
  }

  /// Signs a body with the key that the body names as its signer.
  ///
  /// - Throws: the same error as any reader, if the body exceeds a limit or does not name this key as its signer.
  package init(signing body: some StatementBody, with key: SigningKey) throws(StatementError) {
    let encoded = body.encoded
    let kind = type(of: body).kind.rawValue
    let signature = key.sign(prefix: Prefix.signature(ofKind: kind).bytes, encoded)
    try self.init(Envelope.encode(kind: kind, body: encoded, signature: signature))
  }
}

/// A decoded statement whose signature has not been verified. Nothing that it says may be relied on.
struct UnverifiedStatement {
  let id: StatementID
  let circle: CircleID
  let signer: DeviceKey
  let content: Statement.Content
  let bytes: [UInt8]
  fileprivate let envelope: Envelope

  init(_ bytes: [UInt8]) throws(StatementError) {
    let layout: BodyLayout
    do {
      envelope = try Envelope(bytes)
      layout = try BodyLayout(kind: envelope.kind, body: envelope.body)
    } catch {
      throw .malformed(error)
    }
    id = envelope.id
    if case .genesis = layout.content { circle = CircleID(id.raw) } else { circle = layout.circle }
    signer = layout.signer
    content = layout.content
    self.bytes = bytes
  }

  /// The device that the statement certifies, and its transport key; nil for a statement that certifies no device.
  var certified: (device: DeviceKey, transport: TransportKey)? {
    switch content {
    case .genesis(let body): (body.device, body.transport)
    case .deviceCertificate(let body): (body.device, body.transport)
    default: nil
    }
  }
}

/// The body of a statement that is signed by one key.
package protocol StatementBody: Hashable, Sendable {
  static var kind: StatementKind { get }
  /// The canonical bytes of the body.
  var encoded: [UInt8] { get }
}

/// The fields that all bodies have in common, and the decoded content.
private struct BodyLayout {
  var circle: CircleID
  var signer: DeviceKey
  var content: Statement.Content

  init(kind: UInt8, body: [UInt8]) throws(WireError) {
    var map = try MapReader(body)
    guard let known = StatementKind(rawValue: kind) else {
      (circle, signer) = try map.common()
      try map.skipRest()
      content = .unknown
      return
    }
    switch known {
    case .genesis:
      let genesis = try Genesis(&map)
      (circle, signer, content) = (CircleID(.zero), genesis.root, .genesis(genesis))
    case .forkProof:
      let proof = try ForkProof(&map)
      (circle, signer, content) = (proof.circle, proof.log.device, .forkProof(proof))
    case .branchProof:
      let proof = try BranchProof(&map)
      (circle, signer, content) = (proof.circle, proof.tree.device, .branchProof(proof))
    default:
      (circle, signer) = try map.common()
      content = try Self.content(known, circle, signer, &map)
    }
    try map.end()
  }

  private static func content(
    _ kind: StatementKind, _ circle: CircleID, _ signer: DeviceKey, _ map: inout MapReader
  ) throws(WireError) -> Statement.Content {
    switch kind {
    case .deviceCertificate: .deviceCertificate(try DeviceCertificate(circle, signer, &map))
    case .revocation: .revocation(try Revocation(circle, signer, &map))
    case .logCut: .logCut(try LogCut(circle, signer, &map))
    case .entitlement: .entitlement(try Entitlement(circle, signer, &map))
    case .issuers: .issuers(try IssuerStatement(circle, signer, &map))
    case .addresses: .addresses(try AddressStatement(circle, signer, &map))
    case .grant: .grant(try Grant(circle, signer, &map))
    case .purchase: .purchase(try Purchase(circle, signer, &map))
    case .withdrawal: .withdrawal(try Withdrawal(circle, signer, &map))
    case .genesis, .forkProof, .branchProof: preconditionFailure("\(kind) has a layout of its own")
    }
  }
}

/// The encoded form of a statement: [kind, body, signature].
struct Envelope {
  var kind: UInt8
  var body: [UInt8]
  var signature: [UInt8]

  init(_ bytes: [UInt8]) throws(WireError) {
    guard bytes.count <= Limits.branchProofBytesMax else { throw .limit(offset: 0) }
    var reader = CBORReader(bytes)
    try reader.array(exactly: 3)
    kind = UInt8(try reader.unsigned(max: Self.kindMax))
    guard kind > 0 else { throw .unexpected(offset: 1) }
    let known = StatementKind(rawValue: kind)
    guard known == .branchProof || bytes.count <= Limits.statementBytesMax else { throw .limit(offset: 0) }
    body = try reader.byteString(max: Limits.branchProofBytesMax)
    let start = reader.offset
    signature = try reader.byteString(max: Limits.branchProofHeadersMax * 64)
    switch known {
    case .forkProof: guard signature.count == 128 else { throw .unexpected(offset: start) }
    case .branchProof: guard signature.count % 64 == 0 else { throw .unexpected(offset: start) }
    default: guard signature.count == 64 else { throw .unexpected(offset: start) }
    }
    try reader.end()
  }

  /// The greatest number of a kind. Greater numbers are rejected, so that a kind always fits into one byte.
  static let kindMax = 63

  static func encode(kind: UInt8, body: [UInt8], signature: [UInt8]) -> [UInt8] {
    var writer = CBORWriter(reserving: body.count + signature.count + 8)
    writer.array(3)
    writer.unsigned(UInt64(kind))
    writer.byteString(body)
    writer.byteString(signature)
    return writer.bytes
  }

  var id: StatementID { StatementID(Prefix.statementID.hash([kind], body)) }

  func isSigned(by signer: DeviceKey, content: Statement.Content) -> Bool {
    if case .forkProof(let proof) = content { return proof.isSigned(by: signature) }
    if case .branchProof(let proof) = content { return proof.isSigned(by: signature) }
    return signer.hasSigned(body, .signature(ofKind: kind), signature)
  }
}
