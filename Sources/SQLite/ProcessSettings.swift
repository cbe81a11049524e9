internal import CSQLite

/// The settings of SQLite for the whole process.
package enum ProcessSettings {
  /// Stops SQLite from counting the memory that it allocates.
  ///
  /// The counters have one lock for all connections, and threads wait for it at each allocation. Apple's SQLite does not
  /// count. Only a program calls this, before any other use of SQLite: the process of an app belongs to the app.
  package static func countNoMemory() {
    // Fails only if SQLite is in use already, and then it counts as usual.
    _ = waymark_sqlite3_count_no_memory()
  }
}
