// Sources/store.md, "Tables"

import Records
import Replication

/// The tables of the store, as numbered migrations. Once released, a migration must never change.
enum Schema {
  static let version: Int64 = 5
  /// The oldest version that can be read. Earlier versions held change sets of format 1.
  static let firstVersion: Int64 = 5

  /// Returns the migration from the preceding version to the given one.
  static func migration(to version: Int64) -> String {
    switch version {
    case firstVersion: first
    default: ""
    }
  }

  /// The tables of `first` that hold what was signed, and its order.
  static let logTables = [
    "statements", "branches", "change_sets", "dependencies", "tolerated_gaps", "quarantine",
  ]

  /// The tables of `first` that hold what this device alone knows, which follows from nothing else.
  static let localTables = ["files", "file_holders", "value_senders", "held_erases", "erase_counts"]

  /// `change_sets.log_bytes` is the declared size of the log through the set. The indexes by operation and by clock
  /// serve the history. The index of parked sets by clock finds the set that is due first; that query runs after each
  /// commit and must stay fast however many sets are parked.
  ///
  /// `quarantine` holds quarantined sets; see Store+Quarantine.swift. `tolerated_gaps` holds logs from which stored sets
  /// have seen a set that is missing here because a cut excludes it.
  ///
  /// `files` holds the files that are complete on this device, and `file_holders` what other devices have said about the
  /// files that they have; see Store+Files.swift. `value_senders` names the device that sent a set of which values are
  /// missing; see Store+MissingValues.swift.
  ///
  /// `held_erases` names the sets whose erases are not applied before `due`, and `erase_counts` what each device has
  /// erased lately; see HeldErases.swift.
  private static let first = """
    CREATE TABLE statements(
      id BLOB PRIMARY KEY NOT NULL, bytes BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE branches(
      branch INTEGER PRIMARY KEY, device BLOB NOT NULL, incarnation BLOB NOT NULL,
      lane INTEGER NOT NULL, first_sequence INTEGER NOT NULL, first_id BLOB NOT NULL, parent INTEGER
    );
    CREATE TABLE change_sets(
      number INTEGER PRIMARY KEY, id BLOB NOT NULL, branch INTEGER NOT NULL, sequence INTEGER NOT NULL,
      clock INTEGER NOT NULL, operation BLOB NOT NULL, folded INTEGER NOT NULL, log_bytes INTEGER NOT NULL,
      header BLOB NOT NULL, signature BLOB NOT NULL, plan BLOB NOT NULL, field_values BLOB NOT NULL
    );
    CREATE UNIQUE INDEX change_sets_by_branch ON change_sets(branch, sequence);
    CREATE INDEX change_sets_parked ON change_sets(number) WHERE folded = 0;
    CREATE INDEX change_sets_by_operation ON change_sets(operation);
    CREATE INDEX change_sets_by_clock ON change_sets(clock, number);
    CREATE INDEX change_sets_parked_by_clock ON change_sets(clock) WHERE folded = 0;
    CREATE TABLE dependencies(
      branch INTEGER NOT NULL, dep_branch INTEGER NOT NULL, sequence INTEGER NOT NULL,
      dep_sequence INTEGER NOT NULL, PRIMARY KEY (branch, dep_branch, sequence)
    ) WITHOUT ROWID;
    CREATE TABLE quarantine(
      id BLOB PRIMARY KEY NOT NULL, clock INTEGER NOT NULL, header BLOB NOT NULL, signature BLOB NOT NULL,
      plan BLOB NOT NULL, field_values BLOB NOT NULL
    );
    CREATE TABLE tolerated_gaps(
      device BLOB NOT NULL, incarnation BLOB NOT NULL, lane INTEGER NOT NULL,
      PRIMARY KEY (device, incarnation, lane)
    ) WITHOUT ROWID;
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
    CREATE TABLE held_erases(id BLOB PRIMARY KEY NOT NULL, due INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX held_erases_by_due ON held_erases(due);
    CREATE TABLE erase_counts(
      device BLOB NOT NULL, kind INTEGER NOT NULL, since INTEGER NOT NULL, erased INTEGER NOT NULL,
      before INTEGER NOT NULL, PRIMARY KEY (device, kind)
    ) WITHOUT ROWID;
    """

  /// The tables and views that are filled by folding the log.
  static var derived: String {
    derivedTables + Registry.kinds.map { table($0) + Views.sql($0) }.joined()
  }

  /// `siblings.content` is NULL for an absent value. A row of `erasures` names a set that erases a record's earlier
  /// values, and a row of `missing_values` a slot whose content is absent although no erase explains that.
  private static let derivedTables = """
    CREATE TABLE digests(
      lane INTEGER NOT NULL, bucket INTEGER NOT NULL, sum BLOB NOT NULL, PRIMARY KEY (lane, bucket)
    ) WITHOUT ROWID;
    CREATE TABLE siblings(
      kind INTEGER NOT NULL, record BLOB NOT NULL, field INTEGER NOT NULL, number INTEGER NOT NULL,
      branch INTEGER NOT NULL, sequence INTEGER NOT NULL, content_hash BLOB NOT NULL,
      follows INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (kind, record, field, number)
    ) WITHOUT ROWID;
    CREATE INDEX siblings_by_branch ON siblings(kind, record, field, branch, sequence);
    CREATE INDEX siblings_by_content ON siblings(kind, record, field, content_hash);
    CREATE INDEX siblings_following ON siblings(kind, record, field) WHERE follows = 1;
    CREATE TABLE contested_cells(
      kind INTEGER NOT NULL, record BLOB NOT NULL, field INTEGER NOT NULL, count INTEGER NOT NULL,
      content_hash BLOB NOT NULL, is_conflict INTEGER NOT NULL, PRIMARY KEY (kind, record, field)
    ) WITHOUT ROWID;
    CREATE TABLE erasures(
      kind INTEGER NOT NULL, record BLOB NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (kind, record, number)
    ) WITHOUT ROWID;
    CREATE TABLE missing_values(
      number INTEGER NOT NULL, slot INTEGER NOT NULL, kind INTEGER NOT NULL, record BLOB NOT NULL,
      PRIMARY KEY (number, slot)
    ) WITHOUT ROWID;
    CREATE INDEX missing_values_by_record ON missing_values(kind, record);
    CREATE TABLE whole_ranks(
      kind INTEGER NOT NULL, record BLOB NOT NULL, updated_at INTEGER NOT NULL, filled INTEGER NOT NULL,
      PRIMARY KEY (kind, record)
    ) WITHOUT ROWID;
    CREATE TABLE hidden_writes(
      kind INTEGER NOT NULL, record BLOB NOT NULL, number INTEGER NOT NULL, by_parent INTEGER NOT NULL,
      deletion INTEGER NOT NULL, PRIMARY KEY (kind, record, number)
    ) WITHOUT ROWID;
    CREATE TABLE record_writes(
      kind INTEGER NOT NULL, record BLOB NOT NULL, number INTEGER NOT NULL,
      PRIMARY KEY (kind, record, number)
    ) WITHOUT ROWID;
    CREATE TABLE undos(
      target BLOB NOT NULL, operation BLOB NOT NULL, device BLOB NOT NULL,
      PRIMARY KEY (target, operation, device)
    ) WITHOUT ROWID;
    CREATE TABLE child_counts(
      parent_kind INTEGER NOT NULL, parent BLOB NOT NULL, kind INTEGER NOT NULL, live INTEGER NOT NULL,
      PRIMARY KEY (parent_kind, parent, kind)
    ) WITHOUT ROWID;
    CREATE TABLE trip_summaries(
      trip BLOB PRIMARY KEY NOT NULL, lodgings INTEGER NOT NULL, transportations INTEGER NOT NULL,
      activities INTEGER NOT NULL, first_start INTEGER, last_end INTEGER, totals TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE other_rows(
      kind INTEGER NOT NULL, id BLOB NOT NULL, life INTEGER, stamps BLOB NOT NULL, extra BLOB,
      PRIMARY KEY (kind, id)
    ) WITHOUT ROWID;

    """

  /// Returns the table of a kind and the indexes needed to list its records.
  private static func table(_ kind: Kind) -> String {
    let columns = kind.fields.flatMap(\.columns).map { "\($0.name) \($0.type.rawValue)" }
    var sql = """
      CREATE TABLE \(kind.table)(
        id BLOB PRIMARY KEY NOT NULL, life INTEGER, stamps BLOB NOT NULL, extra BLOB,
        \(columns.joined(separator: ", "))
      ) WITHOUT ROWID;

      """
    if let index = parentIndex(kind) { sql += index.sql }
    for column in kind.fileColumns {
      sql += "CREATE INDEX \(kind.table)_by_\(column.id) ON \(kind.table)(\(column.id))"
      sql += " WHERE \(column.id) IS NOT NULL;\n"
    }
    if kind.canHaveChildren {
      sql += "CREATE INDEX \(kind.table)_dead ON \(kind.table)(id) WHERE life = 0;\n"
    }
    return sql
  }

  /// Returns the index that finds the children of a record; nil for a kind without a parent. Habit entries are also
  /// sorted by day.
  static func parentIndex(_ kind: Kind) -> (name: String, sql: String)? {
    guard let parent = kind.parentColumns else { return nil }
    let name = "\(kind.table)_by_parent"
    let time = kind.number == KindNumbers.habitEntry ? ", date" : ""
    return (name, "CREATE INDEX \(name) ON \(kind.table)(\(parent.id)\(time));\n")
  }

  /// A string that differs whenever the derived tables, or what the fold writes into them, would differ. If the string
  /// has changed, the log is folded again.
  static var fingerprint: String { "fold \(foldVersion)\n" + derived }

  /// The version of the fold. Increase it when the fold derives a different result from the same log.
  private static let foldVersion = 5
}
