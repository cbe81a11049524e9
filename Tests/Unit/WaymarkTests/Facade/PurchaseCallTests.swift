import Control
import Foundation
import Home
import JSONDocument
import Membership
import Model
import Purchases
import Reasons
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// Purchases in the App Store, from the call of an app to the lanes of all devices.
@Suite(.enabled(if: verifiesPurchases, "this build can't verify purchases"))
struct PurchaseCallTests {
  private static let day: TimeInterval = 86_400

  /// A circle whose devices want to sync and have no premium.
  private func circle(_ names: String...) async throws -> TestCircle {
    let circle = try await TestCircle(names: names, premium: .nobody)
    let end = circle.clock.now.addingTimeInterval(1)
    try await circle.entitle(until: end)
    try await circle.settle()
    for name in names { try await circle.turnSyncOn(name) }
    try await circle.clock.sleep(until: end.addingTimeInterval(1))
    try await circle.settle()
    for name in names { #expect(try await !circle[name].syncState().isActive) }
    return circle
  }

  private func states(_ circle: TestCircle) async throws -> [SyncState] {
    var states: [SyncState] = []
    for node in circle.nodes { states.append(try await node.syncState()) }
    return states
  }

  private func failure(_ body: () async throws -> Void) async throws -> WaymarkError? {
    do {
      try await body()
      return nil
    } catch let error as WaymarkError {
      return error
    }
  }

  @Test func `a purchase on one device opens the lane on all, a refund closes it, and its reversal opens it`()
    async throws
  {
    let circle = try await circle("alice", "bob")
    let store = try TestAppStore(clock: circle.clock)
    var purchase = store.buy(for: await circle["alice"].appAccountToken)
    let state = try await circle["alice"].install(purchase: purchase.transaction, renewal: purchase.renewal)
    #expect(state.isActive && state.premium.source == .purchase)
    _ = try await circle["alice"].save(Trip(name: "Rome"))
    try await circle.settle()
    #expect(try await states(circle).allSatisfy { $0.isActive && $0.premium.source == .purchase })
    #expect(try await circle["bob"].status().counts.trips == 1)
    let shown = try await circle["bob"].purchases()
    #expect(shown.map(\.state) == [.valid] && shown.first?.deviceName == "alice")
    #expect(shown.first?.product == DevelopmentStore.yearly)

    try await circle.clock.sleep(until: circle.clock.now.addingTimeInterval(60))
    purchase.refund()
    let refunded = try await circle["bob"].install(purchase: purchase.transaction)
    #expect(refunded.obstacle == .purchaseRefunded && refunded.step == .buyPremium)
    try await circle.settle()
    #expect(try await states(circle).allSatisfy { $0.obstacle == .purchaseRefunded && $0.preference })
    _ = try await circle["alice"].save(Trip(name: "Oslo"))
    try await circle.settle()
    #expect(try await circle["bob"].status().counts.trips == 1, "records stay where they are")

    try await circle.clock.sleep(until: circle.clock.now.addingTimeInterval(60))
    purchase.reverseRefund()
    try await circle["alice"].install(purchase: purchase.transaction)
    try await circle.settle()
    #expect(try await states(circle).allSatisfy(\.isActive))
    #expect(try await circle["bob"].status().counts.trips == 2)
    await circle.close()
  }

  @Test func `a purchase counts in no other circle, and the error says what to do`() async throws {
    let circle = try await circle("alice")
    let other = try await TestCircle("carol", premium: .nobody, clock: circle.clock)
    let store = try TestAppStore(clock: circle.clock)
    let purchase = store.buy(for: await circle["alice"].appAccountToken)
    let foreign = try await failure { try await other["carol"].install(purchase: purchase.transaction) }
    #expect(foreign?.code == .purchaseNotBound)
    let token = await other["carol"].appAccountToken
    #expect(foreign?.next?.description.contains(token.uuidString) == true)
    let bearer = store.buy(for: nil)
    let unbound = try await failure { try await other["carol"].install(purchase: bearer.transaction) }
    #expect(unbound?.code == .purchaseNotBound && unbound?.message != foreign?.message)
    #expect(try await other["carol"].purchases().isEmpty)
    #expect(try await other["carol"].syncState().obstacle == .freeTier)
    await circle.close()
    await other.close()
  }

  @Test func `what is no purchase of this app is refused by name`() async throws {
    let circle = try await circle("alice")
    let alice = circle["alice"]
    let store = try TestAppStore(clock: circle.clock)
    let account = await alice.appAccountToken
    let good = store.buy(for: account)
    let (left, right) = (good.transaction.dropLast(4), good.transaction.hasSuffix("AAAA") ? "BBBB" : "AAAA")
    for (transaction, renewal, code): (String, String?, Reason) in [
      ("hello", nil, .purchaseUnreadable), (good.transaction, "hello", .purchaseUnreadable),
      (good.transaction, store.buy(for: account).renewal, .purchaseUnreadable),
      (String(left) + right, nil, .purchaseNotGenuine),
      (store.buy("other.product", for: account).transaction, nil, .purchaseNotListed),
      (store.buy(of: "other.app", for: account).transaction, nil, .purchaseNotListed),
      (store.buy(for: account, isSandbox: true).transaction, nil, .purchaseNotListed),
    ] {
      let error = try await failure { try await alice.install(purchase: transaction, renewal: renewal) }
      #expect(error?.reason == code)
      #expect(error?.next != nil, "\(code)")
    }
    #expect(try await alice.purchases().isEmpty)
    await circle.close()
  }

  @Test func `premium ends in the second in which the subscription does, without a word of the App Store`()
    async throws
  {
    let circle = try await circle("alice", "bob")
    let store = try TestAppStore(clock: circle.clock)
    let end = circle.clock.now.addingTimeInterval(600)
    let purchase = store.buy(for: await circle["alice"].appAccountToken, lasting: .seconds(600))
    try await circle["alice"].install(purchase: purchase.transaction)
    try await circle.settle()
    #expect(try await states(circle).allSatisfy { $0.premium.validUntil == end })
    try await circle.clock.advance(to: end.addingTimeInterval(-0.001))
    #expect(try await states(circle).allSatisfy(\.isActive))
    try await circle.clock.advance(to: end)
    #expect(try await states(circle).allSatisfy { $0.obstacle == .entitlementExpired })
    #expect(try await circle["bob"].purchases().map(\.state) == [.expired])
    await circle.close()
  }

  @Test func `a renewal and a grace period go on without a gap`() async throws {
    let circle = try await circle("alice")
    let alice = circle["alice"]
    let store = try TestAppStore(clock: circle.clock)
    let start = circle.clock.now
    var purchase = store.buy(for: await alice.appAccountToken, lasting: .seconds(7 * 86_400))
    try await alice.install(purchase: purchase.transaction, renewal: purchase.renewal)
    try await circle.clock.sleep(until: start.addingTimeInterval(6.9 * Self.day))
    purchase.renew()
    try await alice.install(purchase: purchase.transaction, renewal: purchase.renewal)
    #expect(try await alice.syncState().premium.validUntil == start.addingTimeInterval(14 * Self.day))

    try await circle.clock.sleep(until: start.addingTimeInterval(13.9 * Self.day))
    let grace = start.addingTimeInterval(17 * Self.day)
    purchase.failToRenew(graceUntil: grace)
    try await alice.install(purchase: purchase.transaction, renewal: purchase.renewal)
    #expect(try await alice.syncState().premium.validUntil == grace)

    try await circle.clock.sleep(until: start.addingTimeInterval(15 * Self.day))
    purchase.confirm()
    try await alice.install(purchase: purchase.transaction)
    #expect(try await alice.syncState().premium.validUntil == grace, "the held renewal info stays with it")

    var other = purchase
    let (cached, later) = (purchase.transaction, grace.addingTimeInterval(Self.day))
    try await circle.clock.sleep(until: start.addingTimeInterval(16.5 * Self.day))
    purchase.confirm()
    try await alice.install(purchase: purchase.transaction)
    try await circle.clock.sleep(until: start.addingTimeInterval(16.6 * Self.day))
    other.failToRenew(graceUntil: later)
    try await alice.install(purchase: cached, renewal: other.renewal)
    #expect(try await alice.syncState().premium.validUntil == later, "an older transaction comes with it")
    try await circle.clock.sleep(until: later)
    #expect(try await alice.syncState().obstacle == .entitlementExpired)
    await circle.close()
  }

  @Test func `a subscription has to be confirmed within 35 days, and the node asks for it after 28`()
    async throws
  {
    let circle = try await circle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let store = try TestAppStore(clock: circle.clock)
    let start = circle.clock.now
    var purchase = store.buy(for: await alice.appAccountToken)
    try await alice.install(purchase: purchase.transaction)
    try await circle.settle()
    #expect(try await bob.syncState().premium.validUntil == start.addingTimeInterval(35 * Self.day))
    #expect(try await !bob.status().notices.contains { $0.reason == .purchaseRefresh })
    try await circle.clock.sleep(until: start.addingTimeInterval(28 * Self.day))
    let notice = try #require(try await bob.status().notices.first { $0.reason == .purchaseRefresh })
    #expect(notice.text.description.contains("premium ends on 2026-06-07") && notice.next != nil)

    try await circle.clock.sleep(until: start.addingTimeInterval(35 * Self.day))
    try await circle.settle()
    let state = try await bob.syncState()
    #expect(state.obstacle == .purchaseUnconfirmed && state.step == .confirmPurchase)
    purchase.confirm()
    try await alice.install(purchase: purchase.transaction)
    try await circle.settle()
    #expect(try await states(circle).allSatisfy(\.isActive))
    #expect(try await !bob.status().notices.contains { $0.reason == .purchaseRefresh })
    await circle.close()
  }

  @Test func `launches of the app don't send what the circle knows`() async throws {
    let circle = try await circle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let store = try TestAppStore(clock: circle.clock)
    var purchase = store.buy(for: await alice.appAccountToken)
    try await alice.install(purchase: purchase.transaction, renewal: purchase.renewal)
    try await circle.settle()
    let held = await bob.circle.setHash
    for device in [alice, bob, alice] {
      try await circle.clock.sleep(until: circle.clock.now.addingTimeInterval(3_600))
      purchase.confirm()
      try await device.install(purchase: purchase.transaction, renewal: purchase.renewal)
    }
    try await circle.settle()
    #expect(await bob.circle.setHash == held)
    let count = await bob.circle.ids.count
    for _ in 0..<3 {
      try await circle.clock.sleep(until: circle.clock.now.addingTimeInterval(2 * Self.day))
      purchase.confirm()
      try await alice.install(purchase: purchase.transaction, renewal: purchase.renewal)
    }
    try await circle.settle()
    #expect(await bob.circle.setHash != held)
    #expect(await bob.circle.ids.count == count, "each replaces the one before")
    await circle.close()
  }

  @Test func `a purchase for life needs no confirmation and has no end`() async throws {
    let circle = try await circle("alice")
    let alice = circle["alice"]
    let store = try TestAppStore(clock: circle.clock)
    var purchase = store.buy(for: await alice.appAccountToken, lasting: nil)
    try await alice.install(purchase: purchase.transaction)
    let shown = try #require(try await alice.purchases().first)
    #expect(shown.until == nil && shown.trustedUntil == nil)
    try await circle.clock.sleep(until: circle.clock.now.addingTimeInterval(400 * Self.day))
    let state = try await alice.syncState()
    #expect(state.isActive && state.premium.validUntil == nil)
    purchase.refund()
    #expect(try await alice.install(purchase: purchase.transaction).obstacle == .purchaseRefunded)

    let year = store.buy(for: await alice.appAccountToken)
    #expect(try await alice.install(purchase: year.transaction).isActive)
    let product = try await alice.run("premium.show")["product"]
    #expect(product == .string(DevelopmentStore.yearly), "the refunded purchase would have lasted longer")
    await circle.close()
  }

  @Test func `a change to a product without premium is accepted, and ends it`() async throws {
    let circle = try await circle("alice")
    let alice = circle["alice"]
    let store = try TestAppStore(clock: circle.clock)
    let purchase = store.buy(for: await alice.appAccountToken)
    try await alice.install(purchase: purchase.transaction)
    try await circle.clock.sleep(until: circle.clock.now.addingTimeInterval(60))
    let changed = purchase.changed(to: "basic")
    #expect(try await !alice.install(purchase: changed.transaction).isActive)
    #expect(try await alice.purchases().map(\.state) == [.notListed])
    await circle.close()
  }

  @Test func `a device that is opened again still has the purchase, with the policy of the app`() async throws
  {
    let policy = PurchasePolicy(apps: [.init(bundle: "com.example.trips", groups: [])])
    let circle = try await TestCircle(
      names: ["alice"], premium: .nobody, storage: .directories, purchases: policy)
    let store = try TestAppStore(clock: circle.clock)
    let account = await circle["alice"].appAccountToken
    let error = try await failure {
      try await circle["alice"].install(purchase: store.buy(for: account).transaction)
    }
    #expect(error?.code == .purchaseNotListed, "only the app's own list counts")
    await circle.close()

    let second = try await TestCircle(names: ["bob"], premium: .nobody, storage: .directories)
    let purchase = try TestAppStore(clock: second.clock).buy(for: await second["bob"].appAccountToken)
    try await second["bob"].install(purchase: purchase.transaction)
    try await second.reopen("bob")
    #expect(try await second["bob"].syncState().premium.source == .purchase)
    await second.close()
  }
}
