import Foundation
import JSONDocument
import Testing
import WaymarkTesting

/// A way in which a device gets premium, or does not, and what `status` must report then.
struct GateCase: Sendable, CustomTestStringConvertible {
  /// Preparations before the node starts.
  enum Means: Sendable {
    case nothing
    case certificate(from: TimeInterval? = nil, until: TimeInterval = Seller.year)
    case certificateOfAnother
    case mock
    case mockCancelled
    case mockExpired
    /// A purchase in the App Store, which was signed some seconds ago.
    case purchase(
      lasting: Int? = 365 * 86_400, age: TimeInterval = 0, isRefunded: Bool = false,
      graceUntil: TimeInterval? = nil)
  }

  let testDescription: String
  let build: Build
  let means: Means
  /// `certificate`, `all-features`, `mock` or `none`.
  let source: String
  var reason: String?

  var isPremium: Bool { reason == nil }

  static let all = [
    GateCase(
      testDescription: "a free device", build: .plain, means: .nothing, source: "none",
      reason: "free_tier"),
    GateCase(
      testDescription: "a certificate", build: .plain, means: .certificate(), source: "certificate"),
    GateCase(
      testDescription: "a certificate for another device", build: .plain, means: .certificateOfAnother,
      source: "none", reason: "free_tier"),
    GateCase(
      testDescription: "a certificate that is over", build: .plain,
      means: .certificate(from: -20 * 86_400, until: -10 * 86_400), source: "none",
      reason: "entitlement_expired"),
    GateCase(
      testDescription: "a certificate for later", build: .plain,
      means: .certificate(from: 86_400, until: Seller.year), source: "none",
      reason: "entitlement_not_yet_valid"),
    GateCase(
      testDescription: "the AllFeatures build", build: .allFeatures, means: .nothing,
      source: "all-features"),
    GateCase(
      testDescription: "the MockPurchases build, nothing bought", build: .mock, means: .nothing,
      source: "none", reason: "free_tier"),
    GateCase(testDescription: "a mock purchase", build: .mock, means: .mock, source: "mock"),
    GateCase(
      testDescription: "a mock purchase that was cancelled", build: .mock, means: .mockCancelled,
      source: "none", reason: "free_tier"),
    GateCase(
      testDescription: "a mock purchase that is over", build: .mock, means: .mockExpired, source: "none",
      reason: "entitlement_expired"),
    GateCase(
      testDescription: "a certificate in the MockPurchases build", build: .mock, means: .certificate(),
      source: "certificate"),
  ].filter(\.build.isThere)

  /// Purchases in the App Store, in the development build, which accepts its stand-in.
  static let purchases = [
    GateCase(testDescription: "a subscription", build: .mock, means: .purchase(), source: "purchase"),
    GateCase(
      testDescription: "a purchase for life, signed years ago", build: .mock,
      means: .purchase(lasting: nil, age: 700 * 86_400), source: "purchase"),
    GateCase(
      testDescription: "a subscription that is over", build: .mock,
      means: .purchase(lasting: 7 * 86_400, age: 8 * 86_400), source: "none", reason: "entitlement_expired"),
    GateCase(
      testDescription: "a subscription in its grace period", build: .mock,
      means: .purchase(lasting: 7 * 86_400, age: 8 * 86_400, graceUntil: 86_400), source: "purchase"),
    GateCase(
      testDescription: "a subscription that was refunded", build: .mock, means: .purchase(isRefunded: true),
      source: "none", reason: "purchase_refunded"),
    GateCase(
      testDescription: "a subscription that was confirmed 36 days ago", build: .mock,
      means: .purchase(age: 36 * 86_400), source: "none", reason: "purchase_unconfirmed"),
    GateCase(
      testDescription: "a subscription that was signed tomorrow", build: .mock,
      means: .purchase(age: -86_400), source: "none", reason: "entitlement_not_yet_valid"),
  ]

  /// Cases whose build is missing; `make test` builds all.
  static let isComplete = Build.allCases.allSatisfy(\.isThere)

  /// Sets the device up as the case describes. Alice's device, of the same build, has premium and signs.
  func prepare(_ device: Device, _ seller: Seller) async throws {
    let status = try await device.status()
    switch means {
    case .nothing: break
    case .certificate(let from, let until):
      let file = try await seller.certificate(
        status.circle, for: [status.device], from: from, until: until, with: device)
      try await device.text("entitlement", "install", file)
    case .certificateOfAnother:
      let file = try await seller.certificate(
        status.circle, for: [String(repeating: "ab", count: 32)], until: Seller.year, with: device)
      try await device.text("entitlement", "install", file)
    case .mock: try await device.text("entitlement", "buy", "--mock")
    case .mockCancelled:
      try await device.text("entitlement", "buy", "--mock")
      try await device.text("entitlement", "cancel", "--mock")
    case .purchase(let duration, let age, let isRefunded, let graceUntil):
      let store = try TestAppStore { Date(timeIntervalSinceNow: -age) }
      let token = try await device.json("premium", "show")["appAccountToken"]?.string
      var purchase = store.buy(
        for: token.flatMap(UUID.init(uuidString:)), lasting: duration.map { .seconds($0) })
      if isRefunded { purchase.refund() }
      if let graceUntil { purchase.failToRenew(graceUntil: Date(timeIntervalSinceNow: graceUntil)) }
      let tokens = [purchase.transaction, purchase.renewal].compactMap(\.self).joined(separator: "\n")
      try await device.text(
        "entitlement", "install", try device.stage.write(Array(tokens.utf8), "purchase-\(device.name)"))
    case .mockExpired:
      try await device.text("entitlement", "buy", "--mock", "--until", Seller.time(4))
      try await device.wait(until: "the purchase has ended") { !$0.isPremium }
    }
  }
}
