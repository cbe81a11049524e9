import Engine
import Membership
import Replication
import Storage
import Wire

/// `sync status|on|off`: what the person wants, and what the gate makes of it.
extension Node {
  func syncStatus(_ request: CommandRequest) -> JSON {
    let gate = replica.ownGate(now: wall())
    let reason = gate.reason.map { Reason($0) }
    return document(
      request.command,
      [
        .init("preference", .bool(gate.preference)), .init("active", .bool(gate.isOpen)),
        .init("reason", .text(reason?.rawValue)), .init("text", .text(exclusion?.text ?? reason?.sentence())),
        .init("next", .text(exclusion?.next ?? reason?.next())), .init("premium", PremiumSnapshot(gate).json),
      ])
  }

  /// Opt in, after a look at what it means. A free user is told how to get premium, and the preference stays
  /// as it is.
  func syncOn(_ request: CommandRequest) async throws -> JSON {
    try checkPremium()
    if request.flag("preview") { return try await syncPreview(request) }
    if !replica.preference, !request.flag("yes"), let failure = try await reasonToAsk(request) {
      throw failure
    }
    // Peers were asked meanwhile.
    try checkOpen()
    try checkPremium()
    try setSync(true)
    return syncStatus(request)
  }

  func checkPremium() throws {
    try checkNotExcluded()
    let gate = replica.ownGate(now: wall())
    guard !gate.isPremium else { return }
    let reason = Reason(gate.premiumReason ?? .freeTier)
    throw WaymarkError(
      exitCode: ExitCode.needsPremium, code: reason.rawValue,
      message: reason == .freeTier
        ? "Sync of records needs premium." : "Sync of records needs premium; \(reason.sentence()).",
      next: "waymark help premium, then waymark entitlement install FILE")
  }

  /// Works for everyone: it only closes one's own lane.
  func syncOff(_ request: CommandRequest) throws -> JSON {
    try replicator.dropOverride()
    try setSync(false)
    return syncStatus(request)
  }

  func setSync(_ isOn: Bool) throws {
    guard replica.preference != isOn else { return }
    try store.setMeta(MetaKey.preference, isOn ? [1] : nil)
    handle(.preferenceChanged(isOn))
  }
}

extension PremiumSnapshot {
  init(_ gate: Gate) {
    self.init(
      isActive: gate.isPremium, source: gate.source.rawValue, validUntil: gate.validUntil,
      reason: gate.premiumReason.map { Reason($0) })
  }
}

extension SyncSnapshot {
  init(_ gate: Gate) {
    self.init(
      preference: gate.preference, isActive: gate.isOpen, reason: gate.reason.map { Reason($0) })
  }
}
