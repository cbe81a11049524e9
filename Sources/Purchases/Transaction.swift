// Protocol/purchase.md, "Reading".

import JSONDocument
import Wire

/// What a person's renewals and refunds of one purchase have in common.
package struct SubscriptionID: Hashable, Sendable {
  package let environment: String
  private let originalTransaction: String

  fileprivate init(_ payload: JSON) throws(UnreadablePayload) {
    environment = try payload.text("environment").required()
    originalTransaction = try payload.text("originalTransactionId").required()
  }

  /// Equal bytes. Strings of Swift are also equal if they only look alike.
  package static func == (left: SubscriptionID, right: SubscriptionID) -> Bool {
    isSame(left.environment, right.environment) && isSame(left.originalTransaction, right.originalTransaction)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(Array(environment.utf8))
    hasher.combine(Array(originalTransaction.utf8))
  }
}

/// Whether two texts consist of the same bytes.
func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

/// A StoreKit transaction as its token states it. Times are in milliseconds since 1970.
package struct Transaction: Hashable, Sendable {
  private let token: SignedToken
  package let subscription: SubscriptionID
  package let bundle: String
  package let product: String
  package let group: String?
  package let purchased: Int64
  package let signed: Int64
  /// The end of the period that is paid; nil for a purchase for life.
  package let expires: Int64?
  /// Whether the purchase was refunded or taken back.
  package let isRevoked: Bool
  package let isUpgraded: Bool
  package let isShared: Bool
  /// The account token that the app passed to StoreKit.
  package let account: String?
  private let type: String?

  /// Reads a transaction without verifying it; nil if it is not readable.
  package init?(_ text: String) {
    guard let token = SignedToken(text) else { return nil }
    try? self.init(token)
  }

  private init(_ token: SignedToken) throws(UnreadablePayload) {
    self.token = token
    let payload = token.payload
    subscription = try SubscriptionID(payload)
    bundle = try payload.text("bundleId").required()
    product = try payload.text("productId").required()
    purchased = try payload.time("purchaseDate").required()
    signed = try payload.time("signedDate").required()
    group = try payload.text("subscriptionGroupIdentifier").optional()
    type = try payload.text("type").optional()
    isShared = try payload.text("inAppOwnershipType").optional() == "FAMILY_SHARED"
    account = try payload.text("appAccountToken").optional()
    expires = try payload.time("expiresDate").optional()
    isRevoked = try payload.time("revocationDate").optional() != nil
    isUpgraded = try payload.flag("isUpgraded").optional() ?? false
  }

  /// Whether Apple signed it.
  package func isGenuine(_ roots: [[UInt8]]) -> Bool { token.isGenuine(roots, signed: signed) }

  package var isSandbox: Bool { isSame(subscription.environment, "Sandbox") }

  /// Whether it says the same as another transaction of the same subscription, except for when it was signed.
  package func saysTheSame(as other: Transaction) -> Bool {
    purchased == other.purchased && expires == other.expires && isRevoked == other.isRevoked
      && isUpgraded == other.isUpgraded && isShared == other.isShared && isSame(product, other.product)
  }

  /// Whether it is a purchase of a kind that can give premium for as long as it states.
  var isOfUsableType: Bool {
    switch type {
    case "Consumable", "Non-Renewing Subscription": false
    case "Auto-Renewable Subscription": expires != nil
    default: true
    }
  }
}

/// StoreKit's renewal info as its token states it: here only the grace period after a payment that failed.
package struct RenewalInfo: Hashable, Sendable {
  private let token: SignedToken
  package let subscription: SubscriptionID
  package let signed: Int64
  package let graceEnds: Int64?

  /// Reads a renewal info without verifying it; nil if it is not readable.
  package init?(_ text: String) {
    guard let token = SignedToken(text) else { return nil }
    try? self.init(token)
  }

  private init(_ token: SignedToken) throws(UnreadablePayload) {
    self.token = token
    let payload = token.payload
    subscription = try SubscriptionID(payload)
    signed = try payload.time("signedDate").required()
    graceEnds = try payload.time("gracePeriodExpiresDate").optional()
  }

  /// Whether Apple signed it.
  package func isGenuine(_ roots: [[UInt8]]) -> Bool { token.isGenuine(roots, signed: signed) }
}

/// A purchase as StoreKit hands it to an app.
package struct SignedPurchase: Hashable, Sendable {
  /// The transaction: a JWS.
  package var transaction: String
  /// The renewal info that belongs to it: a JWS.
  package var renewal: String?

  package init(transaction: String, renewal: String? = nil) {
    self.transaction = transaction
    self.renewal = renewal
  }

  /// Reads a file with a transaction and, after white space, its renewal info; nil if it holds anything else.
  package init?(_ bytes: [UInt8]) {
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0a, 0x0d]
    let tokens = bytes.split(whereSeparator: blanks.contains)
    guard (1...2).contains(tokens.count), tokens.allSatisfy(Self.isToken) else { return nil }
    transaction = String(decoding: tokens[0], as: UTF8.self)
    renewal = tokens.count > 1 ? String(decoding: tokens[1], as: UTF8.self) : nil
  }

  /// Whether text looks like a JWS: a JSON object in base64, and two dots.
  private static func isToken(_ text: ArraySlice<UInt8>) -> Bool {
    text.count <= Limits.purchaseTokenBytesMax && text.starts(with: Array("eyJ".utf8))
      && text.count { $0 == UInt8(ascii: ".") } == 2
  }
}
