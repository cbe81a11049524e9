package import Platform
package import Membership
package import Purchases
import Reasons
package import Wire

/// Checks that a purchase is one that a circle may be shown, with an error that says why not.
package struct PurchaseCheck {
  private let circle: CircleID
  private let policy: PurchasePolicy

  package init(circle: CircleID, policy: PurchasePolicy) {
    self.circle = circle
    self.policy = policy
  }

  /// Returns the transaction of an acceptable purchase.
  ///
  /// - Parameters:
  ///   - purchase: the purchase as it was read.
  ///   - given: the tokens from which it was made.
  ///   - known: whether the circle knows a subscription already. Of such a one a product is accepted too that gives no
  ///     premium, because the person changed to that product.
  /// - Throws: `WaymarkError` with the code `purchase_unreadable`, `purchase_not_bound`, `purchase_not_listed` or
  ///   `purchase_not_genuine`.
  package func transaction(
    of purchase: Purchase, _ given: SignedPurchase, isKnown known: (SubscriptionID) -> Bool
  ) throws -> Transaction {
    guard let transaction = purchase.transaction else {
      throw WaymarkError.failed(
        .purchaseUnreadable, "This is not a signed transaction of the App Store.",
        next: "pass the jwsRepresentation of a StoreKit transaction")
    }
    guard given.renewal == nil || purchase.renewal != nil else {
      throw WaymarkError.failed(
        .purchaseUnreadable, "The renewal info can't be read, or belongs to another subscription.",
        next: "pass the jwsRepresentation of the renewal info of the same subscription")
    }
    guard transaction.isBound(to: circle) else {
      throw WaymarkError.failed(
        .purchaseNotBound,
        transaction.account == nil
          ? "The purchase does not say for which circle it was made."
          : "The purchase was made for another circle.",
        next: "buy it with the account token of this circle: \(circle.appAccount.uuidString)")
    }
    guard policy.admits(transaction) else {
      let isSandbox = transaction.isSandbox && !policy.acceptsSandbox
      throw WaymarkError.failed(
        .purchaseNotListed,
        isSandbox
          ? "The purchase was made in the App Store's sandbox, which this node does not accept."
          : "Purchases in the app \(shortened(transaction.bundle)) do not give premium here.",
        next: .waymark("help premium"))
    }
    guard policy.lists(transaction) || known(transaction.subscription) else {
      throw WaymarkError.failed(
        .purchaseNotListed, "The product \(shortened(transaction.product)) does not give premium here.",
        next: .waymark("help premium"))
    }
    guard !verifiesPurchases || purchase.isGenuine(policy.roots) else {
      throw WaymarkError.failed(
        .purchaseNotGenuine, "The App Store did not sign this purchase.",
        next: "pass the jwsRepresentation of the transaction unchanged")
    }
    return transaction
  }
}

extension CircleID {
  /// The account token of this circle: StoreKit's `appAccountToken` for purchases that give it premium.
  package var appAccount: UUID {
    appAccountToken.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}
