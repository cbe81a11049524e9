import Membership
import Testing

@testable import Replication

/// What a peer is told when a lane is closed on this side.
@Suite struct GateCodeTests {
  @Test(
    arguments: [
      (.freeTier, .freeTier), (.purchaseUnjudged, .freeTier), (.entitlementWithdrawn, .freeTier),
      (.entitlementExpired, .entitlementExpired), (.purchaseRefunded, .entitlementExpired),
      (.purchaseUnconfirmed, .entitlementExpired), (.entitlementNotYetValid, .entitlementNotYetValid),
      (.syncOff, .syncOff), (.revoked, .notAMember), (.notAMember, .notAMember),
    ] as [(GateReason, ReasonCode)])
  func `each reason for a closed gate has its code`(reason: GateReason, code: ReasonCode) {
    #expect(reason.code == code)
  }
}
