import Engine
public import Foundation
import Membership
import Replication
import Storage
package import Wire

extension Node {
  /// Returns the entitlements of this circle, the earliest first.
  public func entitlements() throws -> [EntitlementSummary] {
    try core.withWaymarkErrors { PremiumOperations(core).summary.entitlements }
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
    try core.withWaymarkErrors {
      try PremiumOperations(core).install(try Issuer.certificate(in: [UInt8](bytes), of: place), from: place)
    }
    return try syncState()
  }

  /// Installs the entitlement in a file.
  @discardableResult
  public func installEntitlement(at file: URL) throws -> SyncState {
    let path = file.path(percentEncoded: false)
    try core.withWaymarkErrors {
      try PremiumOperations(core).install(try Issuer.readCertificate(path), from: path)
    }
    return try syncState()
  }

  /// Makes the circle trust an issuer of entitlements.
  ///
  /// - Parameters:
  ///   - publicKey: the issuer's `.pub` file.
  ///   - rootKey: the file with the circle's root key; nil for the root key that this device holds.
  /// - Throws: `WaymarkError` with the code `issuer_withdrawn` if the circle has withdrawn its trust in this key.
  public func trustIssuer(at publicKey: URL, rootKey: URL? = nil) throws {
    try core.withWaymarkErrors {
      let issuer = try Issuer.readPublicKey(publicKey.path(percentEncoded: false))
      try PremiumOperations(core).trust(
        issuer, rootKey: rootKey?.path(percentEncoded: false), passphrase: nil)
    }
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
    try core.withWaymarkErrors {
      try PremiumOperations(core).buyMock(until: end)
    }
    return try syncState()
  }

  /// Cancels a mock purchase, with the effect of an expired subscription: records stay where they are.
  @discardableResult
  public func cancelMockPremium() throws -> SyncState {
    try core.withWaymarkErrors {
      try PremiumOperations(core).cancelMock()
    }
    return try syncState()
  }

  // MARK: Purchases in the App Store

  /// The token that ties a purchase in the App Store to this circle. Pass it to StoreKit with every purchase:
  ///
  /// ```swift
  /// try await product.purchase(options: [.appAccountToken(node.appAccountToken)])
  /// ```
  ///
  /// A purchase that was made without it gives no premium, because anyone could show a copy of it.
  public var appAccountToken: UUID { core.circle.id.appAccount }

  /// Installs a purchase in the App Store: shows it to all devices of the circle, which verify it themselves.
  ///
  /// Call this at each launch for the transactions in StoreKit's `Transaction.currentEntitlements`, and for each of
  /// `Transaction.updates`, refunds and expired ones included. A transaction that changes nothing is not sent again.
  ///
  /// - Parameters:
  ///   - transaction: the transaction's `jwsRepresentation`.
  ///   - renewal: the `jwsRepresentation` of the subscription's renewal info, which has the end of a grace period.
  /// - Returns: the resulting sync state.
  /// - Throws: `WaymarkError` with the code `purchase_unreadable`, `purchase_not_genuine`, `purchase_not_bound` or
  ///   `purchase_not_listed`.
  @discardableResult
  public func install(purchase transaction: String, renewal: String? = nil) throws -> SyncState {
    try core.withWaymarkErrors {
      _ = try PremiumOperations(core).install(SignedPurchase(transaction: transaction, renewal: renewal))
    }
    return try syncState()
  }

  /// Returns the purchases in the App Store that were made for this circle, those that were confirmed last first.
  public func purchases() throws -> [PurchaseSummary] {
    try core.withWaymarkErrors { PremiumOperations(core).purchases }
  }

  // MARK: Withdrawals

  /// Withdraws the trust of this circle in an issuer, on all devices and for good. Its entitlements count no longer,
  /// including those that it signs later.
  ///
  /// - Parameters:
  ///   - issuer: the issuer's public key: ``EntitlementSummary/issuer``.
  ///   - rootKey: the file with the circle's root key; nil for the root key that this device holds.
  /// - Returns: the resulting sync state.
  /// - Throws: `WaymarkError` with the code `unknown_issuer` if the circle never trusted the issuer, or `root_key`.
  @discardableResult
  public func untrustIssuer(_ issuer: DeviceKey, rootKey: URL? = nil) throws -> SyncState {
    try withdraw(.issuer(issuer.description), rootKey: rootKey, issuerKey: nil)
  }

  /// Removes an entitlement, on all devices and for good. It can't be installed again; another entitlement can.
  ///
  /// The root key may remove every entitlement, and an issuer those that it signed.
  ///
  /// - Parameters:
  ///   - id: ``EntitlementSummary/id``.
  ///   - issuerKey: the key file of the issuer that signed the entitlement; nil to sign with the root key, or with the
  ///     key with which this device issued the entitlement to its own circle.
  ///   - rootKey: the file with the circle's root key; nil for the root key that this device holds.
  /// - Returns: the resulting sync state.
  /// - Throws: `WaymarkError` with the code `not_found`, `root_key`, or `unknown_issuer` if `issuerKey` is the key of
  ///   another issuer.
  @discardableResult
  public func removeEntitlement(_ id: String, issuerKey: URL? = nil, rootKey: URL? = nil) throws -> SyncState
  {
    // A part of an id may name another entitlement tomorrow, and a removal is final.
    guard id.count == 64 else { throw WaymarkError.notFound("entitlement", id) }
    return try withdraw(.entitlements([id]), rootKey: rootKey, issuerKey: issuerKey)
  }

  private func withdraw(
    _ subject: WithdrawalRequest.Subject, rootKey: URL?, issuerKey: URL?
  ) throws -> SyncState {
    var request = WithdrawalRequest(subject)
    request.rootKey = rootKey?.path(percentEncoded: false)
    request.issuerKey = issuerKey?.path(percentEncoded: false)
    // Apps ask for confirmation themselves.
    request.isConfirmed = true
    try core.withWaymarkErrors { _ = try WithdrawalOperation(core).withdraw(request) }
    return try syncState()
  }
}
