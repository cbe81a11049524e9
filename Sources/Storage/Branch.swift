// Protocol/store.md, "Log"

import Replication
import Wire

/// One branch of a log: the sets from where it leaves its parent, or from the log's first set, to its tip.
struct Branch {
  /// What the tables call it.
  var number: Int64
  let log: LogKey
  /// The sequence of its first set.
  let first: UInt64
  /// The branch that holds the sets before the first; nil where there are none.
  var parent: Int64?
  /// The newest stored set.
  var head: StoredPosition
  var sequence: UInt64
  /// The newest folded set on the path from the log's first set to the tip; nil and 0 if there is none yet.
  var folded: StoredPosition?
  var foldedSequence: UInt64

  var logHead: LogHead {
    LogHead(log: log, sequence: sequence, id: head.id, foldedSequence: foldedSequence)
  }

  /// Sets that the branch itself holds.
  var count: UInt64 { sequence - first + 1 }
}

/// Consecutive sets that one branch holds.
struct Stretch: Hashable {
  let branch: Int64
  let first: UInt64
  let last: UInt64
}

/// Whether a stored set counts in the record tables.
enum FoldState: Int64 {
  /// Its time, or that of a set that it stands on, is to come.
  case waits = 0
  case folded = 1
  /// A cut of its log that is in effect excludes it.
  case held = 2
}
