import Foundation
import Home
import Membership
import Purchases
import Reasons
import Testing
import Wire

/// Which purchases a device shows to its circle. The tokens here are not signed, so a build that verifies purchases
/// refuses in the end those that other builds show.
struct PurchaseCheckTests {
  static let circle = CircleID(Bytes32(1, 2, 3, 4))
  static let policy = PurchasePolicy(
    apps: [.init(bundle: "com.example.trips", products: ["yearly", "forever"], groups: ["21"])])
  /// What happens to a purchase that is acceptable except for its signature.
  static let shown: Reason? = verifiesPurchases ? .purchaseNotGenuine : nil

  private static func token(_ fields: [String: String?] = [:]) -> String {
    var values = [
      "bundleId": #""com.example.trips""#, "productId": #""yearly""#, "environment": #""Production""#,
      "originalTransactionId": #""7""#, "purchaseDate": "1000", "signedDate": "1000",
      "expiresDate": "9000000000000", "appAccountToken": "\"\(circle.appAccount.uuidString)\"",
    ]
    for (name, value) in fields { values[name] = value }
    let payload = values.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
    let parts = [#"{"alg":"ES256","x5c":["","",""]}"#, "{\(payload)}"]
    return parts.map { Base64.encodeForURL(Array($0.utf8)) }.joined(separator: ".") + "."
  }

  private static func refusal(
    _ transaction: String, renewal: String? = nil, by policy: PurchasePolicy = Self.policy,
    isKnown: Bool = false
  ) -> Reason? {
    code {
      let purchase = Purchase(
        circle: circle, device: DeviceKey(Bytes32(5, 6, 7, 8)), transaction: transaction, renewal: renewal)
      let given = SignedPurchase(transaction: transaction, renewal: renewal)
      _ = try PurchaseCheck(circle: circle, policy: policy).transaction(of: purchase, given) { _ in isKnown }
    }
  }

  @Test(
    arguments: [
      ([:], shown), (["appAccountToken": nil], .purchaseNotBound),
      (["appAccountToken": #""12345678-1234-8123-8123-123456789012""#], .purchaseNotBound),
      (["bundleId": #""com.example.other""#], .purchaseNotListed),
      (["bundleId": #""com.example.trips.beta""#], .purchaseNotListed),
      (["environment": #""Sandbox""#], .purchaseNotListed),
      (["environment": #""Xcode""#], .purchaseNotListed),
      (["productId": #""monthly""#], .purchaseNotListed),
      // Every product of a group counts, but a purchase for life has to be listed itself.
      (["productId": #""monthly""#, "subscriptionGroupIdentifier": #""21""#], shown),
      (["productId": #""monthly""#, "subscriptionGroupIdentifier": #""22""#], .purchaseNotListed),
      (
        ["productId": #""monthly""#, "subscriptionGroupIdentifier": #""21""#, "expiresDate": nil],
        .purchaseNotListed
      ),
      (["productId": #""forever""#, "expiresDate": nil], shown),
      (["inAppOwnershipType": #""FAMILY_SHARED""#], .purchaseNotListed),
      (["inAppOwnershipType": #""PURCHASED""#], shown),
      (["type": #""Consumable""#], .purchaseNotListed),
      (["type": #""Non-Renewing Subscription""#], .purchaseNotListed),
      (["type": #""Auto-Renewable Subscription""#], shown),
      (["type": #""Auto-Renewable Subscription""#, "expiresDate": nil], .purchaseNotListed),
      (["type": #""Non-Consumable""#, "productId": #""forever""#, "expiresDate": nil], shown),
      // What can't be read counts as no purchase.
      (["purchaseDate": #""1000""#], .purchaseUnreadable), (["signedDate": nil], .purchaseUnreadable),
      (["expiresDate": "-1"], .purchaseUnreadable), (["isUpgraded": "1"], .purchaseUnreadable),
    ] as [([String: String?], Reason?)])
  func `a purchase is shown only if it is one of this circle and gives premium`(
    fields: [String: String?], expected: Reason?
  ) {
    #expect(Self.refusal(Self.token(fields)) == expected)
  }

  @Test func `a sandbox and a family count only by the policy of the app`() {
    var policy = Self.policy
    let (sandbox, shared) = (
      Self.token(["environment": #""Sandbox""#]), Self.token(["inAppOwnershipType": #""FAMILY_SHARED""#])
    )
    policy.acceptsSandbox = true
    #expect(Self.refusal(sandbox, by: policy) == Self.shown)
    #expect(Self.refusal(shared, by: policy) == .purchaseNotListed)
    (policy.acceptsSandbox, policy.acceptsFamilySharing) = (false, true)
    #expect(Self.refusal(sandbox, by: policy) == .purchaseNotListed)
    #expect(Self.refusal(shared, by: policy) == Self.shown)
  }

  @Test func `a product without premium is shown only if the circle knows the subscription`() {
    let changed = Self.token(["productId": #""basic""#])
    #expect(Self.refusal(changed) == .purchaseNotListed)
    #expect(Self.refusal(changed, isKnown: true) == Self.shown)
    // A known subscription of another circle or app is refused all the same.
    let foreign = Self.token(["productId": #""basic""#, "appAccountToken": nil])
    #expect(Self.refusal(foreign, isKnown: true) == .purchaseNotBound)
    let other = Self.token(["productId": #""basic""#, "bundleId": #""com.example.other""#])
    #expect(Self.refusal(other, isKnown: true) == .purchaseNotListed)
  }

  @Test func `a renewal info has to belong to the subscription`() {
    let transaction = Self.token()
    let renewal = Self.token(["gracePeriodExpiresDate": "9000000000001"])
    #expect(Self.refusal(transaction, renewal: renewal) == Self.shown)
    let foreign = Self.token(["originalTransactionId": #""8""#])
    let sandbox = Self.token(["environment": #""Sandbox""#])
    for wrong in ["hello", "", foreign, sandbox] {
      #expect(Self.refusal(transaction, renewal: wrong) == .purchaseUnreadable, "\(wrong)")
    }
    #expect(Self.refusal("hello") == .purchaseUnreadable)
  }

  @Test func `the account token of a circle is compared regardless of case, and with all its digits`() {
    let account = Self.circle.appAccount.uuidString
    #expect(Self.refusal(Self.token(["appAccountToken": "\"\(account.lowercased())\""])) == Self.shown)
    let shorter = account.dropLast()
    #expect(Self.refusal(Self.token(["appAccountToken": "\"\(shorter)\""])) == .purchaseNotBound)
    let last = account.hasSuffix("0") ? "1" : "0"
    #expect(Self.refusal(Self.token(["appAccountToken": "\"\(shorter)\(last)\""])) == .purchaseNotBound)
  }

  // MARK: Files

  @Test(
    arguments: [
      ("eyJa.b.c", "eyJa.b.c", nil), ("eyJa.b.c\n", "eyJa.b.c", nil),
      (" eyJa.b.c \r\n\teyJd.e.f\n", "eyJa.b.c", "eyJd.e.f"), ("eyJa..", "eyJa..", nil), ("", nil, nil),
      ("eyJa.b", nil, nil), ("eyJa.b.c.d", nil, nil), ("abc.d.e", nil, nil), ("eyJa.b.c hello", nil, nil),
      ("eyJa.b.c eyJd.e.f eyJg.h.i", nil, nil),
    ] as [(String, String?, String?)])
  func `a file of a purchase has a transaction and perhaps its renewal info, and nothing else`(
    content: String, transaction: String?, renewal: String?
  ) {
    let purchase = SignedPurchase(Array(content.utf8))
    #expect(purchase?.transaction == transaction)
    #expect(purchase?.renewal == renewal)
  }

  @Test func `a file with a token that is longer than any purchase is none`() {
    let most = "eyJ.." + String(repeating: "a", count: Limits.purchaseTokenBytesMax - 5)
    #expect(SignedPurchase(Array(most.utf8))?.transaction == most)
    #expect(SignedPurchase(Array((most + "a").utf8)) == nil)
  }
}
