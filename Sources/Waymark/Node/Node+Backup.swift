public import Foundation
import Membership
import Storage

/// Backups of a node's store, written while it goes on with its work.
extension Node {
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
    pruneBackups()
    return path
  }

  /// Removes automatic backups that are too many, and logs each.
  func pruneBackups() {
    guard (try? home.storage.directory(for: "")) != nil else { return }
    for name in home.pruneAutomaticBackups() {
      log.info("backup", "removed the old automatic backup \(home.backups)/\(name)")
    }
  }

  package var backupWriter: BackupWriter {
    get throws {
      let names = deviceNames
      return BackupWriter(
        home, store,
        try BackupAbout(
          of: identity.device, called: member?.name ?? waiting?.name ?? "", at: wall(), store.meta),
        list: names.list)
    }
  }
}
