// Premium that a circle issues to itself.
//
// A person who runs their own circle needs no shop: a device of the circle holds an issuer's key that the root key has
// pinned, and signs entitlements for all devices. They differ from bought ones only in their source. The device renews
// them while it runs:
//
//     issued                                              due          end
//     ├───────────────────── a year ───────────────────────┼── 30 days ──┤
//                                                          ├───────────── the next year, from the end ─────────▶
//
// So nothing is issued as long as more than 30 days are left, however often it is asked for.

package import Sodium
package import Wire

/// The rules for premium that a circle issues to itself: how long it lasts, and when it is renewed.
package enum OwnPremium {
  /// The source that these entitlements state.
  package static let source = "self"

  /// How much time is left when the next year is issued.
  package static let renewalMilliseconds: Int64 = 30 * dayMilliseconds

  /// Returns the end of what has to be issued now; nil if what was issued lasts long enough.
  ///
  /// - Parameters:
  ///   - end: the end of what was issued so far; nil for nothing.
  ///   - wanted: the end that the person asked for; nil for the usual period.
  package static func endToIssue(after end: Int64?, wanted: Int64? = nil, at time: Int64) -> Int64? {
    if let wanted { return wanted > max(end ?? time, time) ? wanted : nil }
    guard isDue(end, at: time) else { return nil }
    return endOfDay(max(end ?? time, time) + yearMilliseconds)
  }

  /// Returns when to check again whether a renewal is due, in milliseconds from now; at least 0.
  package static func untilDue(_ end: Int64, at time: Int64) -> Int64 {
    max(end - renewalMilliseconds - time, 0)
  }

  private static func isDue(_ end: Int64?, at time: Int64) -> Bool {
    end.map { untilDue($0, at: time) == 0 } ?? true
  }

  /// Returns the end of the UTC day in which a time lies, so that the end can be written as a day.
  private static func endOfDay(_ time: Int64) -> Int64 {
    (time + dayMilliseconds - 1) / dayMilliseconds * dayMilliseconds
  }

  private static let dayMilliseconds: Int64 = 86_400_000
  private static let yearMilliseconds = 365 * dayMilliseconds

  /// Signs an entitlement for all devices of a circle, which is valid from now.
  package static func entitlement(
    of circle: CircleID, until end: Int64, serial: Bytes16, at time: Int64, with key: SigningKey
  ) throws(StatementError) -> Statement {
    let body = Entitlement(
      circle: circle, issuer: DeviceKey(key), devices: nil, plan: "premium", issuedAt: time, notBefore: time,
      notAfter: end, serial: serial, source: source)
    return try Statement(signing: body, with: key)
  }
}

extension Circle {
  /// The end of the premium that this circle issued to itself; nil if it has not issued any.
  package var ownPremiumEnd: Int64? {
    accepted.filter { $0.devices == nil && $0.source == OwnPremium.source }.map(\.notAfter).max()
  }
}
