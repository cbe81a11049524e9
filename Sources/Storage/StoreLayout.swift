// Sources/store.md, "Tables"

import LogStorage
import RecordTables

/// The tables of the store, as numbered migrations. Once released, a migration must never change.
package enum StoreLayout {
  static let version: Int64 = 5
  /// The oldest version that can be read. Earlier versions held change sets of format 1.
  static let firstVersion: Int64 = 5

  /// Returns the migration from the preceding version to the given one.
  static func migration(to version: Int64) -> String {
    switch version {
    case firstVersion: LogSchema.sql + "\n" + local + "\n" + HeldErases.sql
    default: ""
    }
  }

  /// The tables that hold what this device alone knows, which follows from nothing else.
  package static let localTables = ["files", "file_holders", "value_senders"] + HeldErases.tables

  /// The tables that are not derived from the log.
  static let keptTables = [MetaTable.name] + LogSchema.tables + localTables

  /// `files` holds the files that are complete on this device, and `file_holders` what other devices have said about the
  /// files that they have; see Store+Files.swift. `value_senders` names the device that sent a set of which values are
  /// missing; see Store+MissingValues.swift.
  private static let local = """
    CREATE TABLE files(
      id BLOB NOT NULL, size INTEGER NOT NULL, used_at INTEGER NOT NULL, PRIMARY KEY (id, size)
    ) WITHOUT ROWID;
    CREATE TABLE file_holders(
      id BLOB NOT NULL, size INTEGER NOT NULL, device BLOB NOT NULL, keeps INTEGER NOT NULL,
      said_at INTEGER NOT NULL, PRIMARY KEY (id, size, device)
    ) WITHOUT ROWID;
    CREATE TABLE value_senders(
      id BLOB PRIMARY KEY NOT NULL, device BLOB NOT NULL
    ) WITHOUT ROWID;
    """
}
