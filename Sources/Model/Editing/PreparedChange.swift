package import Replication
import Storage

/// The entries of one operation, which have been checked but not yet written.
package struct PreparedChange {
  package let verb: String
  package let entries: [EntryDraft]
  /// The minimum clock of the operation's first change set in the records lane.
  package var leastClock = Clock.zero

  /// Whether there is nothing to write.
  package var isEmpty: Bool { entries.isEmpty }
}
