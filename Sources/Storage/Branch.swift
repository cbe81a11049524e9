// Sources/store.md, "Log"

import Replication
import Wire

/// One branch of a log: the sets from the fork (or from the log's first set) to the branch's tip.
struct Branch {
  /// The number of the branch in the tables.
  var number: Int64
  let log: LogKey
  /// The sequence of the first set of the branch.
  let first: UInt64
  /// The branch that holds the sets before the first one; nil for a branch that starts with the log's first set.
  var parent: Int64?
  /// The newest stored set of the branch.
  var head: StoredPosition
  var sequence: UInt64
  /// The newest folded set on the path from the log's first set to the tip. Nil, with a `foldedSequence` of 0, if
  /// nothing on that path is folded yet.
  var folded: StoredPosition?
  var foldedSequence: UInt64

  var logHead: LogHead {
    LogHead(log: log, sequence: sequence, id: head.id, foldedSequence: foldedSequence)
  }

  /// The number of sets in the branch itself, without its parents.
  var count: UInt64 { sequence - first + 1 }
}

/// A range of consecutive sets in one branch.
struct Stretch: Hashable {
  let branch: Int64
  let first: UInt64
  let last: UInt64
}

/// Whether a stored set is applied to the record tables.
enum FoldState: Int64 {
  /// The set is parked, because its clock, or the clock of one of its ancestors, is too far ahead.
  case waits = 0
  case folded = 1
  /// A cut of its log that is in effect excludes the set.
  case held = 2
}
