import Engine
import JSONDocument
import Membership
import Replication
import Sodium
import Storage
import Wire

/// `entitlement show|install|buy|cancel` and `issuer trust`.
extension Node {
  func showEntitlement(_ request: CommandRequest) -> JSON {
    let circle = replica.circle
    let now = replica.gateTime(now: wall())
    let held = circle.evaluation.entitlements.sorted { ($0.notBefore, $0.serial) < ($1.notBefore, $1.serial) }
    return document(
      request.command,
      [
        .init("premium", SyncState.Premium(replica.ownGate(now: wall())).json),
        .init("text", .text(exclusion?.text)), .init("next", .text(exclusion?.next)),
        .init("entitlements", .array(held.map { json($0, at: now) })),
        .init(
          "issuers", .array(circle.evaluation.issuers.sorted().map { .string($0.description) })),
      ])
  }

  /// Takes in a certificate that an issuer wrote; it spreads to the other devices by itself.
  func installEntitlement(_ request: CommandRequest) throws -> JSON {
    let path = try request.required("file", "the file of an entitlement")
    let (entitlement, isNew) = try takeIn(try Issuer.readCertificate(path), path)
    let now = replica.gateTime(now: wall())
    return document(
      request.command,
      [
        .init("added", .bool(isNew)), .init("entitlement", json(entitlement, at: now)),
        .init("premium", SyncState.Premium(replica.ownGate(now: wall())).json),
      ])
  }

  /// Takes in a statement that has to be an entitlement of this circle; `place` is where it is from.
  @discardableResult
  func takeIn(_ statement: Statement, _ place: String) throws -> (entitlement: Entitlement, isNew: Bool) {
    guard case .entitlement(let entitlement) = statement.content else {
      throw WaymarkError.failed(
        "no_certificate", "\(place.capitalizedFirst) does not hold an entitlement.",
        next: "waymark help premium")
    }
    guard statement.circle == replica.circle.id else {
      throw WaymarkError.failed(
        "wrong_circle", "The entitlement in \(place) is for another circle, \(statement.circle).",
        next: "waymark issuer issue --key FILE --circle \(replica.circle.id) --until TIME")
    }
    guard replica.circle.isAccepted(issuer: entitlement.issuer) else {
      throw WaymarkError.failed(
        "unknown_issuer", "This circle does not trust the issuer of this entitlement, \(entitlement.issuer).",
        next: "waymark issuer trust FILE.pub")
    }
    let isNew = replica.circle.statement(statement.id) == nil
    if isNew { insert(statements: [statement.bytes]) }
    return (entitlement, isNew)
  }

  private func json(_ entitlement: Entitlement, at now: Moment) -> JSON {
    let isAccepted = replica.circle.isAccepted(issuer: entitlement.issuer)
    let state =
      !isAccepted
      ? "unknown_issuer"
      : now < entitlement.notBefore ? "not_yet" : now < entitlement.notAfter ? "valid" : "expired"
    return [
      "plan": .string(entitlement.plan), "state": .string(state),
      "here": .bool(entitlement.counts(for: identity.device)),
      "devices": entitlement.devices.map { .array($0.map { .string($0.description) }) } ?? .null,
      "issuer": .string(entitlement.issuer.description), "issuedAt": timeJSON(entitlement.issuedAt),
      "notBefore": timeJSON(entitlement.notBefore), "notAfter": timeJSON(entitlement.notAfter),
      "serial": .string(hexadecimal(entitlement.serial.bytes)), "source": .string(entitlement.source),
    ]
  }

  // MARK: Mock purchases

  /// `entitlement buy --mock`: in builds made for it, premium without money. The certificate lets peers of
  /// the same build see it.
  func buyMock(_ request: CommandRequest) throws -> JSON {
    let key = try mockKey(request)
    let until = try request.text("until").map { try Issuer.time($0, "--until") }
    let now = wall()
    if let until, until <= now {
      throw WaymarkError.badValue(
        "--until", request.text("until") ?? "", allowed: "it must be in the future")
    }
    let statement = try Statement(
      signing: Entitlement(
        circle: replica.circle.id, issuer: DeviceKey(key), devices: [identity.device], plan: "premium",
        issuedAt: now, notBefore: now, notAfter: until ?? now + Self.yearMilliseconds,
        serial: Bytes16(randomBytes(16)) ?? .zero, source: "mock"),
      with: key)
    try keepMockPurchase(until.map { Array(String($0).utf8) } ?? [])
    insert(statements: [statement.bytes])
    return showEntitlement(request)
  }

  func cancelMock(_ request: CommandRequest) throws -> JSON {
    _ = try mockKey(request)
    try keepMockPurchase(nil)
    return showEntitlement(request)
  }

  private func keepMockPurchase(_ end: [UInt8]?) throws {
    try store.setMeta(MetaKey.mockPurchase, end)
    replicator.setLocalPremium(try LocalPremium(store))
    // No time has come: only being told makes the replica judge its gate anew.
    handle(.preferenceChanged(replica.preference))
  }

  private func mockKey(_ request: CommandRequest) throws -> SigningKey {
    guard BuildTraits.mockPurchases, let key = BuildTraits.developmentKey else {
      throw WaymarkError.usage(
        "This build has no mock purchases.", next: "waymark entitlement install FILE")
    }
    guard request.flag("mock") else {
      throw WaymarkError.usage("Only mock purchases can be made here: add --mock.")
    }
    return key
  }

  private static let yearMilliseconds: Int64 = 365 * 86_400_000

  private func insert(statements: [[UInt8]]) { handle(.statementsAdded(statements)) }

  // MARK: Issuers

  /// `issuer trust`: the circle's root key takes an issuer in.
  func trustIssuer(_ request: CommandRequest) throws -> JSON {
    let issuer = try Issuer.readPublicKey(try request.required("file", "the .pub file of an issuer"))
    let root = try RootKey.read(
      request.text("key"), at: home, of: circle, passphrases(for: request), for: "Trusting an issuer")
    let isNew = !replica.circle.evaluation.issuers.contains(issuer)
    if isNew {
      let body = IssuerStatement(
        circle: replica.circle.id, root: DeviceKey(root), issuers: [issuer], issued: wall())
      insert(statements: [try Statement(signing: body, with: root).bytes])
    }
    return document(
      request.command, [.init("issuer", .string(issuer.description)), .init("added", .bool(isNew))])
  }
}
