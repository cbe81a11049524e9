import Backups
import Engine
package import Enrolment
import Home
import Membership
import Storage
import Wire

extension NodeCore {
  /// Takes an automatic backup before a large change, and removes the oldest automatic backups; see
  /// `Home.pruneAutomaticBackups`.
  ///
  /// - Returns: the path of the backup.
  @discardableResult
  package func backUp(before what: String) async throws -> String {
    let path = try await backupWriter.write(before: what)
    maintenance.pruneBackups()
    return path
  }

  /// Writes backups of this store.
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
}
