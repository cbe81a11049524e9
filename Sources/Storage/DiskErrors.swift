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
