package import Replication
import Storage

/// The entries of one operation, checked and not yet written.
package struct PreparedChange {
  package let verb: String
  package let entries: [EntryDraft]
  /// A lower bound for the clock of the first change set in the records lane.
  package var leastClock = Clock.zero

  /// Whether there is nothing to write.
  package var isEmpty: Bool { entries.isEmpty }
}
