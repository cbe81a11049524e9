// Protocol/circle.md, "The gate".

package import Sodium
package import Wire

/// What makes a device premium; the raw values are those of the command line.
package enum PremiumSource: String, Sendable {
  case allFeatures = "all-features"
  case mock
  case certificate
  case none
}

/// Why the records lane is closed; the raw values are the reason codes of the command line.
package enum GateReason: String, Sendable {
  case freeTier = "free_tier"
  case entitlementExpired = "entitlement_expired"
  case entitlementNotYetValid = "entitlement_not_yet_valid"
  case syncOff = "sync_off"
  /// The device was revoked.
  case revoked
  /// The device that invited this one was revoked, and its invitations with it.
  case notAMember = "not_a_member"
}

/// What this build and its local state add to the certificates; peers never have it.
package enum LocalPremium: Hashable, Sendable {
  case none
  case allFeatures
  /// A mock purchase up to a time, or without end.
  case mock(until: Int64?)
}

/// The answer whether the records lane of one device is open at one moment.
package struct Gate: Hashable, Sendable {
  package let source: PremiumSource
  /// The first millisecond at which premium ends, as far as is known now; nil without an end or premium.
  package let validUntil: Int64?
  /// Why the device is not premium; nil if it is.
  package let premiumReason: GateReason?
  package let preference: Bool
  /// The moment at which to ask again even if nothing else happens.
  package let nextChange: Int64?

  package var isPremium: Bool { premiumReason == nil }
  package var isOpen: Bool { reason == nil }
  /// Why the lane is closed; nil if it is open.
  package var reason: GateReason? { premiumReason ?? (preference ? nil : .syncOff) }
}

extension Circle {
  /// Judges this device: what the build gives comes first, then a certificate. A device that is out of the circle has
  /// no premium, whatever its certificates say.
  ///
  /// Certificates of the development issuer don't count for their own device, so that cancelling a
  /// mock purchase takes effect although its certificate can't be taken back.
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
      let gate = Gate(held, preference: preference, at: time)
      guard case .mock = local, gate.premiumReason == .freeTier else { return gate }
      return Gate(
        source: .none, validUntil: nil, premiumReason: .entitlementExpired, preference: preference,
        nextChange: nil)
    }
  }

  /// Judges a peer by the certificates held and by what it announces.
  package func peerGate(device: DeviceKey, preference: Bool, at time: Int64) -> Gate {
    let held = evaluation.isMember(device) ? accepted(for: device) : []
    return Gate(held, preference: preference, at: time)
  }

  /// The certificate that shows a peer of a like build what this build gives its own device; nil if it
  /// gives nothing, or has no key to sign it.
  ///
  /// It names no moment but the end, so it is the same statement each time and never moves gate time.
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

  /// The entitlements of accepted issuers that were issued for a device, in order of their start.
  package func accepted(for device: DeviceKey) -> [Entitlement] {
    accepted.filter { $0.counts(for: device) }.sorted { $0.notBefore < $1.notBefore }
  }

  /// The entitlements of issuers that this circle, or this build, accepts.
  package var accepted: [Entitlement] {
    evaluation.entitlements.filter { isAccepted(issuer: $0.issuer) }
  }

  package func isAccepted(issuer: DeviceKey) -> Bool {
    evaluation.issuers.contains(issuer) || issuer == developmentIssuer
  }

  /// The time gates are judged by, in milliseconds: setting the clock back gains nothing.
  ///
  /// `newestFolded` is the newest clock folded from another device. Entitlements of issuers nobody
  /// accepts have no say.
  package func gateTime(wall: Int64, newestFolded: Int64?) -> Int64 {
    let issued = accepted.map(\.issuedAt).max() ?? 0
    return max(wall, issued, newestFolded ?? 0)
  }
}

extension Gate {
  /// The answer that a device's entitlements, in order of their start, give.
  init(_ held: [Entitlement], preference: Bool, at time: Int64) {
    self.preference = preference
    var end = time
    for entitlement in held where entitlement.notBefore <= end { end = max(end, entitlement.notAfter) }
    if end > time {
      (source, validUntil, premiumReason, nextChange) = (.certificate, end, nil, end)
      return
    }
    let next = held.first { $0.notBefore > time }?.notBefore
    let reason: GateReason =
      held.contains { $0.notAfter <= time }
      ? .entitlementExpired : next == nil ? .freeTier : .entitlementNotYetValid
    (source, validUntil, premiumReason, nextChange) = (.none, nil, reason, next)
  }
}
