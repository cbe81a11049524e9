import Engine
public import Foundation
import Membership
import Replication
import Storage
public import Wire

extension Node {
  /// What to do when the store can't be trusted any more: the process has to end, without another write.
  public func whenStoreBreaks(_ body: @escaping @Sendable (WaymarkError) -> Void) {
    maintenance.failed = body
  }

  // MARK: Backups

  /// Writes all that this device holds of the circle to one file, while the node goes on.
  ///
  /// - Parameters:
  ///   - file: where the backup goes.
  ///   - overwrites: whether a file that is there is replaced, and damaged change sets are left out.
  ///   - progress: called on some thread.
  /// - Throws: `WaymarkError` with the code `file`, `disk_full`, or `needs_yes` if the file is there, or the
  ///   disk has damaged change sets.
  @discardableResult
  public func backUp(
    to file: URL, overwrites: Bool = false, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> Backup {
    try await sayingWhy {
      try await backupWriter.write(to: file.path(percentEncoded: false), overwrites: overwrites) { done, _ in
        progress(done)
      }
    }
  }

  /// Takes an automatic backup before something that changes much, and gives its path. The oldest ones
  /// are removed, see `Home.pruneAutomaticBackups`.
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

  /// Verifies every signature, folds the log a second time, and compares every row.
  ///
  /// - Parameters:
  ///   - repairing: rebuilds the tables from the log where they differ, after a backup.
  ///   - progress: called on some thread.
  public func verifyStore(
    repairing: Bool = false, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
  ) async throws -> StoreVerification {
    try await sayingWhy {
      guard !maintenance.isVerifying else {
        throw WaymarkError.failed(
          .busy, "The store is being verified already.", next: "wait until that is done, then try again")
      }
      try checkHasDirectory("A second fold of the log")
      maintenance.isVerifying = true
      defer { maintenance.isVerifying = false }
      return StoreVerification(try await DeepCheck(home).run(on: self, repairing: repairing, progress))
    }
  }

  /// Compares the data here with that of connected peers, down to the record.
  ///
  /// - Parameter peer: nil for all that are connected; there must be one.
  /// - Throws: `WaymarkError` with the code `not_running`, `offline` or another of what is in the way.
  public func verify(with peer: DeviceKey? = nil) async throws -> PeerVerification {
    try await sayingWhy {
      try checkServing()
      return try await PeerComparison.run(with: peer, on: self)
    }
  }

  // MARK: Clocks

  /// What is dated ahead of this device's clock; writes nothing.
  ///
  /// - Throws: `WaymarkError` with the code `clock_disputed` if it is this clock that is wrong.
  public func restampPreview() async throws -> RestampSummary {
    try await sayingWhy { try await Restamper(isPreview: true, isConfirmed: false).run(on: self) }
  }

  /// Re-timestamps what this device wrote while its clock ran ahead, after a backup.
  @discardableResult
  public func restamp() async throws -> RestampSummary {
    try await sayingWhy { try await Restamper(isPreview: false, isConfirmed: true).run(on: self) }
  }

  // MARK: Cleanup

  /// The trips that look as if a test had left them behind, by words in their names; deletes nothing.
  public func testTrips() async throws -> [CleanupSummary.TestTrip] {
    try sayingWhy { try TestData(store: store).found() }
  }

  /// Deletes the trips of ``testTrips()``, after a backup, in one operation that can be undone.
  @discardableResult
  public func deleteTestTrips() async throws -> CleanupSummary {
    try await sayingWhy { try await TestData(store: store).delete(on: self, isConfirmed: true) }
  }
}
