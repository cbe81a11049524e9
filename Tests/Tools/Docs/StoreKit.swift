// What the articles call of StoreKit, so that they can be type-checked on machines without it.

struct Transaction: Sendable {
  static var currentEntitlements: AsyncStream<VerificationResult<Transaction>> { AsyncStream { $0.finish() } }
  static var updates: AsyncStream<VerificationResult<Transaction>> { AsyncStream { $0.finish() } }

  var subscriptionStatus: Product.SubscriptionInfo.Status? { get async { nil } }

  func finish() async {}
}

struct VerificationResult<Value: Sendable>: Sendable {
  let unsafePayloadValue: Value
  let jwsRepresentation: String
}

struct Product: Sendable {
  struct SubscriptionInfo: Sendable {
    struct RenewalInfo: Sendable {}

    struct Status: Sendable {
      let renewalInfo: VerificationResult<RenewalInfo>
    }
  }

  struct PurchaseOption: Sendable {
    static func appAccountToken(_ token: UUID) -> PurchaseOption { PurchaseOption() }
  }

  func purchase(options: [PurchaseOption]) async throws -> Bool { false }
}
