import Engine
import Enrolment
package import Platform
package import Home
package import Membership
import Model
package import NodeRuntime
package import Purchases
import Reasons
import Replication
import Storage
package import Wire

/// Reads and changes what gives this circle premium: entitlements, issuers, and purchases in the App Store.
package struct PremiumOperations {
  private let core: NodeCore

  package init(_ core: NodeCore) { self.core = core }

  /// Premium, with the purchases, entitlements and issuers behind it.
  package var summary: PremiumSummary {
    let now = core.replica.gateTime(now: core.wall())
    let held = core.circle.evaluation.entitlements.sorted {
      ($0.body.notBefore, $0.body.serial) < ($1.body.notBefore, $1.body.serial)
    }
    return PremiumSummary(
      premium: SyncState.Premium(core.replica.ownGate(now: core.wall())),
      text: core.connections.exclusion?.text,
      next: core.connections.exclusion.map(\.next)
        ?? (core.replica.ownGate(now: core.wall()).isPremium ? nil : core.inspection().ownPremiumStep),
      purchases: purchases, product: product(of: purchases), appAccountToken: core.circle.id.appAccount,
      entitlements: held.map { EntitlementSummary($0, in: core.circle, for: core.identity.device, at: now) },
      issuers: core.circle.evaluation.issuers.sorted())
  }

  /// Returns the product of the purchase that gives premium: of those that are valid, the one that lasts longest.
  private func product(of purchases: [PurchaseSummary]) -> String? {
    guard core.replica.ownGate(now: core.wall()).source == .purchase else { return nil }
    return purchases.filter { $0.state == .valid }.max {
      ($0.until ?? .distantFuture) < ($1.until ?? .distantFuture)
    }?.product
  }

  /// The issuers that the circle trusts, followed by those that it has withdrawn.
  package var issuers: [IssuerSummary] {
    let all = core.circle.evaluation.pinnedIssuers.sorted().map { IssuerSummary($0, in: core.circle) }
    return all.filter { !$0.withdrawn } + all.filter(\.withdrawn)
  }

  /// Installs an entitlement, unless the circle already has it.
  ///
  /// - Parameter place: where the statement comes from, for error messages.
  @discardableResult
  package func install(_ statement: Statement, from place: String) throws -> (
    entitlement: EntitlementSummary, isNew: Bool
  ) {
    let entitlement = try core.circle.entitlement(statement, from: place)
    let isNew = core.circle.statement(statement.id) == nil
    if isNew { try core.add([statement]) }
    let now = core.replica.gateTime(now: core.wall())
    return (EntitlementSummary(entitlement, in: core.circle, for: core.identity.device, at: now), isNew)
  }

  /// Makes the circle trust an issuer of entitlements.
  ///
  /// - Parameter passphrase: the passphrase of the root key, if it is sealed; nil to prompt for it.
  /// - Returns: whether the issuer was added; false if the circle already trusted it.
  @discardableResult
  package func trust(_ issuer: DeviceKey, rootKey: String?, passphrase: Passphrase?) throws -> Bool {
    let root = try RootKey.read(
      rootKey, at: core.home, of: core.circle, core.passphrases(passphrase), for: "Trusting an issuer")
    guard !core.circle.evaluation.isWithdrawn(issuer: issuer) else {
      throw WaymarkError.withdrawn(issuer: issuer)
    }
    guard !core.circle.evaluation.issuers.contains(issuer) else { return false }
    let body = IssuerStatement(
      circle: core.circle.id, root: DeviceKey(root), issuers: [issuer], issued: core.wall())
    try core.add([try Statement(signing: body, with: root)])
    return true
  }

  /// Buys premium without payment, in place of an earlier mock purchase.
  package func buyMock(until end: Date?) throws {
    let (purchase, now, end) = (try MockPurchase(), core.wall(), end?.milliseconds)
    if let end { try MockPurchase.check(end, typed: CivilTime.text(end), now: now) }
    let statement = try purchase.statement(
      circle: core.circle.id, device: core.identity.device, now: now, until: end)
    try core.maintenance.checkDisk()
    try keepMockPurchase(end.map { Array(String($0).utf8) } ?? [])
    try core.add([statement])
  }

  /// Cancels a mock purchase.
  package func cancelMock() throws {
    _ = try MockPurchase()
    try keepMockPurchase(nil)
  }

  private func keepMockPurchase(_ end: [UInt8]?) throws {
    try core.store.setMeta(MetaKey.mockPurchase, end)
    core.replicator.setLocalPremium(try LocalPremium(core.store))
    // The replica evaluates its gate only at a deadline or when it is told that the preference changed.
    core.loop.handle(.preferenceChanged(core.replica.preference))
  }

  /// The purchases in the App Store that were made for this circle.
  package var purchases: [PurchaseSummary] {
    core.circle.subscriptions.map { shown($0) }
  }

  private func shown(_ subscription: Subscription) -> PurchaseSummary {
    PurchaseSummary(
      subscription, by: core.connections.names.name(of: subscription.device),
      at: core.replica.gateTime(now: core.wall()))
  }

  /// Installs a purchase, unless the circle already knows what it says.
  ///
  /// - Returns: the purchase as the circle knows it now, and whether it changed anything.
  @discardableResult
  package func install(_ purchase: SignedPurchase) throws -> (purchase: PurchaseSummary?, isNew: Bool) {
    let given = Purchase(
      circle: core.circle.id, device: core.identity.device, transaction: purchase.transaction,
      renewal: purchase.renewal
    )
    let check = PurchaseCheck(circle: core.circle.id, policy: core.circle.purchasePolicy)
    let transaction = try check.transaction(of: given, purchase) { id in
      core.circle.subscriptions.contains { $0.id == id }
    }
    let body = core.circle.completed(given)
    let isNew = !core.circle.knows(body)
    if isNew {
      let statement = try Statement(signing: body, with: core.identity.signing)
      try core.add([statement])
      guard core.circle.statement(statement.id) != nil else {
        throw WaymarkError.failed(
          .tooManyStatements, "This circle has no room for another purchase by this device.",
          next: .waymark("premium show"))
      }
    }
    let subscription = core.circle.subscriptions.first { $0.id == transaction.subscription }
    return (subscription.map { shown($0) }, isNew)
  }
}
