import Foundation
import Home
import JSONDocument
import Membership
import Purchases
import Reasons
import Testing
import WaymarkTesting
import Wire

/// Entitlements that an issuer signs for a purchase: only for one that is verified.
struct PurchasedEntitlementTests {
  private static let circle = CircleID(Bytes32(1, 2, 3, 4))
  private static let now: Int64 = 2_000

  /// A purchase that is acceptable except that the App Store has not signed it.
  private static func forged(for circle: CircleID, product: String) -> SignedPurchase {
    let header: JSON = ["alg": "ES256", "x5c": ["", "", ""]]
    let payload: JSON = [
      "bundleId": "com.example.trips", "productId": .string(product), "environment": "Production",
      "originalTransactionId": "7", "purchaseDate": 1_000, "signedDate": 1_000,
      "expiresDate": .integer(9_000_000_000_000), "appAccountToken": .string(circle.appAccount.uuidString),
    ]
    let parts = [header, payload].map { Base64.encodeForURL(Array($0.text().utf8)) }
    return SignedPurchase(transaction: parts.joined(separator: ".") + ".")
  }

  @Test(.enabled(if: !verifiesPurchases, "this build verifies purchases"))
  func `a build that can't verify a purchase signs no entitlement for it`() throws {
    let (folder, directory) = (try Folder(), try TestHome())
    let key = folder.file("issuer")
    _ = try Issuer.create(key)
    try FileManager.default.createDirectory(
      atPath: directory.home.path, withIntermediateDirectories: true)
    let app = #"{"bundle": "com.example.trips", "products": ["yearly"]}"#
    try Data("{\"purchases\": {\"apps\": [\(app)]}}".utf8)
      .write(to: URL(filePath: directory.home.configuration))
    let found = code {
      _ = try Issuer.issue(
        Self.forged(for: Self.circle, product: "yearly"), keyFile: key, circle: Self.circle.description,
        home: directory.home, now: Self.now)
    }
    #expect(found == .purchaseUnjudged)
  }
}
