// Protocol/circle.md, "The gate".
//
// The gate decides whether the records lane of a device is open. It is open if the device is premium and its preference
// is on. A device judges itself and every connected peer. The first row that applies decides:
//
//                     this device (`ownGate`)                       a peer (`peerGate`)
//     membership      revoked or not a member: closed               not a member: free tier
//     build           trait AllFeatures, or an unexpired mock       –
//                     purchase: premium
//     purchases       in the App Store, at gate time                the same
//     entitlements    of accepted issuers, not withdrawn, at        the same, and those of the development issuer
//                     gate time
//     preference      as set here                                   as the peer announces
//
// Purchases and entitlements are joined into one unbroken period that begins now. An example with three entitlements:
//
//     gate time      ────────┬────────────────────────────────────────▶
//     A                ├─────┼─────┤
//     B                      │  ├───────────┤
//     C                      │                     ├──────┤
//                           now             └ end of B = validUntil = nextChange
//
// Between B and C, the device is not premium (`entitlementExpired`), and the gate is judged again when C begins.
//
// Gate time is not simply the wall clock. It is the latest of three times: the wall clock, the newest time of issue
// among the accepted entitlements, and the newest clock folded from another device. The replica adds a lower bound,
// `gateFloor`. If gates were judged by the wall clock alone, a device could become premium again by setting its clock
// back.

package import Sodium
package import Wire

/// The reason why a device is premium. The raw values are shown on the command line.
package enum PremiumSource: String, Sendable {
  case allFeatures = "all-features"
  case mock
  /// A purchase in the App Store.
  case purchase
  case certificate
  case none
}

/// The reason why the records lane is closed. The raw values are the reason codes that are shown on the command line.
package enum GateReason: String, Sendable {
  case freeTier = "free_tier"
  case entitlementExpired = "entitlement_expired"
  case entitlementNotYetValid = "entitlement_not_yet_valid"
  /// A purchase was refunded or taken back.
  case purchaseRefunded = "purchase_refunded"
  /// A purchase was last confirmed too long ago.
  case purchaseUnconfirmed = "purchase_unconfirmed"
  /// There is a purchase, but this build can't verify it.
  case purchaseUnjudged = "purchase_unjudged"
  /// An entitlement, or its issuer, was withdrawn.
  case entitlementWithdrawn = "entitlement_withdrawn"
  case syncOff = "sync_off"
  case revoked
  /// The device that invited this device was revoked, and that revocation voids the invitation.
  case notAMember = "not_a_member"
}

/// Premium that comes from the build or from a mock purchase. It counts only in this device's own gate.
package enum LocalPremium: Hashable, Sendable {
  case none
  case allFeatures
  /// A mock purchase that ends at the given time; if the time is nil, the purchase never ends.
  case mock(until: Int64?)
}

/// The verdict on a device's records lane at one moment: whether the lane is open and, if not, why.
package struct Gate: Hashable, Sendable {
  package let source: PremiumSource
  /// The first millisecond at which the device is no longer premium, by what is known now; nil if the device is not
  /// premium, or if its premium has no end.
  package let validUntil: Int64?
  /// The reason why the device is not premium; nil if it is.
  package let premiumReason: GateReason?
  package let preference: Bool
  /// When to judge the device again even if nothing else happens; nil if the passing of time changes nothing.
  package let nextChange: Int64?

  package var isPremium: Bool { premiumReason == nil }
  package var isOpen: Bool { reason == nil }
  /// The reason why the lane is closed; nil if it is open.
  package var reason: GateReason? { premiumReason ?? (preference ? nil : .syncOff) }
}

extension Circle {
  /// Judges this device, first by its build and then by its entitlements. A device outside the circle is not premium,
  /// whatever its entitlements say.
  ///
  /// On this device, its entitlements from the development issuer don't count. Otherwise, cancelling a mock purchase
  /// would have no effect, because that does not withdraw its entitlement.
  package func ownGate(
    device: DeviceKey, preference: Bool, local: LocalPremium, at time: Int64
  ) -> Gate {
    if let reason = evaluation.exclusion(of: device) {
      return Gate(
        source: .none, validUntil: nil, premiumReason: reason, preference: preference, nextChange: nil)
    }
    switch local {
    case .allFeatures:
      return Gate(
        source: .allFeatures, validUntil: nil, premiumReason: nil, preference: preference,
        nextChange: nil)
    case .mock(let until) where until.map({ time < $0 }) ?? true:
      return Gate(
        source: .mock, validUntil: until, premiumReason: nil, preference: preference, nextChange: until)
    case .mock, .none:
      let held = accepted(for: device).filter { $0.issuer != developmentIssuer }
      let lost = withdrawn(for: device).filter { $0.issuer != developmentIssuer }
      let gate = Gate(subscriptions, held, withdrawn: lost, preference: preference, at: time)
      guard case .mock = local, gate.premiumReason == .freeTier else { return gate }
      return Gate(
        source: .none, validUntil: nil, premiumReason: .entitlementExpired, preference: preference,
        nextChange: nil)
    }
  }

  /// Judges a peer by the entitlements held here and by the preference that the peer announces.
  package func peerGate(device: DeviceKey, preference: Bool, at time: Int64) -> Gate {
    guard evaluation.isMember(device) else { return Gate([], [], preference: preference, at: time) }
    return Gate(
      subscriptions, accepted(for: device), withdrawn: withdrawn(for: device), preference: preference,
      at: time)
  }

  /// Returns an entitlement from the development issuer, which shows peers with the same kind of build that this device
  /// is premium; nil if neither the build nor a mock purchase makes it premium, or if the build has no key to sign
  /// with.
  ///
  /// The entitlement contains no time except its end, so it is the same statement each time and never moves gate time.
  package func developmentEntitlement(
    device: DeviceKey, local: LocalPremium, key: SigningKey? = BuildTraits.developmentKey
  ) throws(StatementError) -> Statement? {
    let source: PremiumSource
    let end: Int64
    switch local {
    case .none: return nil
    case .allFeatures: (source, end) = (.allFeatures, Limits.timeMillisecondsMax)
    case .mock(let until): (source, end) = (.mock, until ?? Limits.timeMillisecondsMax)
    }
    guard let key else { return nil }
    let body = Entitlement(
      circle: id, issuer: DeviceKey(key), devices: [device], plan: "premium", issuedAt: 0, notBefore: 0,
      notAfter: end, serial: .zero, source: source.rawValue)
    return try Statement(signing: body, with: key)
  }

  /// Returns the entitlements from accepted issuers that count for a device, in order of their start.
  package func accepted(for device: DeviceKey) -> [Entitlement] {
    accepted.filter { $0.counts(for: device) }.sorted { $0.notBefore < $1.notBefore }
  }

  /// The entitlements from issuers that this circle or this build accepts, without those that were withdrawn.
  package var accepted: [Entitlement] {
    evaluation.entitlements.filter { !$0.isWithdrawn && isAccepted(issuer: $0.body.issuer) }.map(\.body)
  }

  /// Returns the entitlements that would count for a device if they, or their issuers, had not been withdrawn.
  private func withdrawn(for device: DeviceKey) -> [Entitlement] {
    evaluation.entitlements.filter {
      $0.isWithdrawn && $0.body.counts(for: device) && isNamed(issuer: $0.body.issuer)
    }.map(\.body)
  }

  package func isAccepted(issuer: DeviceKey) -> Bool {
    isNamed(issuer: issuer) && !evaluation.isWithdrawn(issuer: issuer)
  }

  /// Whether the circle or the build names an issuer, withdrawn or not.
  private func isNamed(issuer: DeviceKey) -> Bool {
    evaluation.pinnedIssuers.contains(issuer) || issuer == developmentIssuer
  }

  /// Returns the time by which gates are judged, in milliseconds. A device gains nothing by setting its clock back.
  ///
  /// `newestFolded` is the newest clock folded from another device. Entitlements from issuers that are not accepted
  /// don't count, nor those that were withdrawn. Purchases don't either: they are signed by a clock that is none of
  /// the circle's.
  package func gateTime(wall: Int64, newestFolded: Int64?) -> Int64 {
    let issued = accepted.map(\.issuedAt).max() ?? 0
    return max(wall, issued, newestFolded ?? 0)
  }
}

extension Gate {
  /// Judges a device by the purchases of its circle and by its entitlements.
  ///
  /// - Parameter withdrawn: entitlements that would count if they had not been withdrawn. They only decide which reason
  ///   is given, and do so whatever the time is, so they never cause a change later.
  init(
    _ subscriptions: [Subscription], _ held: [Entitlement], withdrawn: [Entitlement] = [], preference: Bool,
    at time: Int64
  ) {
    self.preference = preference
    let purchased = subscriptions.compactMap(\.period)
    let periods =
      (purchased + held.map { PremiumPeriod(start: $0.notBefore, end: $0.notAfter) })
      .sorted { $0.start < $1.start }
    var end: Int64? = time
    for period in periods {
      guard let covered = end, period.start <= covered else { continue }
      end = period.end.map { max(covered, $0) }
    }
    if end != time {
      source = purchased.contains { $0.contains(time) } ? .purchase : .certificate
      (validUntil, premiumReason, nextChange) = (end, nil, end)
      return
    }
    let next = periods.first { $0.start > time }?.start
    let states = Set(subscriptions.map { $0.state(at: time) })
    let lost = withdrawn.map(\.notAfter).max() ?? .min
    let reason: GateReason =
      if states.contains(.unconfirmed) {
        .purchaseUnconfirmed
      } else if states.contains(.refunded) {
        .purchaseRefunded
      } else if states.contains(.unjudged) {
        .purchaseUnjudged
      } else if held.allSatisfy({ $0.notAfter < lost }), !withdrawn.isEmpty {
        .entitlementWithdrawn
      } else if states.contains(.expired) || held.contains(where: { $0.notAfter <= time }) {
        .entitlementExpired
      } else {
        next == nil ? .freeTier : .entitlementNotYetValid
      }
    (source, validUntil, premiumReason, nextChange) = (.none, nil, reason, next)
  }
}
