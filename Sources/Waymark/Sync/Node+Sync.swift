import Engine
import JSONDocument
import Membership
import Replication
import Storage
import Wire

/// Opting in and out: what the person wants, and what the gate makes of it.
extension Node {
  /// A free user is told how to get premium.
  package func checkPremium() throws {
    try checkNotExcluded()
    let gate = replica.ownGate(now: wall())
    guard !gate.isPremium else { return }
    let reason = Reason(gate.premiumReason ?? .freeTier)
    throw WaymarkError(
      exitCode: ExitCode.needsPremium, code: reason,
      message: reason == .freeTier
        ? "Sync of records needs premium." : "Sync of records needs premium; \(reason.sentence()).",
      next: "\(waymark: "help premium"), then \(waymark: "entitlement install FILE")")
  }

  func setSync(_ isOn: Bool) throws {
    guard replica.preference != isOn else { return }
    try store.setMeta(MetaKey.preference, isOn ? [1] : nil)
    handle(.preferenceChanged(isOn))
  }
}
