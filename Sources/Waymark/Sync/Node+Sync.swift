import Engine
import Membership
import Replication
import Storage
public import Wire

extension Node {
  /// Whether records sync, and if not, why and what helps.
  public func syncState() throws -> SyncState {
    try read(.syncState)
  }

  /// Opens the records lane, in a running node at once.
  ///
  /// Where two sets of records that have never met would come together, it asks first: show
  /// ``syncPreview()``, then turn on with `isConfirmed`.
  ///
  /// - Throws: `WaymarkError` with the code `free_tier`, `entitlement_expired` or `entitlement_not_yet_valid`
  ///   without premium, and `needs_yes` where a look at the preview is due.
  @discardableResult
  public func turnSyncOn(isConfirmed: Bool = false) async throws -> SyncState {
    try await turnSyncOn(isConfirmed: isConfirmed, isAtTerminal: false)
  }

  /// - Parameter isAtTerminal: whether a person can be asked; then they are asked wherever records differ.
  package func turnSyncOn(isConfirmed: Bool, isAtTerminal: Bool) async throws -> SyncState {
    try await sayingWhy {
      try checkPremium()
      if !replica.preference, !isConfirmed,
        let question = try await SyncComparison.question(isAtTerminal: isAtTerminal, on: self)
      {
        throw question
      }
      // Asking the peers took time: the node or the entitlement may have ended.
      try checkOpen()
      try checkPremium()
      try setSync(true)
    }
    return try syncState()
  }

  /// Closes the records lane of this device; every record stays. Works for everyone.
  @discardableResult
  public func turnSyncOff() throws -> SyncState {
    try sayingWhy {
      try replicator.dropOverride()
      try setSync(false)
    }
    return try syncState()
  }

  /// Dials every peer now rather than when it is its turn.
  ///
  /// - Throws: `WaymarkError` with the code `not_running` unless the node serves.
  public func syncNow() throws {
    try sayingWhy {
      try checkServing()
      try checkNotExcluded()
      connections.handle(.hurried)
      for link in replica.sessions.keys.sorted() { loop.handle(.timer(.beat(link))) }
    }
  }

  /// Waits until this node is in sync with every connected peer, or with one.
  ///
  /// In sync is: the same change sets and the same data, in the lanes that the gate leaves open.
  ///
  /// - Parameters:
  ///   - peer: nil for all that are connected; there must be one.
  ///   - lane: nil for all that are open.
  ///   - timeout: how long to wait.
  /// - Throws: `WaymarkError` with the code of what is in the way when the time is over, as `offline` or `sync_off`.
  public func waitUntilInSync(
    with peer: DeviceKey? = nil, lane: Lane? = nil, timeout: Duration = .seconds(30)
  ) async throws {
    try await waitUntilInSync(with: peer, lanes: lane.map { [$0] } ?? Lane.allCases, timeout: timeout)
  }

  /// - Parameter lanes: lanes that the gate closes are skipped; if nothing is left to wait for, it is not in sync.
  package func waitUntilInSync(with peer: DeviceKey?, lanes: [Lane], timeout: Duration) async throws {
    try await sayingWhy {
      try checkServing()
      let milliseconds = max(timeout.wholeMilliseconds, 0)
      let isMet = try await wait(milliseconds: milliseconds) { $0.replica.isInSync(with: peer, lanes) }
      guard isMet else { throw inspection().notInSync(with: peer, lanes) }
    }
  }

  /// What turning sync on would do, before anything is written; asks the connected devices.
  ///
  /// - Throws: `WaymarkError` with the code `not_running` unless the node serves, or that of
  ///   ``turnSyncOn(isConfirmed:)`` without premium.
  public func syncPreview() async throws -> SyncPreview {
    try await sayingWhy {
      try checkServing()
      try checkPremium()
      return try await SyncComparison.run(on: self)
    }
  }

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
    loop.handle(.preferenceChanged(isOn))
  }
}
