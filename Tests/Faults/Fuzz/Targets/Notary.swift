import JSONDocument
import Membership
import Replication
import Sodium
import Wire

/// Signs statements for any device: of every kind, with every kind of mistake.
struct Notary {
  private let signers: [SigningKey]
  private var ids: [StatementID] = [StatementID(Cast.circle.raw)]
  private var scribe = Scribe()

  init(_ signers: [SigningKey] = Cast.everyone) { self.signers = signers }

  /// The next statement; nil if the choices describe an invalid one.
  mutating func statement(_ choices: inout Choices) throws -> Statement? {
    let key = choices.pick(signers)
    guard let (kind, written) = body(&choices, by: key) else { return forkProof(&choices) }
    var body = written
    // Few edits, so that some bodies can still be read.
    for _ in 0..<max(0, choices.below(8) - 5) { bend(&body, &choices) }
    guard let statement = try? Statement(Self.envelope(kind, body, by: key)) else { return nil }
    ids.append(statement.id)
    return statement
  }

  private func bend(_ body: inout [UInt8], _ choices: inout Choices) {
    let place = Int(choices.number() & 0xffff)
    guard place < body.count else { return }
    switch choices.below(3) {
    case 0: body[place] ^= choices.byte()
    case 1: body.insert(choices.byte(), at: place)
    default: body.remove(at: place)
    }
  }

  static func envelope(_ kind: UInt8, _ body: [UInt8], by key: SigningKey) -> [UInt8] {
    let name = Int(kind) < names.count ? names[Int(kind)] : "statement-\(kind)"
    let prefix = Array("waymark/\(name)-signature/v1\0".utf8)
    var writer = CBORWriter()
    writer.array(3)
    writer.unsigned(UInt64(kind))
    writer.byteString(body)
    writer.byteString(key.sign(prefix: prefix, body))
    return writer.bytes
  }

  private static let names = [
    "", "genesis", "device-certificate", "revocation", "log-cut", "entitlement", "issuers", "fork-proof",
    "addresses", "grant", "branch-proof", "statement-11", "purchase",
  ]

  // MARK: Bodies

  private func body(_ choices: inout Choices, by key: SigningKey) -> (UInt8, [UInt8])? {
    let signer = DeviceKey(key)
    switch choices.below(10) {
    case 0, 1, 2: return (2, certificate(&choices, signer).encoded)
    case 3, 4: return (3, revocation(&choices, signer).encoded)
    case 5: return (4, cut(&choices, signer).encoded)
    case 6: return (5, entitlement(&choices, signer).encoded)
    case 7:
      let issuers = (0..<1 + choices.below(2)).map { _ in device(&choices) }
      return (6, IssuerStatement(circle: Cast.circle, root: signer, issuers: issuers, issued: 3).encoded)
    case 8:
      let addresses = (0..<choices.below(3)).map { _ in text(&choices) }
      return (
        8,
        AddressStatement(circle: Cast.circle, device: signer, clock: choices.number(), addresses: addresses)
          .encoded
      )
    default:
      return switch choices.below(4) {
      case 0: nil
      case 2: (12, purchase(&choices, signer).encoded)
      case 3: (13, withdrawal(&choices, signer).encoded)
      default: (UInt8(9 + choices.below(60)), raw(&choices, signer))
      }
    }
  }

  private func device(_ choices: inout Choices) -> DeviceKey { DeviceKey(choices.pick(Cast.everyone)) }

  private func text(_ choices: inout Choices) -> String {
    choices.below(4) == 0
      ? String(decoding: choices.bytes(max: 70), as: UTF8.self)
      : choices.pick(["phone", "host:1", "10.0.0.1:7"])
  }

  private func time(_ choices: inout Choices) -> Int64 { Int64(bitPattern: choices.number()) }

  private func certificate(_ choices: inout Choices, _ signer: DeviceKey) -> DeviceCertificate {
    DeviceCertificate(
      circle: Cast.circle, issuer: signer, device: device(&choices), transport: choices.pick(Cast.transports),
      name: text(&choices), role: choices.flag() ? .member : .admin, issued: time(&choices))
  }

  private func revocation(_ choices: inout Choices, _ signer: DeviceKey) -> Revocation {
    let kept = (0..<choices.below(3)).map { _ in
      KeptLog(
        incarnation: choices.pick(Scribe.incarnations), lane: choices.flag() ? .records : .settings,
        tips: (0..<choices.below(3)).map { _ in ChangeSetID(Bytes32(0, 0, 0, UInt64(choices.below(4)))) })
    }
    let valid = Set((0..<choices.below(4)).map { _ in choices.pick(ids) })
    return Revocation(
      circle: Cast.circle, issuer: signer, device: device(&choices), kept: kept, valid: valid.sorted(),
      issued: time(&choices))
  }

  private func cut(_ choices: inout Choices, _ signer: DeviceKey) -> LogCut {
    LogCut(
      circle: Cast.circle,
      log: LogKey(
        device: signer, incarnation: choices.pick(Scribe.incarnations),
        lane: choices.flag() ? .records : .settings),
      tip: choices.flag() ? nil : ChangeSetID(Bytes32(0, 0, 0, UInt64(choices.below(4)))),
      issued: time(&choices))
  }

  private func withdrawal(_ choices: inout Choices, _ signer: DeviceKey) -> Withdrawal {
    let issuers = (0..<choices.below(3)).map { _ in device(&choices) }
    let entitlements = (0..<choices.below(3)).map { _ in choices.pick(ids) }
    return Withdrawal(
      circle: Cast.circle, signer: signer, issuers: issuers, entitlements: entitlements,
      issued: time(&choices))
  }

  private func entitlement(_ choices: inout Choices, _ signer: DeviceKey) -> Entitlement {
    Entitlement(
      circle: Cast.circle, issuer: signer,
      devices: choices.flag() ? nil : Set((0..<choices.below(3)).map { _ in device(&choices) }).sorted(),
      plan: text(&choices), issuedAt: time(&choices), notBefore: time(&choices), notAfter: time(&choices),
      serial: Bytes16(0, UInt64(choices.byte())), source: "shop")
  }

  /// A body of a kind unknown to this version.
  private func raw(_ choices: inout Choices, _ signer: DeviceKey) -> [UInt8] {
    var writer = CBORWriter()
    let value = Scribe.value(&choices)
    writer.map(4)
    writer.unsigned(0)
    writer.unsigned(1)
    writer.unsigned(1)
    writer.byteString(Cast.circle.raw)
    writer.unsigned(2)
    writer.byteString(signer.raw)
    writer.unsigned(3)
    writer.value(value)
    return writer.bytes
  }

  /// Two sets of Mallory's, for the same position or not.
  private mutating func forkProof(_ choices: inout Choices) -> Statement? {
    for _ in 0..<2 { _ = scribe.write(&choices, as: [Cast.mallory]) }
    guard !scribe.written.isEmpty else { return nil }
    let (one, other) = (choices.pick(scribe.written).raw, choices.pick(scribe.written).raw)
    return try? ForkProof.statement(
      circle: Cast.circle, (one.header, one.signature), (other.header, other.signature))
  }
}
