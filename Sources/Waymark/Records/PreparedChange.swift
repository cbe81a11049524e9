import Replication
import Storage

/// The entries of one operation, checked and not written yet.
package struct PreparedChange {
  let verb: String
  let entries: [EntryDraft]
  /// Raises the first clock of the records lane.
  var leastClock = Clock.zero

  /// Whether there is nothing to write.
  package var isEmpty: Bool { entries.isEmpty }
}

extension Node {
  /// Writes a change as one operation; nothing if there is nothing to write.
  @discardableResult
  package func write(_ change: PreparedChange) throws -> OperationID? {
    guard !change.isEmpty else { return nil }
    return try write(change.verb, change.entries, leastClock: change.leastClock)
  }
}
