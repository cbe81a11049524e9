import FileStore
import SQLite

/// Returns whether a transaction or the writing of a file failed because the disk is full.
package func isNoRoom(_ error: any Error) -> Bool {
  (error as? SQLiteError)?.isFull ?? ((error as? FileStoreError) == .full)
}

/// Returns whether a transaction failed because of an input/output error or a damaged file. After such an error, it is
/// unknown what is durable.
package func isBrokenStore(_ error: any Error) -> Bool {
  guard let error = error as? SQLiteError else { return false }
  return error.isInputOutput || error.isDamage
}

/// Returns whether SQLite reports that the file is damaged or is not a database.
package func isDamagedFile(_ error: any Error) -> Bool { (error as? SQLiteError)?.isDamage ?? false }

/// Returns whether a write may have been lost. Unlike `isBrokenStore`, this function suits an error from any database,
/// including an imported file, because it considers only write errors.
package func isLostWrite(_ error: any Error) -> Bool { (error as? SQLiteError)?.isLostWrite ?? false }

/// Returns whether reading was stopped because its task was cancelled.
package func isInterrupted(_ error: any Error) -> Bool { (error as? SQLiteError)?.isInterrupted ?? false }

/// Why a store can't be opened or used.
package enum StoreError: Error, Hashable, Sendable {
  /// Another process has the store open. Its process id is given if the process has recorded it.
  case storeIsHeld(by: Int32?)
  /// The store was written by a newer version of the program.
  case newerSchema(found: Int64, known: Int64)
  /// The store was written by a version of the program that used format 1 of change sets, which is no longer read.
  case formerFormat
  /// The lock file can't be created or locked; `errno` is the error number of the operating system.
  case lockFailed(errno: Int32)
  /// The store contains something that no version of the program writes.
  case damaged(String)
  /// The bytes of a change set do not match its signature: the disk has altered them.
  case damagedSet(number: Int64)
}
