// Sources/store.md, "Log"

package import Replication
package import Wire

/// One branch of a log: the sets from the fork (or from the log's first set) to the branch's tip.
package struct Branch {
  /// The number of the branch in the tables.
  package internal(set) var number: Int64
  package let log: LogKey
  /// The sequence of the first set of the branch.
  package let first: UInt64
  /// The branch that holds the sets before the first one; nil for a branch that starts with the log's first set.
  var parent: Int64?
  /// The newest stored set of the branch.
  package internal(set) var head: StoredPosition
  package internal(set) var sequence: UInt64
  /// The newest folded set on the path from the log's first set to the tip. Nil, with a `foldedSequence` of 0, if
  /// nothing on that path is folded yet.
  package internal(set) var folded: StoredPosition?
  package internal(set) var foldedSequence: UInt64

  package var logHead: LogHead {
    LogHead(log: log, sequence: sequence, id: head.id, foldedSequence: foldedSequence)
  }

  /// The number of sets in the branch itself, without its parents.
  package var count: UInt64 { sequence - first + 1 }

  /// Returns the sets of the branch itself, without its parents, up to a sequence.
  package func stretch(through last: UInt64) -> Stretch {
    Stretch(branch: number, first: first, last: min(sequence, last))
  }
}

/// A range of consecutive sets in one branch.
package struct Stretch: Hashable {
  package let branch: Int64
  package let first: UInt64
  package let last: UInt64
}

/// Whether a stored set is applied to the record tables.
package enum FoldState: Int64 {
  /// The set is parked, because its clock, or the clock of one of its ancestors, is too far ahead.
  case waits = 0
  case folded = 1
  /// A cut of its log that is in effect excludes the set.
  case held = 2
}
