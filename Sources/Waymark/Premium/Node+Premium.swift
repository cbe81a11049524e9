import Engine
public import Foundation
package import Membership
import Replication
import Storage
package import Wire

extension Node {
  /// Returns the entitlements of this circle, the earliest first.
  public func entitlements() throws -> [EntitlementSummary] {
    try withWaymarkErrors { premiumSummary.entitlements }
  }

  package var premiumSummary: PremiumSummary {
    let now = replica.gateTime(now: wall())
    let held = circle.evaluation.entitlements.sorted {
      ($0.body.notBefore, $0.body.serial) < ($1.body.notBefore, $1.body.serial)
    }
    return PremiumSummary(
      premium: SyncState.Premium(replica.ownGate(now: wall())), text: connections.exclusion?.text,
      next: connections.exclusion.map(\.next)
        ?? (replica.ownGate(now: wall()).isPremium ? nil : ownPremiumStep),
      purchases: purchaseSummaries, appAccountToken: appAccountToken,
      entitlements: held.map { EntitlementSummary($0, in: circle, for: identity.device, at: now) },
      issuers: circle.evaluation.issuers.sorted())
  }

  /// The issuers that the circle trusts, followed by those that it has withdrawn.
  package var issuers: [IssuerSummary] {
    let all = circle.evaluation.pinnedIssuers.sorted().map { IssuerSummary($0, in: circle) }
    return all.filter { !$0.withdrawn } + all.filter(\.withdrawn)
  }

  /// Installs an entitlement from a purchase or an issuer. The entitlement syncs to the other devices automatically.
  ///
  /// - Parameter bytes: the output of `waymark issuer issue` or
  ///   ``Issuer/entitlement(keyFile:circle:devices:from:until:issued:passphrases:)``.
  /// - Returns: the resulting sync state.
  /// - Throws: `WaymarkError` with the code `no_certificate`, `wrong_circle`, `unknown_issuer`, `issuer_withdrawn` or
  ///   `entitlement_withdrawn`.
  @discardableResult
  public func install(entitlement bytes: Data) throws -> SyncState {
    let place = "the given data"
    try withWaymarkErrors { try install(try Issuer.certificate(in: [UInt8](bytes), of: place), from: place) }
    return try syncState()
  }

  /// Installs the entitlement in a file.
  @discardableResult
  public func installEntitlement(at file: URL) throws -> SyncState {
    let path = file.path(percentEncoded: false)
    try withWaymarkErrors { try install(try Issuer.readCertificate(path), from: path) }
    return try syncState()
  }

  /// Installs an entitlement, unless the circle already has it.
  ///
  /// - Parameter place: where the statement comes from, for error messages.
  @discardableResult
  package func install(_ statement: Statement, from place: String) throws -> (
    entitlement: EntitlementSummary, isNew: Bool
  ) {
    let entitlement = try circle.entitlement(statement, from: place)
    let isNew = circle.statement(statement.id) == nil
    if isNew { loop.handle(.statementsAdded([statement.bytes])) }
    let now = replica.gateTime(now: wall())
    return (EntitlementSummary(entitlement, in: circle, for: identity.device, at: now), isNew)
  }

  /// Makes the circle trust an issuer of entitlements.
  ///
  /// - Parameters:
  ///   - publicKey: the issuer's `.pub` file.
  ///   - rootKey: the file with the circle's root key; nil for the root key that this device holds.
  /// - Throws: `WaymarkError` with the code `issuer_withdrawn` if the circle has withdrawn its trust in this key.
  public func trustIssuer(at publicKey: URL, rootKey: URL? = nil) throws {
    try withWaymarkErrors {
      let issuer = try Issuer.readPublicKey(publicKey.path(percentEncoded: false))
      try trust(issuer, rootKey: rootKey?.path(percentEncoded: false), passphrase: nil)
    }
  }

  /// Makes the circle trust an issuer of entitlements.
  ///
  /// - Parameter passphrase: the passphrase of the root key, if it is sealed; nil to prompt for it.
  /// - Returns: whether the issuer was added; false if the circle already trusted it.
  @discardableResult
  package func trust(_ issuer: DeviceKey, rootKey: String?, passphrase: Passphrase?) throws -> Bool {
    let root = try RootKey.read(
      rootKey, at: home, of: circle, passphrases(passphrase), for: "Trusting an issuer")
    guard !circle.evaluation.isWithdrawn(issuer: issuer) else { throw WaymarkError.withdrawn(issuer: issuer) }
    guard !circle.evaluation.issuers.contains(issuer) else { return false }
    let body = IssuerStatement(circle: circle.id, root: DeviceKey(root), issuers: [issuer], issued: wall())
    loop.handle(.statementsAdded([try Statement(signing: body, with: root).bytes]))
    return true
  }

  // MARK: Mock purchases

  /// Buys premium without payment, in a build with the trait `MockPurchases`. Replaces an earlier mock purchase.
  ///
  /// The purchase applies to this device only.
  ///
  /// - Parameter end: when the purchase ends; nil for no end.
  /// - Throws: `WaymarkError` with the code `usage` in other builds.
  @discardableResult
  public func buyMockPremium(until end: Date? = nil) throws -> SyncState {
    try withWaymarkErrors {
      let (purchase, now, end) = (try MockPurchase(), wall(), end?.milliseconds)
      if let end { try MockPurchase.check(end, typed: CivilTime.text(end), now: now) }
      let statement = try purchase.statement(
        circle: circle.id, device: identity.device, now: now, until: end)
      try keepMockPurchase(end.map { Array(String($0).utf8) } ?? [])
      loop.handle(.statementsAdded([statement.bytes]))
    }
    return try syncState()
  }

  /// Cancels a mock purchase, with the effect of an expired subscription: records stay where they are.
  @discardableResult
  public func cancelMockPremium() throws -> SyncState {
    try withWaymarkErrors {
      _ = try MockPurchase()
      try keepMockPurchase(nil)
    }
    return try syncState()
  }

  private func keepMockPurchase(_ end: [UInt8]?) throws {
    try store.setMeta(MetaKey.mockPurchase, end)
    replicator.setLocalPremium(try LocalPremium(store))
    // The replica evaluates its gate only at a deadline or when it is told that the preference changed.
    loop.handle(.preferenceChanged(replica.preference))
  }
}
