package import Replication
import Storage

/// The entries of one operation, checked and not written yet.
package struct PreparedChange {
  package let verb: String
  package let entries: [EntryDraft]
  /// Raises the first clock of the records lane.
  package var leastClock = Clock.zero

  /// Whether there is nothing to write.
  package var isEmpty: Bool { entries.isEmpty }
}
