import Foundation
import Waymark
import WaymarkTesting

// Premium lasts for a few days. It lapses on a device when the entitlements that the device has end, whether the device is
// connected or not. From then on it exchanges settings only, until a newer entitlement reaches it from another device.

extension HistoryRun {
  static let premiumSeconds: TimeInterval = 3 * 86_400

  func hasPremium(_ device: Int) -> Bool { circle.clock.now < premiumEnds[device] }

  /// Waits until premium has lapsed if it is about to, so that it does not lapse within a step.
  func passEnds() async throws {
    for end in Set(premiumEnds).sorted() {
      let left = end.timeIntervalSince(circle.clock.now)
      if left > 0, left < 3 * 3_600 { try await circle.clock.sleep(until: end.addingTimeInterval(1)) }
    }
  }

  /// Gives the first device a new entitlement for the circle.
  mutating func renew() async throws -> String {
    premiumEnds[0] = circle.clock.now.addingTimeInterval(Self.premiumSeconds)
    try await circle.entitle(until: premiumEnds[0])
    return "renews premium"
  }

  /// Entitlements reach every device, whether records are exchanged or not.
  mutating func shareEntitlements(_ together: [Int]) {
    let newest = together.map { premiumEnds[$0] }.max()
    for device in together { premiumEnds[device] = newest ?? premiumEnds[device] }
  }
}
