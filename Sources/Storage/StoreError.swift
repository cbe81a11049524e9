import SQLite

/// Whether a transaction failed because the disk had no room for it.
package func isNoRoom(_ error: any Error) -> Bool { (error as? SQLiteError)?.isFull ?? false }

/// Whether a transaction failed because the disk did not keep what it was told to, or the file is damaged: after that
/// nobody knows what is durable.
package func isBrokenStore(_ error: any Error) -> Bool {
  guard let error = error as? SQLiteError else { return false }
  return error.isInputOutput || error.isDamage
}

/// Whether SQLite can't make sense of the file.
package func isDamagedFile(_ error: any Error) -> Bool { (error as? SQLiteError)?.isDamage ?? false }

/// The same for errors of any database that was at work, be it a file that is imported: only those of writing count.
package func isLostWrite(_ error: any Error) -> Bool { (error as? SQLiteError)?.isLostWrite ?? false }

/// Whether reading was stopped, because its task was cancelled.
package func isInterrupted(_ error: any Error) -> Bool { (error as? SQLiteError)?.isInterrupted ?? false }

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
  /// The bytes of a change set are not those that were signed: the disk has altered them.
  case damagedSet(number: Int64)
}
