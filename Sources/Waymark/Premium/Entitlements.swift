import Engine
public import Foundation
package import Membership
import Replication
import Storage
public import Wire

/// A certificate by which an issuer has said that devices of this circle are premium.
public struct EntitlementSummary: Hashable, Sendable, Codable {
  /// `premium`
  public let plan: String
  /// Whether it counts now.
  public let state: State
  /// Whether it counts for this device.
  public let here: Bool
  /// The devices it is for; nil for all of the circle.
  public let devices: [DeviceKey]?
  /// The public key of who signed it.
  public let issuer: DeviceKey
  /// When it was signed.
  public let issuedAt: Date
  /// From when it counts.
  public let notBefore: Date
  /// Until when it counts.
  public let notAfter: Date
  /// The issuer's number of it, in hexadecimal.
  public let serial: String
  /// Where it was bought, in the issuer's words.
  public let source: String

  /// Whether an entitlement counts.
  public enum State: String, Hashable, Sendable, Codable {
    /// It counts now.
    case valid
    /// Its time has not come.
    case notYet = "not_yet"
    /// Its time is over.
    case expired
    /// The circle does not trust who has signed it.
    case unknownIssuer = "unknown_issuer"
  }
}

extension EntitlementSummary {
  /// - Parameters:
  ///   - device: this device.
  ///   - now: the time that the gate goes by.
  init(_ entitlement: Entitlement, in circle: Circle, for device: DeviceKey, at now: Moment) {
    let state: State =
      if !circle.isAccepted(issuer: entitlement.issuer) {
        .unknownIssuer
      } else if now < entitlement.notBefore {
        .notYet
      } else {
        now < entitlement.notAfter ? .valid : .expired
      }
    self.init(
      plan: entitlement.plan, state: state, here: entitlement.counts(for: device),
      devices: entitlement.devices, issuer: entitlement.issuer,
      issuedAt: Date(milliseconds: entitlement.issuedAt),
      notBefore: Date(milliseconds: entitlement.notBefore),
      notAfter: Date(milliseconds: entitlement.notAfter), serial: hexadecimal(entitlement.serial.bytes),
      source: entitlement.source)
  }
}

/// Whether this device has premium, and all that gives it.
package struct PremiumSummary: Codable, Sendable {
  package let premium: SyncState.Premium
  /// Why the device is out of the circle; nil for a member.
  package let text: String?
  package let next: Step?
  /// The earliest first.
  package let entitlements: [EntitlementSummary]
  /// Whose entitlements the circle accepts.
  package let issuers: [DeviceKey]
}

extension Circle {
  /// The entitlement that a statement has to be.
  ///
  /// - Parameter place: where the statement is from.
  /// - Throws: `WaymarkError` with the code `no_certificate`, `wrong_circle` or `unknown_issuer`.
  fileprivate func entitlement(_ statement: Statement, from place: String) throws -> Entitlement {
    guard case .entitlement(let entitlement) = statement.content else {
      throw WaymarkError.failed(
        .noCertificate, "\(place.capitalizedFirst) does not hold an entitlement.",
        next: .waymark("help premium"))
    }
    guard statement.circle == id else {
      throw WaymarkError.failed(
        .wrongCircle, "The entitlement in \(place) is for another circle, \(statement.circle).",
        next: .waymark("issuer issue --key FILE --circle \(id) --until TIME"))
    }
    guard isAccepted(issuer: entitlement.issuer) else {
      throw WaymarkError.failed(
        .unknownIssuer, "This circle does not trust the issuer of this entitlement, \(entitlement.issuer).",
        next: .waymark("issuer trust FILE.pub"))
    }
    return entitlement
  }
}

extension Node {
  /// The entitlements that this circle holds, the earliest first.
  public func entitlements() throws -> [EntitlementSummary] {
    try sayingWhy { premiumSummary.entitlements }
  }

  package var premiumSummary: PremiumSummary {
    let now = replica.gateTime(now: wall())
    let held = circle.evaluation.entitlements.sorted { ($0.notBefore, $0.serial) < ($1.notBefore, $1.serial) }
    return PremiumSummary(
      premium: SyncState.Premium(replica.ownGate(now: wall())), text: exclusion?.text, next: exclusion?.next,
      entitlements: held.map { EntitlementSummary($0, in: circle, for: identity.device, at: now) },
      issuers: circle.evaluation.issuers.sorted())
  }

  /// Takes in an entitlement, as a purchase or an issuer gave it; it spreads to the other devices by itself.
  ///
  /// - Parameter bytes: the content of the file that `waymark issuer issue` or
  ///   ``Issuer/entitlement(keyFile:circle:devices:from:until:issued:passphrases:)`` makes.
  /// - Returns: what became of the gate.
  /// - Throws: `WaymarkError` with the code `no_certificate`, `wrong_circle` or `unknown_issuer`.
  @discardableResult
  public func install(entitlement bytes: Data) throws -> SyncState {
    let place = "what was given"
    try sayingWhy { try install(try Issuer.certificate(in: [UInt8](bytes), of: place), from: place) }
    return try syncState()
  }

  /// Takes in the entitlement in a file.
  @discardableResult
  public func installEntitlement(at file: URL) throws -> SyncState {
    let path = file.path(percentEncoded: false)
    try sayingWhy { try install(try Issuer.readCertificate(path), from: path) }
    return try syncState()
  }

  /// - Parameter place: where the statement is from.
  @discardableResult
  package func install(_ statement: Statement, from place: String) throws -> (
    entitlement: EntitlementSummary, isNew: Bool
  ) {
    let entitlement = try circle.entitlement(statement, from: place)
    let isNew = circle.statement(statement.id) == nil
    if isNew { handle(.statementsAdded([statement.bytes])) }
    let now = replica.gateTime(now: wall())
    return (EntitlementSummary(entitlement, in: circle, for: identity.device, at: now), isNew)
  }

  /// Lets the circle trust an issuer of entitlements.
  ///
  /// - Parameters:
  ///   - publicKey: the issuer's `.pub` file.
  ///   - rootKey: the circle's root key; nil for the one of this device.
  public func trustIssuer(at publicKey: URL, rootKey: URL? = nil) throws {
    try sayingWhy {
      let issuer = try Issuer.readPublicKey(publicKey.path(percentEncoded: false))
      try trust(issuer, rootKey: rootKey?.path(percentEncoded: false), passphrase: nil)
    }
  }

  /// - Parameter passphrase: opens the root key if it is sealed; nil to ask whoever may be asked.
  /// - Returns: whether the circle did not trust it before.
  @discardableResult
  package func trust(_ issuer: DeviceKey, rootKey: String?, passphrase: Passphrase?) throws -> Bool {
    let root = try RootKey.read(
      rootKey, at: home, of: circle, passphrases(passphrase), for: "Trusting an issuer")
    guard !circle.evaluation.issuers.contains(issuer) else { return false }
    let body = IssuerStatement(circle: circle.id, root: DeviceKey(root), issuers: [issuer], issued: wall())
    handle(.statementsAdded([try Statement(signing: body, with: root).bytes]))
    return true
  }

  // MARK: Mock purchases

  /// Premium without money, in a build with the trait `MockPurchases`; replaces an earlier mock purchase.
  ///
  /// Unlike a certificate, it is for this device alone.
  ///
  /// - Parameter end: nil for no end.
  /// - Throws: `WaymarkError` with the code `usage` in other builds.
  @discardableResult
  public func buyMockPremium(until end: Date? = nil) throws -> SyncState {
    try sayingWhy {
      let (purchase, now, end) = (try MockPurchase(), wall(), end?.milliseconds)
      if let end { try MockPurchase.check(end, typed: CivilTime.text(end), now: now) }
      let statement = try purchase.statement(
        circle: circle.id, device: identity.device, now: now, until: end)
      try keepMockPurchase(end.map { Array(String($0).utf8) } ?? [])
      handle(.statementsAdded([statement.bytes]))
    }
    return try syncState()
  }

  /// Ends a mock purchase, as an expired subscription would: records stay where they are.
  @discardableResult
  public func cancelMockPremium() throws -> SyncState {
    try sayingWhy {
      _ = try MockPurchase()
      try keepMockPurchase(nil)
    }
    return try syncState()
  }

  private func keepMockPurchase(_ end: [UInt8]?) throws {
    try store.setMeta(MetaKey.mockPurchase, end)
    replicator.setLocalPremium(try LocalPremium(store))
    // No time has come: only being told makes the replica judge its gate anew.
    handle(.preferenceChanged(replica.preference))
  }
}

extension Issuer {
  /// Signs an entitlement for a circle, or for some of its devices: what the server behind a purchase does.
  ///
  /// - Parameters:
  ///   - keyFile: the issuer's key, as ``create(at:)`` made it.
  ///   - circle: the circle of who has bought: ``NodeStatus/circle``.
  ///   - devices: empty for all devices of the circle.
  ///   - start: nil for the time of issue.
  ///   - end: the first moment at which it counts no more.
  ///   - issued: the time of issue; no device's gate goes by an earlier time from then on.
  ///   - passphrases: asked if the key is sealed.
  /// - Returns: what ``Node/install(entitlement:)`` takes.
  /// - Throws: `WaymarkError` if the key can't be read, or the end is not after the beginning.
  public static func entitlement(
    keyFile: URL, circle: CircleID, devices: [DeviceKey] = [], from start: Date? = nil, until end: Date,
    issued: Date = Date(), passphrases: PassphraseSource = .environment
  ) throws -> Data {
    let order = Order(
      keyFile: keyFile.path(percentEncoded: false), circle: circle.description,
      devices: devices.map(\.description), until: CivilTime.text(end.milliseconds),
      from: start.map { CivilTime.text($0.milliseconds) })
    return Data(try issue(order, now: issued.milliseconds, passphrases: passphrases).utf8)
  }

  /// Makes an issuer's key: the file, readable by its owner only, and its public half beside it, with `.pub`.
  ///
  /// - Returns: the public key, for the circle that is to trust it.
  /// - Throws: `WaymarkError` if either file is there already.
  @discardableResult
  public static func create(at keyFile: URL) throws -> DeviceKey {
    try create(keyFile.path(percentEncoded: false))
  }
}
