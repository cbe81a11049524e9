import SQLite

/// Whether a transaction failed because the disk had no room for it.
package func isNoRoom(_ error: any Error) -> Bool { (error as? SQLiteError)?.isFull ?? false }

/// Why a store cannot be opened or used.
package enum StoreError: Error, Hashable, Sendable {
  /// Another process holds the store; its process id, if it left one.
  case storeIsHeld(by: Int32?)
  /// The store was written by a newer version of the program.
  case newerSchema(found: Int64, known: Int64)
  /// The lock file cannot be made or locked; the number is the operating system's.
  case lockFailed(errno: Int32)
  /// The store holds what no version of the program writes.
  case damaged(String)
}
