// Protocol/purchase.md, "Which purchases count".
//
// Every renewal, refund and launch of an app brings a newer transaction. All devices of the circle look at all of them:
//
//     statements of the circle ──▶ genuine, bound to the circle, of an app on the list
//                              ──▶ of each subscription the one that decides: the latest period, as signed last
//                              ──▶ a period of premium, or none
//
//     signed ─10 min      signed                      expires, or the end of a grace period
//        ├──────────────────┼──────────────────────────────┤
//        ├──────────────────┼────────────── 35 days ──────────────────────┤  trusted
//        └── premium begins                                └── premium ends, at the earlier of the two ends
//
// Suppose that a subscription is refunded. StoreKit gives the app a newer transaction of the same period, with a date
// of revocation. The phone shows it to the circle, and it decides. A transaction of an earlier period that is refunded
// only now has an earlier date of purchase, so it decides nothing.

package import Purchases
package import Wire

/// A purchase of a product, with all its renewals, by the transaction that decides.
package struct Subscription: Sendable {
  package let id: SubscriptionID
  package let transaction: Transaction
  /// The device whose statement decides.
  package let device: DeviceKey
  /// The end of what is paid, or of the grace period; nil for a purchase for life.
  package let end: Int64?
  /// The newest renewal info that is genuine.
  package let renewal: RenewalInfo?
  private let isListed: Bool

  /// The state of a subscription. The raw values are shown on the command line.
  package enum State: String, Sendable, CaseIterable {
    case valid
    case notYet = "not_yet"
    case expired
    /// The newest transaction is too old to be trusted.
    case unconfirmed
    case refunded
    /// Another product of the same subscription replaced it.
    case upgraded
    case notListed = "not_listed"
    /// This build can't verify it.
    case unjudged
  }

  /// Returns the state at gate time.
  package func state(at time: Int64) -> State {
    if !isListed { return .notListed }
    if transaction.isUpgraded { return .upgraded }
    if transaction.isRevoked { return .refunded }
    if !verifiesPurchases { return .unjudged }
    if time < start { return .notYet }
    if let end, time >= end { return .expired }
    if let trusted, time >= trusted { return .unconfirmed }
    return .valid
  }

  package var start: Int64 { transaction.signed - Limits.purchaseAheadMilliseconds }

  /// The first millisecond at which the transaction is no longer trusted; nil for a purchase for life.
  package var trusted: Int64? { end.map { _ in transaction.signed + Limits.purchaseTrustMilliseconds } }

  /// When the person should open the app, so that premium does not end; nil for a purchase for life.
  package var refresh: Int64? { end.map { _ in transaction.signed + Limits.purchaseRefreshMilliseconds } }

  /// The period in which it gives premium; nil if it gives none.
  package var period: PremiumPeriod? {
    guard isListed, verifiesPurchases, !transaction.isUpgraded, !transaction.isRevoked else { return nil }
    guard let end, let trusted else { return PremiumPeriod(start: start, end: nil) }
    return start < min(end, trusted) ? PremiumPeriod(start: start, end: min(end, trusted)) : nil
  }
}

/// A period of premium in milliseconds since 1970.
package struct PremiumPeriod: Hashable, Sendable {
  package let start: Int64
  /// The first millisecond after it; nil if it does not end.
  package let end: Int64?

  package func contains(_ time: Int64) -> Bool { start <= time && end.map { time < $0 } ?? true }
}

/// Which tokens of the held purchases are genuine. Verifying a token is expensive, so it is done once.
struct PurchaseVerdicts: Sendable {
  struct Verdict: Sendable {
    var transaction: Bool
    var renewal: Bool
  }

  private let roots: [[UInt8]]
  private var known: [StatementID: Verdict] = [:]
  /// How many purchases were verified.
  private(set) var verified = 0

  init(roots: [[UInt8]]) { self.roots = roots }

  /// Verifies the purchases that have not been verified yet, and forgets those that are no longer held.
  mutating func update(_ purchases: [HeldPurchase]) {
    guard verifiesPurchases else { return }
    var verdicts: [StatementID: Verdict] = [:]
    for purchase in purchases { verdicts[purchase.id] = known[purchase.id] ?? verify(purchase) }
    known = verdicts
  }

  private mutating func verify(_ purchase: HeldPurchase) -> Verdict {
    verified += 1
    return Verdict(
      transaction: purchase.transaction.isGenuine(roots), renewal: purchase.renewal?.isGenuine(roots) ?? false
    )
  }

  subscript(id: StatementID) -> Verdict {
    known[id] ?? Verdict(transaction: !verifiesPurchases, renewal: false)
  }
}

/// A readable purchase that is bound to the circle, by a device that was certified at some time.
package struct HeldPurchase: Sendable {
  package let id: StatementID
  package let body: Purchase
  package let transaction: Transaction
  package var renewal: RenewalInfo? { body.renewal }

  init?(_ id: StatementID, _ body: Purchase) {
    guard let transaction = body.transaction, transaction.isBound(to: body.circle) else { return nil }
    (self.id, self.body, self.transaction) = (id, body, transaction)
  }
}

extension Subscription {
  /// Returns the subscriptions of a circle, those that were signed last first.
  ///
  /// In a build that can't verify purchases, the result tells what they claim.
  static func all(
    _ held: [HeldPurchase], _ verdicts: PurchaseVerdicts, _ policy: PurchasePolicy
  ) -> [Subscription] {
    let admitted = held.filter { verdicts[$0.id].transaction && policy.admits($0.transaction) }
    return Dictionary(grouping: admitted, by: \.transaction.subscription).compactMap { id, purchases in
      let decides = purchases.max {
        ($0.transaction.purchased, $0.transaction.signed, $0.id)
          < ($1.transaction.purchased, $1.transaction.signed, $1.id)
      }
      let renewal = purchases.filter { verdicts[$0.id].renewal }
        .max { ($0.renewal?.signed ?? -1, $0.id) < ($1.renewal?.signed ?? -1, $1.id) }?.renewal
      guard let decides else { return nil }
      return Subscription(
        id: id, transaction: decides.transaction, device: decides.body.device,
        end: decides.transaction.expires.map { max($0, renewal?.graceEnds ?? $0) }, renewal: renewal,
        isListed: policy.lists(decides.transaction))
    }
    .sorted {
      ($0.transaction.signed, $0.transaction.purchased) > ($1.transaction.signed, $1.transaction.purchased)
    }
  }
}

extension Purchase {
  /// Whether the transaction is genuine, and the renewal info too, if there is one.
  package func isGenuine(_ roots: [[UInt8]]) -> Bool {
    transaction?.isGenuine(roots) ?? false && renewal?.isGenuine(roots) ?? true
  }

  /// Returns the subscription that follows from this purchase alone; nil if it does not count.
  package func subscription(by policy: PurchasePolicy) -> Subscription? {
    guard let held = HeldPurchase(StatementID(.zero), self) else { return nil }
    var verdicts = PurchaseVerdicts(roots: policy.roots)
    verdicts.update([held])
    return Subscription.all([held], verdicts, policy).first
  }
}

extension Circle {
  /// Returns a purchase with the newest transaction and renewal info of its subscription that are known to be genuine.
  /// Otherwise the signer's own newer statement would replace it, and what only one of them says would be lost.
  package func completed(_ purchase: Purchase) -> Purchase {
    guard verifiesPurchases else { return purchase }
    var purchase = purchase
    for held in evaluation.purchases {
      let verdict = verdicts[held.id]
      if verdict.transaction { purchase = purchase.taking(transactionOf: held.body) }
      if verdict.renewal { purchase = purchase.taking(renewalOf: held.body) }
    }
    return purchase
  }

  /// Whether a purchase tells the circle nothing that it does not know: the one that decides is newer, or says the same
  /// and was signed not much earlier.
  ///
  /// A build that can't verify purchases compares only with what this device itself has shown.
  package func knows(_ purchase: Purchase) -> Bool {
    guard let new = purchase.transaction else { return true }
    let known: (transaction: Transaction, renewal: RenewalInfo?)? =
      if verifiesPurchases {
        subscriptions.first { $0.id == new.subscription }.map { ($0.transaction, $0.renewal) }
      } else {
        evaluation.purchases.first {
          $0.body.device == purchase.device && $0.transaction.subscription == new.subscription
        }
        .map { ($0.transaction, $0.renewal) }
      }
    guard let (old, renewal) = known, new.purchased <= old.purchased else { return false }
    if new.purchased == old.purchased && new.signed > old.signed {
      guard old.saysTheSame(as: new), new.signed < old.signed + Limits.purchaseConfirmMilliseconds else {
        return false
      }
    }
    return purchase.renewal?.graceEnds == renewal?.graceEnds
      || purchase.renewal?.signed ?? 0 <= renewal?.signed ?? 0
  }
}
