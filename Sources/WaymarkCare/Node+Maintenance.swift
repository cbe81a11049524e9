import Backups
import Engine
public import Platform
import Membership
import Replication
import Storage
public import Wire

extension Node {
  // MARK: Backups

  /// Writes everything that this device holds of the circle to one file, while the node keeps running.
  ///
  /// - Parameters:
  ///   - file: the target file.
  ///   - overwrites: whether to replace an existing file, and to leave out damaged change sets.
  ///   - includesFiles: whether the backup holds the files that the records name. Without them it is small, and a device
  ///     that is restored from it fetches the files from the others.
  ///   - progress: called on an arbitrary thread.
  /// - Throws: `WaymarkError` with the code `file`, `disk_full`, or `needs_yes` if the file exists or the store has
  ///   damaged change sets.
  @discardableResult
  public func backUp(
    to file: URL, overwrites: Bool = false, includesFiles: Bool = true,
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> Backup {
    try await core.withWaymarkErrors {
      try await core.backupWriter.write(
        to: file.path(percentEncoded: false), overwrites: overwrites, holdsFiles: includesFiles
      ) { done, _ in progress(done) }
    }
  }

  // MARK: Verification

  /// Verifies every signature, folds the log into a second set of tables, and compares every row.
  ///
  /// - Parameters:
  ///   - repairing: whether to rebuild tables that differ from the log, after a backup.
  ///   - progress: called on an arbitrary thread.
  public func verifyStore(
    repairing: Bool = false, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> StoreVerification {
    try await StoreVerification.run(on: core, repairing: repairing, progress)
  }

  /// Compares this device's data with the data of connected peers, down to individual records.
  ///
  /// - Parameter peer: the peer to compare with; nil for all connected peers, of which there must be at least one.
  /// - Throws: `WaymarkError` with the code `not_running`, `offline` or another code that names the obstacle.
  public func verify(with peer: DeviceKey? = nil) async throws -> PeerVerification {
    try await core.withWaymarkErrors { try await PeerComparison.run(with: peer, on: core) }
  }

  // MARK: Clocks

  /// Returns what ``restamp()`` would change, without writing anything.
  ///
  /// - Throws: `WaymarkError` with the code `clock_disputed` if this machine's clock seems to be wrong.
  public func restampPreview() async throws -> RestampSummary {
    try await core.withWaymarkErrors {
      try await Restamper(isPreview: true, isConfirmed: false).run(on: core)
    }
  }

  /// Re-signs the changes that this device made while its clock ran ahead, with the current time. Takes a backup first.
  @discardableResult
  public func restamp() async throws -> RestampSummary {
    try await core.withWaymarkErrors {
      try await Restamper(isPreview: false, isConfirmed: true).run(on: core)
    }
  }

  // MARK: Cleanup

  /// Returns the trips whose names suggest that they are leftovers of tests, without deleting any.
  public func testTrips() async throws -> [CleanupSummary.TestTrip] {
    try core.withWaymarkErrors { try TestData(store: core.store).found() }
  }

  /// Deletes the trips that ``testTrips()`` returns, after a backup, in one operation that can be undone.
  @discardableResult
  public func deleteTestTrips() async throws -> CleanupSummary {
    try await core.withWaymarkErrors {
      try await TestData(store: core.store).delete(on: core, isConfirmed: true)
    }
  }

  // MARK: Overrides

  /// Returns what ``mirror(_:_:progress:)`` would change here and, with the next sync, on all devices, without writing
  /// anything.
  public func mirrorPreview(
    of peer: DeviceKey, _ scope: OverrideScope = .everything
  ) async throws -> OverrideSummary {
    try await core.withWaymarkErrors {
      try await OverrideOperation(from: peer, scope, isPreview: true).run(on: core)
    }
  }

  /// Makes the records of this device and, with the next sync, those of the whole circle equal to the records that a
  /// peer holds now.
  ///
  /// A backup is taken first. The difference is written as one operation that can be undone. Concurrent edits on other
  /// devices merge as usual and are reported.
  ///
  /// - Parameters:
  ///   - peer: a connected device of the circle.
  ///   - scope: the records to override.
  ///   - progress: called on an arbitrary thread.
  /// - Throws: `WaymarkError` whose code names the obstacle, such as `offline`, `free_tier` or `peer_sync_off`; or
  ///   `override_waiting` if change sets are missing, in which case the override is carried out once they have arrived.
  @discardableResult
  public func mirror(
    _ peer: DeviceKey, _ scope: OverrideScope = .everything,
    progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> OverrideSummary {
    try await core.withWaymarkErrors {
      try await OverrideOperation(from: peer, scope, isPreview: false).run(on: core, progress)
    }
  }

  /// Returns what ``overrideCircle(_:progress:)`` would change on the other devices, without writing anything.
  public func overrideCirclePreview(_ scope: OverrideScope = .everything) async throws -> OverrideSummary {
    try await core.withWaymarkErrors {
      try await OverrideOperation(from: nil, scope, isPreview: true).run(on: core)
    }
  }

  /// Makes the records of the whole circle equal to the records that this device holds now; see
  /// ``mirror(_:_:progress:)``.
  @discardableResult
  public func overrideCircle(
    _ scope: OverrideScope = .everything, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> OverrideSummary {
    try await core.withWaymarkErrors {
      try await OverrideOperation(from: nil, scope, isPreview: false).run(on: core, progress)
    }
  }
}
