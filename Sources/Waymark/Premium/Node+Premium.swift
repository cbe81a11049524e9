import Engine
public import Platform
import Home
import Membership
import NodeOperations
import Purchases
import Replication
import Storage
import Wire

extension Node {
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

  /// Cancels a mock purchase: the device has no premium then, and records stay where they are. To see what happens when
  /// premium expires, buy it with an end, ``buyMockPremium(until:)``.
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
  /// try await product.purchase(options: [.appAccountToken(await node.appAccountToken)])
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

}
