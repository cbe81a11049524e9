import SQLite

/// Whether a transaction failed because the disk is full.
package func isNoRoom(_ error: any Error) -> Bool { (error as? SQLiteError)?.isFull ?? false }

/// Whether a transaction failed because of an input/output error or a damaged file, after which it is unknown what is
/// durable.
package func isBrokenStore(_ error: any Error) -> Bool {
  guard let error = error as? SQLiteError else { return false }
  return error.isInputOutput || error.isDamage
}

/// Whether SQLite finds the file damaged or not to be a database.
package func isDamagedFile(_ error: any Error) -> Bool { (error as? SQLiteError)?.isDamage ?? false }

/// Whether a write may be lost. Unlike `isBrokenStore` it fits an error of any database, an imported file included,
/// because only errors of writing count.
package func isLostWrite(_ error: any Error) -> Bool { (error as? SQLiteError)?.isLostWrite ?? false }

/// Whether reading was stopped because its task was cancelled.
package func isInterrupted(_ error: any Error) -> Bool { (error as? SQLiteError)?.isInterrupted ?? false }

/// Why a store can't be opened or used.
package enum StoreError: Error, Hashable, Sendable {
  /// Another process holds the store: its process id, if it left one.
  case storeIsHeld(by: Int32?)
  /// The store was written by a newer version of the program.
  case newerSchema(found: Int64, known: Int64)
  /// The lock file can't be created or locked; the number is the operating system's.
  case lockFailed(errno: Int32)
  /// The store contains something that no version of the program writes.
  case damaged(String)
  /// The bytes of a change set do not match its signature: the disk has altered them.
  case damagedSet(number: Int64)
}
