public import Platform
import JSONDocument
import Purchases
import Waymark
import WaymarkCare
import Wire
import X509

/// A stand-in for StoreKit and the App Store in tests.
///
/// It signs transactions as the App Store does, with keys that only ``TestCircle``, in-memory test nodes and builds with
/// the trait `MockPurchases` accept. It needs the trait `AppStore`, without which no build verifies purchases.
///
/// ```swift
/// let circle = try await TestCircle("alice", "bob", premium: .nobody)
/// let store = try TestAppStore(clock: circle.clock)
/// var purchase = store.buy(for: await circle["alice"].appAccountToken)
/// try await circle["alice"].install(purchase: purchase.transaction)
///
/// purchase.refund()
/// try await circle["bob"].install(purchase: purchase.transaction)
/// ```
public struct TestAppStore: Sendable {
  private let signer: Signer
  private let now: @Sendable () -> Date

  /// Creates a store.
  ///
  /// - Parameter clock: the clock by which it signs.
  /// - Throws: ``TestSetupError`` in a build without the trait `AppStore`.
  public init(clock: VirtualClock) throws {
    try self.init { clock.now }
  }

  /// Creates a store that signs by any clock.
  package init(now: @escaping @Sendable () -> Date) throws {
    guard let key = SignatureKey(scalar: DevelopmentStore.leafKey) else {
      throw TestSetupError(description: "this build can't sign purchases: it needs the trait AppStore")
    }
    signer = Signer(key: key)
    self.now = now
  }

  /// Buys a subscription, or a product for life.
  ///
  /// - Parameters:
  ///   - product: the id of the product; nil for the subscription that test nodes accept.
  ///   - bundle: the bundle id of the app; nil for the app that test nodes accept.
  ///   - account: the `appAccountToken` of a node of the circle; nil for a purchase that belongs to no circle.
  ///   - duration: how long a period lasts; nil for a purchase for life.
  ///   - isSandbox: whether it is bought in the App Store's sandbox.
  public func buy(
    _ product: String? = nil, of bundle: String? = nil, for account: UUID?,
    lasting duration: Duration? = .seconds(365 * 86_400), isSandbox: Bool = false
  ) -> TestPurchase {
    let product = product ?? (duration == nil ? DevelopmentStore.lifetime : DevelopmentStore.yearly)
    return TestPurchase(
      product: product, bundle: bundle ?? DevelopmentStore.bundle, account: account, duration: duration,
      environment: isSandbox ? "Sandbox" : "Production", signer: signer, now: now)
  }
}

/// A purchase in a ``TestAppStore``, with what happens to it later.
public struct TestPurchase: Sendable {
  private var product: String
  private let bundle: String
  private let account: UUID?
  private let duration: Duration?
  private let environment: String
  private let signer: Signer
  private let now: @Sendable () -> Date
  private let original: String
  private var number = 1
  private var purchased: Date
  private var signed: Date
  private var expires: Date?
  private var revoked: Date?
  private var graceEnds: Date?

  fileprivate init(
    product: String, bundle: String, account: UUID?, duration: Duration?, environment: String, signer: Signer,
    now: @escaping @Sendable () -> Date
  ) {
    (self.product, self.bundle, self.account, self.duration) = (product, bundle, account, duration)
    (self.environment, self.signer, self.now) = (environment, signer, now)
    original = String(UInt64.random(in: 1...UInt64(Int64.max)))
    (purchased, signed) = (now(), now())
    expires = duration.map { purchased.addingTimeInterval(TimeInterval($0.components.seconds)) }
  }

  /// The transaction as it was signed last: the argument of `install(purchase:renewal:)`.
  public var transaction: String {
    var payload: JSON = [
      "transactionId": .string("\(original)\(number)"), "originalTransactionId": .string(original),
      "bundleId": .string(bundle), "productId": .string(product),
      "purchaseDate": .integer(purchased.milliseconds), "quantity": 1,
      "type": duration == nil ? "Non-Consumable" : "Auto-Renewable Subscription",
      "inAppOwnershipType": "PURCHASED", "signedDate": .integer(signed.milliseconds),
      "environment": .string(environment),
    ]
    if let account { payload["appAccountToken"] = .string(account.uuidString.lowercased()) }
    if let expires { payload["expiresDate"] = .integer(expires.milliseconds) }
    if let revoked {
      payload["revocationDate"] = .integer(revoked.milliseconds)
      payload["revocationReason"] = 0
    }
    return signer.sign(payload)
  }

  /// The renewal info as it was signed last; nil for a purchase for life.
  public var renewal: String? {
    guard duration != nil else { return nil }
    var payload: JSON = [
      "originalTransactionId": .string(original), "productId": .string(product),
      "environment": .string(environment), "signedDate": .integer(signed.milliseconds),
      "autoRenewStatus": 1,
    ]
    if let graceEnds { payload["gracePeriodExpiresDate"] = .integer(graceEnds.milliseconds) }
    return signer.sign(payload)
  }

  /// Signs the transaction again, as at a launch of the app.
  public mutating func confirm() { signed = now() }

  /// Begins the next period, from the end of the last one or from now, whichever is later.
  public mutating func renew() {
    number += 1
    signed = now()
    purchased = max(expires ?? signed, signed)
    expires = duration.map { purchased.addingTimeInterval(TimeInterval($0.components.seconds)) }
    (revoked, graceEnds) = (nil, nil)
  }

  /// Returns the same subscription after the person changed to another product, from now on.
  public func changed(to product: String) -> TestPurchase {
    var changed = self
    changed.renew()
    changed.product = product
    return changed
  }

  /// Refunds the purchase.
  public mutating func refund() {
    (signed, revoked) = (now(), now())
  }

  /// Takes a refund back.
  public mutating func reverseRefund() { (signed, revoked) = (now(), nil) }

  /// Lets a payment fail, with a grace period in which premium goes on.
  public mutating func failToRenew(graceUntil end: Date) {
    (signed, graceEnds) = (now(), end)
  }
}

/// Signs with the keys of the stand-in.
private final class Signer: Sendable {
  private let key: SignatureKey

  init(key: SignatureKey) { self.key = key }

  /// Returns a JWS with a payload.
  func sign(_ payload: JSON) -> String {
    let certificates = [DevelopmentStore.leaf, DevelopmentStore.intermediate, DevelopmentStore.root]
    let header: JSON = [
      "alg": "ES256", "x5c": .array(certificates.map { .string(Base64.encode($0)) }),
    ]
    let parts = [header, payload].map { Base64.encodeForURL(Array($0.text().utf8)) }
    let message = parts.joined(separator: ".")
    guard let signature = key.sign(Array(message.utf8)) else { preconditionFailure("libcrypto can't sign") }
    return message + "." + Base64.encodeForURL(signature)
  }
}
