import Backups
import Engine
public import Foundation
import Membership
import Replication
import Storage
public import Wire

extension Node {
  /// Sets the handler for a failed store. The handler has to end the process without writing anything more.
  public func whenStoreBreaks(_ body: @escaping @Sendable (WaymarkError) -> Void) {
    maintenance.failed = body
  }

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
    try await withWaymarkErrors {
      try await backupWriter.write(
        to: file.path(percentEncoded: false), overwrites: overwrites, holdsFiles: includesFiles
      ) { done, _ in progress(done) }
    }
  }

  /// Takes an automatic backup before a large change, and removes the oldest automatic backups; see
  /// `Home.pruneAutomaticBackups`.
  ///
  /// - Returns: the path of the backup.
  @discardableResult
  func backUp(before what: String) async throws -> String {
    let path = try await backupWriter.write(before: what)
    maintenance.pruneBackups()
    return path
  }

  package var backupWriter: BackupWriter {
    get throws {
      let names = connections.names
      return BackupWriter(
        home, store,
        try BackupAbout(
          of: identity.device, called: connections.member?.name ?? connections.waiting?.name ?? "",
          at: wall(), store.meta),
        list: names.list)
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
    try await withWaymarkErrors {
      guard !maintenance.isVerifying else {
        throw WaymarkError.failed(
          .busy, "The store is already being verified.", next: "wait until that is done, then try again")
      }
      try checkHasDirectory("Verifying the store")
      maintenance.isVerifying = true
      defer { maintenance.isVerifying = false }
      return StoreVerification(try await DeepCheck(home).run(on: self, repairing: repairing, progress))
    }
  }

  /// Compares this device's data with the data of connected peers, down to individual records.
  ///
  /// - Parameter peer: the peer to compare with; nil for all connected peers, of which there must be at least one.
  /// - Throws: `WaymarkError` with the code `not_running`, `offline` or another code that names the obstacle.
  public func verify(with peer: DeviceKey? = nil) async throws -> PeerVerification {
    try await withWaymarkErrors {
      try checkServing()
      return try await PeerComparison.run(with: peer, on: self)
    }
  }

  // MARK: Clocks

  /// Returns what ``restamp()`` would change, without writing anything.
  ///
  /// - Throws: `WaymarkError` with the code `clock_disputed` if this machine's clock seems to be wrong.
  public func restampPreview() async throws -> RestampSummary {
    try await withWaymarkErrors { try await Restamper(isPreview: true, isConfirmed: false).run(on: self) }
  }

  /// Re-signs the changes that this device made while its clock ran ahead, with the current time. Takes a backup first.
  @discardableResult
  public func restamp() async throws -> RestampSummary {
    try await withWaymarkErrors { try await Restamper(isPreview: false, isConfirmed: true).run(on: self) }
  }

  // MARK: Cleanup

  /// Returns the trips whose names suggest that they are leftovers of tests, without deleting any.
  public func testTrips() async throws -> [CleanupSummary.TestTrip] {
    try withWaymarkErrors { try TestData(store: store).found() }
  }

  /// Deletes the trips that ``testTrips()`` returns, after a backup, in one operation that can be undone.
  @discardableResult
  public func deleteTestTrips() async throws -> CleanupSummary {
    try await withWaymarkErrors { try await TestData(store: store).delete(on: self, isConfirmed: true) }
  }
}
