/// Why a store can't be opened or used.
package enum StoreError: Error, Hashable, Sendable {
  /// Another process has the store open. Its process id is given if the process has recorded it.
  case storeIsHeld(by: Int32?)
  /// The store was written by a newer version of the program.
  case newerSchema(found: Int64, known: Int64)
  /// The store was written by a version of the program that used format 1 of change sets, which is no longer read.
  case formerFormat
  /// The tables are those of an earlier version of the program, or lack kinds of an app, and may not be rebuilt here.
  case outdated
  /// The lock file can't be created or locked; `errno` is the error number of the operating system.
  case lockFailed(errno: Int32)
  /// The store contains something that no version of the program writes.
  case damaged(String)
  /// The bytes of a change set do not match its signature: the disk has altered them.
  case damagedSet(number: Int64)
}
