// Sources/store.md, "Log"

/// The tables that hold what was signed, and its order.
package enum LogSchema {
  package static let tables = [
    "statements", "branches", "change_sets", "dependencies", "tolerated_gaps", "quarantine",
  ]

  /// `change_sets.log_bytes` is the declared size of the log through the set. The indexes by operation and by clock
  /// serve the history. The index of parked sets by clock finds the set that is due first; that query runs after each
  /// commit and must stay fast however many sets are parked.
  ///
  /// `quarantine` holds quarantined sets. `tolerated_gaps` holds logs from which stored sets have seen a set that is
  /// missing here because a cut excludes it.
  package static let sql = """
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
    """
}
