import Backups
import Engine
package import Enrolment
import Home
import LogStorage
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
        list: names.list, noteDamage: requestDamaged)
    }
  }

  /// Requests intact copies of sets that a backup has found damaged.
  private func requestDamaged(_ sets: [DamagedSet]) {
    guard !sets.isEmpty, (try? checkOpen()) != nil else { return }
    // If reading fails, the background check finds the damage within a day.
    try? store.checkAgain(sets)
    loop.turn { $0.repair(now: loop.time) }
  }
}
