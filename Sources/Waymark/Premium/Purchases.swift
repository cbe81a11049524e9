import Engine
public import Foundation
import Home
import Membership
package import Purchases
import Records
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
  /// The name of that device.
  public let deviceName: String
  /// Whether the App Store's sandbox sold it, without payment.
  public let isSandbox: Bool

  private enum CodingKeys: String, CodingKey {
    case product
    case app
    case state
    case until
    case confirmed
    case trustedUntil
    case device
    case deviceName
    case isSandbox = "sandbox"
  }

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
  /// - Parameters:
  ///   - name: the name of the device that installed it.
  ///   - now: the time at which the gate is evaluated.
  init(_ subscription: Subscription, by name: String, at now: Moment) {
    let transaction = subscription.transaction
    self.init(
      product: transaction.product, app: transaction.bundle, state: State(subscription.state(at: now)),
      until: subscription.end.map(Date.init(milliseconds:)),
      confirmed: Date(milliseconds: transaction.signed),
      trustedUntil: subscription.trusted.map(Date.init(milliseconds:)), device: subscription.device,
      deviceName: name, isSandbox: transaction.isSandbox)
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
    circle.subscriptions.map(summary)
  }

  private func summary(_ subscription: Subscription) -> PurchaseSummary {
    PurchaseSummary(
      subscription, by: connections.names.name(of: subscription.device), at: replica.gateTime(now: wall()))
  }

  /// Installs a purchase, unless the circle already knows what it says.
  ///
  /// - Returns: the purchase as the circle knows it now, and whether it changed anything.
  @discardableResult
  package func install(_ purchase: SignedPurchase) throws -> (purchase: PurchaseSummary?, isNew: Bool) {
    let given = Purchase(
      circle: circle.id, device: identity.device, transaction: purchase.transaction, renewal: purchase.renewal
    )
    let check = PurchaseCheck(circle: circle.id, policy: circle.purchasePolicy)
    let transaction = try check.transaction(of: given, purchase) { id in
      circle.subscriptions.contains { $0.id == id }
    }
    let body = circle.completed(given)
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
    let subscription = circle.subscriptions.first { $0.id == transaction.subscription }
    return (subscription.map(summary), isNew)
  }
}

extension NodeInspection {
  /// The notice that premium ends unless the App Store confirms the subscription; nil if that is not due, or if premium
  /// goes on without it.
  var purchaseNotice: NodeStatus.Notice? {
    let (gate, time) = (replica.ownGate(now: now), replica.gateTime(now: now))
    guard let end = gate.validUntil,
      let subscription = circle.subscriptions.first(where: {
        $0.period?.end == end && $0.trusted == end && $0.state(at: time) == .valid
      }), let refresh = subscription.refresh, time >= refresh
    else { return nil }
    return NodeStatus.Notice(
      .purchaseRefresh,
      text:
        "premium ends on \(endText(milliseconds: end)) unless the App Store confirms the subscription before",
      next: Reason.purchaseRefresh.next())
  }
}
