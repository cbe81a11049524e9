import Home
import Membership
import Reasons
package import Replication
import Sodium
import Storage
import Wire

/// A mock purchase of premium, without payment, in builds with the trait `MockPurchases`. Its certificate proves the
/// premium to peers with such a build.
package struct MockPurchase {
  private let key: SigningKey

  /// Loads the development key.
  ///
  /// - Throws: `WaymarkError` with the code `usage` in other builds.
  package init() throws {
    guard BuildTraits.mockPurchases, let key = BuildTraits.developmentKey else {
      throw WaymarkError.usage(
        "This build does not support mock purchases.", next: .waymark("entitlement install FILE"))
    }
    self.key = key
  }

  /// Checks that the end of a mock purchase is in the future.
  ///
  /// - Parameter typed: the end as typed, for the error.
  /// - Throws: `WaymarkError` with the code `bad_value` if the end is not in the future.
  package static func check(_ end: Moment, typed: String, now: Moment) throws {
    guard end > now else {
      throw WaymarkError.badValue("--until", typed, allowed: "it must be in the future")
    }
  }

  /// Signs the certificate of a mock purchase for one device.
  ///
  /// - Parameter end: when the purchase ends; nil for no end, in which case the certificate is valid for a year.
  func statement(circle: CircleID, device: DeviceKey, now: Moment, until end: Moment?) throws -> Statement {
    try Statement(
      signing: Entitlement(
        circle: circle, issuer: DeviceKey(key), devices: [device], plan: "premium", issuedAt: now,
        notBefore: now, notAfter: end ?? now + Self.yearMilliseconds,
        serial: Bytes16(randomBytes(16)) ?? .zero, source: "mock"),
      with: key)
  }

  private static let yearMilliseconds: Int64 = 365 * 86_400_000
}
