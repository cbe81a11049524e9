import Engine
public import Foundation
import Membership
package import Purchases
import Replication
public import Wire

/// A purchase in the App Store, with its renewals, as this device evaluates it.
public struct PurchaseSummary: Hashable, Sendable, Codable {
  /// The id of the product.
  public let product: String
  /// The bundle id of the app.
  public let app: String
  /// Whether it gives premium at the present time, and if not, why.
  public let state: State
  /// When what is paid ends, or a grace period after it; nil for a purchase for life.
  public let until: Date?
  /// When the App Store signed the transaction that decides.
  public let confirmed: Date
  /// When the transaction is no longer trusted, so that a newer one is needed; nil for a purchase for life.
  public let trustedUntil: Date?
  /// The device that installed the transaction that decides.
  public let device: DeviceKey
  /// Whether the App Store's sandbox sold it, without payment.
  public let isSandbox: Bool

  /// The state of a purchase.
  public enum State: String, Hashable, Sendable, Codable, CaseIterable {
    /// It gives premium.
    case valid
    /// It was signed at a time that has not come yet.
    case notYet = "not_yet"
    /// It has ended.
    case expired
    /// The App Store last confirmed it more than 35 days ago.
    case unconfirmed
    /// It was refunded, or taken back.
    case refunded
    /// Another product replaced it.
    case upgraded
    /// It is not one of the products that give premium.
    case notListed = "not_listed"
    /// This build can't verify it.
    case unjudged
  }
}

extension PurchaseSummary {
  /// - Parameter now: the time at which the gate is evaluated.
  init(_ subscription: Subscription, at now: Moment) {
    let transaction = subscription.transaction
    self.init(
      product: transaction.product, app: transaction.bundle, state: State(subscription.state(at: now)),
      until: subscription.end.map(Date.init(milliseconds:)),
      confirmed: Date(milliseconds: transaction.signed),
      trustedUntil: subscription.trusted.map(Date.init(milliseconds:)), device: subscription.device,
      isSandbox: transaction.isSandbox)
  }
}

extension PurchaseSummary.State {
  fileprivate init(_ state: Subscription.State) {
    switch state {
    case .valid: self = .valid
    case .notYet: self = .notYet
    case .expired: self = .expired
    case .unconfirmed: self = .unconfirmed
    case .refunded: self = .refunded
    case .upgraded: self = .upgraded
    case .notListed: self = .notListed
    case .unjudged: self = .unjudged
    }
  }
}

extension Node {
  /// The token that ties a purchase in the App Store to this circle. Pass it to StoreKit with every purchase:
  ///
  /// ```swift
  /// try await product.purchase(options: [.appAccountToken(node.appAccountToken)])
  /// ```
  ///
  /// A purchase that was made without it gives no premium, because anyone could show a copy of it.
  public var appAccountToken: UUID { circle.id.appAccount }

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
    try withWaymarkErrors { _ = try install(SignedPurchase(transaction: transaction, renewal: renewal)) }
    return try syncState()
  }

  /// Returns the purchases in the App Store that were made for this circle, those that were confirmed last first.
  public func purchases() throws -> [PurchaseSummary] {
    try withWaymarkErrors { purchaseSummaries }
  }

  var purchaseSummaries: [PurchaseSummary] {
    let now = replica.gateTime(now: wall())
    return circle.subscriptions.map { PurchaseSummary($0, at: now) }
  }

  /// Installs a purchase, unless the circle already knows what it says.
  ///
  /// - Returns: the purchase as the circle knows it now, and whether it changed anything.
  @discardableResult
  package func install(_ purchase: SignedPurchase) throws -> (purchase: PurchaseSummary?, isNew: Bool) {
    var body = Purchase(
      circle: circle.id, device: identity.device, transaction: purchase.transaction, renewal: purchase.renewal)
    let transaction = try circle.accepted(body, hasRenewal: purchase.renewal != nil)
    for other in circle.evaluation.purchases where circle.isGenuine(renewalOf: other) {
      body = body.adding(renewalOf: other.body)
    }
    let isNew = !circle.knows(body)
    if isNew {
      let statement = try Statement(signing: body, with: identity.signing)
      loop.handle(.statementsAdded([statement.bytes]))
      guard circle.statement(statement.id) != nil else {
        throw WaymarkError.failed(
          .tooManyStatements, "This circle has no room for another purchase by this device.",
          next: .waymark("premium show"))
      }
    }
    let now = replica.gateTime(now: wall())
    let subscription = circle.subscriptions.first { $0.id == transaction.subscription }
    return (subscription.map { PurchaseSummary($0, at: now) }, isNew)
  }
}

extension CircleID {
  /// The account token of this circle.
  var appAccount: UUID {
    let bytes = appAccountToken
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

extension Circle {
  /// Checks that a purchase is one that this circle may be shown, and returns its transaction.
  ///
  /// A transaction of a product that gives no premium is accepted if the circle knows its subscription: the person
  /// changed to that product.
  ///
  /// - Throws: `WaymarkError`.
  fileprivate func accepted(_ purchase: Purchase, hasRenewal: Bool) throws -> Transaction {
    guard let transaction = purchase.transaction else {
      throw WaymarkError.failed(
        .purchaseUnreadable, "This is not a signed transaction of the App Store.",
        next: "pass the jwsRepresentation of a StoreKit transaction")
    }
    guard !hasRenewal || purchase.renewal != nil else {
      throw WaymarkError.failed(
        .purchaseUnreadable, "The renewal info can't be read, or belongs to another subscription.",
        next: "pass the jwsRepresentation of the renewal info of the same subscription")
    }
    guard transaction.isBound(to: id) else {
      let missing = transaction.account == nil
      throw WaymarkError.failed(
        .purchaseNotBound,
        missing
          ? "The purchase does not say for which circle it was made."
          : "The purchase was made for another circle.",
        next: "buy it with the account token of this circle: \(id.appAccount.uuidString)")
    }
    guard purchasePolicy.admits(transaction) else {
      let isSandbox = transaction.isSandbox && !purchasePolicy.acceptsSandbox
      throw WaymarkError.failed(
        .purchaseNotListed,
        isSandbox
          ? "The purchase was made in the App Store's sandbox, which this node does not accept."
          : "The purchases of the app \(shortened(transaction.bundle)) do not give premium here.",
        next: .waymark("help premium"))
    }
    guard purchasePolicy.lists(transaction) || subscriptions.contains(where: { $0.id == transaction.subscription })
    else {
      throw WaymarkError.failed(
        .purchaseNotListed, "The product \(shortened(transaction.product)) does not give premium here.",
        next: .waymark("help premium"))
    }
    guard !verifiesPurchases || isGenuine(purchase) else {
      throw WaymarkError.failed(
        .purchaseNotGenuine, "The App Store did not sign this purchase.",
        next: "pass the jwsRepresentation of the transaction unchanged")
    }
    return transaction
  }
}
