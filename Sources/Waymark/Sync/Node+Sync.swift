import Engine
import Membership
import NodeOperations
import NodeRuntime
import Reasons
import Replication
import Storage
public import Wire

extension Node {
  /// Returns whether records sync, and if not, why and what to do about it.
  public func syncState() throws -> SyncState {
    try readOnQueue(.syncState)
  }

  /// Turns on sync of records; a serving node starts syncing at once.
  ///
  /// If this would merge two sets of records for the first time, it needs confirmation: show ``syncPreview()`` of
  /// `WaymarkCare`, then call this again with `isConfirmed`.
  ///
  /// - Throws: `WaymarkError` with the code `free_tier`, `entitlement_expired`, `entitlement_withdrawn` or
  ///   `entitlement_not_yet_valid` if the device has no premium, or `needs_yes` if a required confirmation is missing.
  @discardableResult
  public func turnSyncOn(isConfirmed: Bool = false) async throws -> SyncState {
    try await core.withWaymarkErrors {
      try core.checkPremium()
      if !core.replica.preference, !isConfirmed, let question = try await SyncComparison.question(on: core) {
        throw question
      }
      // Asking the peers took time: the node may have closed or the entitlement expired.
      try core.checkOpen()
      try core.checkPremium()
      try core.setSync(true)
    }
    return try syncState()
  }

  /// Turns off sync of records on this device. All records stay on the device. This works without premium, too.
  @discardableResult
  public func turnSyncOff() throws -> SyncState {
    try core.withWaymarkErrors {
      try core.replicator.dropOverride()
      try core.setSync(false)
    }
    return try syncState()
  }

  /// Dials all peers now instead of at their next scheduled attempt, and checks existing connections.
  ///
  /// - Throws: `WaymarkError` with the code `not_running` unless the node is serving.
  public func syncNow() throws {
    try core.withWaymarkErrors {
      try core.checkServing()
      try core.checkNotExcluded()
      core.connections.handle(.hurried)
      for link in core.replica.sessions.keys.sorted() { core.loop.handle(.timer(.beat(link))) }
    }
  }

  /// Waits until this node is in sync with one peer or with all connected peers.
  ///
  /// Two devices are in sync if they hold the same change sets and the same data in all open lanes. If the records lane
  /// is among the lanes, this also waits for the files that this device keeps, as far as a connected device has them.
  ///
  /// First asks the peers, so that what they had announced before the call counts: if both devices have turned sync on,
  /// the call waits for their records. A peer whose sync is off, or that is not premium, has no open records lane, and
  /// counts as in sync with equal settings. To fail if records do not sync with a peer, name the lane: `lane: .records`.
  ///
  /// - Parameters:
  ///   - peer: the peer to wait for; nil for all connected peers, of which there must be at least one.
  ///   - lane: the lane to wait for: `.records`, or `.settings`, which is open without premium too; nil for all open
  ///     lanes.
  ///   - timeout: the maximum time to wait; with zero, no peer is asked, and what this node knows counts.
  /// - Throws: `WaymarkError` with the code `not_running` if this node does not serve, or `only_device` if the circle has
  ///   no other device. If the wait times out, the error's code names the obstacle, such as `offline`, `dial_refused`,
  ///   `sync_off`, `peer_sync_off`, `peer_free_tier` or `no_answer`.
  public func waitUntilInSync(
    with peer: DeviceKey? = nil, lane: Lane? = nil, timeout: Duration = .seconds(30)
  ) async throws {
    try await waitUntilInSync(with: peer, lanes: lane.map { [$0] } ?? Lane.allCases, timeout: timeout)
  }

  /// - Parameter lanes: the lanes to wait for. Closed lanes are skipped; if none is open, the node is not in sync.
  package func waitUntilInSync(with peer: DeviceKey?, lanes: [Lane], timeout: Duration) async throws {
    try await core.withWaymarkErrors {
      try core.checkServing()
      try core.checkNotExcluded(exitCode: ExitCode.notInSync)
      guard !core.connections.others.isEmpty else { throw WaymarkError.noOtherDevice }
      let milliseconds = max(timeout.wholeMilliseconds, 0)
      let inquiry = milliseconds > 0 ? StateInquiry(with: peer, on: core) : nil
      let isMet = try await core.wait(milliseconds: milliseconds) {
        $0.inspection().isInSync(with: peer, lanes) && inquiry?.isAnswered(on: $0) != false
      }
      guard !isMet else { return }
      let inspection = core.inspection()
      if inspection.isInSync(with: peer, lanes),
        let silence = inquiry?.failure(afterMilliseconds: milliseconds, on: core)
      {
        throw silence
      }
      throw inspection.notInSync(with: peer, lanes)
    }
  }

  /// Turns on sync of records here, and invites all other devices to do the same.
  ///
  /// - Parameter isConfirmed: see ``turnSyncOn(isConfirmed:)``.
  @discardableResult
  public func turnSyncOnEverywhere(isConfirmed: Bool = false) async throws -> SyncState {
    try await turnSyncOn(isConfirmed: isConfirmed)
    try core.withWaymarkErrors { _ = try core.setSetting(SyncInvitation.key, to: .bool(true)) }
    return try syncState()
  }

  /// Follows invitations to sync from now on; see `NodeCore.followSyncInvitations()`.
  package func followSyncInvitations() { core.followSyncInvitations() }
}
