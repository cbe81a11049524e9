import Engine
import Home
import Membership
import Reasons
import Replication
import Storage
import Wire

extension NodeCore {
  /// Throws unless this device has premium; the error tells how to get premium.
  package func checkPremium() throws {
    try checkNotExcluded()
    let gate = replica.ownGate(now: wall())
    guard !gate.isPremium else { return }
    let reason = Reason(gate.premiumReason ?? .freeTier)
    throw WaymarkError(
      exitCode: ExitCode.needsPremium, code: reason,
      message: reason == .freeTier
        ? "Sync of records needs premium." : "Sync of records needs premium; \(reason.sentence()).",
      next:
        "\(inspection().ownPremiumStep), or with an entitlement from an issuer: \(waymark: "entitlement install FILE")"
    )
  }

  /// Stores the preference. A preference that was never stored is off, too, but then the person has not decided yet.
  package func setSync(_ isOn: Bool) throws {
    let stored: [UInt8] = [isOn ? 1 : 0]
    if try store.meta(MetaKey.preference) != stored {
      try store.setMeta(MetaKey.preference, stored)
      loop.nodeChanged()
    }
    guard replica.preference != isOn else { return }
    loop.handle(.preferenceChanged(isOn))
  }
}
