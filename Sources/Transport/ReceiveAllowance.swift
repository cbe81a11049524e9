// Protocol/discovery.md, "Receiving", step 1.

import Wire

/// A token bucket for received datagrams, which all senders share. It allows a burst at once, and a steady rate in the
/// long run.
package struct ReceiveAllowance: Sendable {
  private var left = Limits.beaconsBurst
  private var since: Int64

  package init(now: Int64) { since = now }

  /// Takes a token and returns nil, or returns the milliseconds until the next token if there is none now.
  package mutating func take(now: Int64) -> Int64? {
    let perReading = 1_000 / Int64(Limits.beaconsPerSecond)
    let back = (now - since) / perReading
    if back > 0 {
      left = min(Limits.beaconsBurst, left + Int(clamping: min(back, Int64(Limits.beaconsBurst))))
      since += back * perReading
    }
    guard left > 0 else { return since + perReading - now }
    left -= 1
    return nil
  }
}
