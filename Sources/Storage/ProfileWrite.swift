import LogStorage
import RecordTables
import Records
package import Replication
package import Wire

/// A write of the profile. Every put carries all fields and a time of change.
package struct ProfileWrite {
  package let updatedAt: Moment
  package let draft: EntryDraft

  package static let avatar = Kind.profile.number("avatar")

  /// The lowest clock that the set may have. Merging caps the time of change at the set's clock, so with an earlier
  /// clock, the change would count as earlier than it states.
  package var leastClock: Clock { Clock(milliseconds: updatedAt) }

  /// Creates a local edit. Its time of change is later than `heldAt`, the time of change of the held profile.
  package init(
    held: RecordRow, heldAt: Moment, changed: [(field: FieldNumber, value: Value)], now: Moment
  ) {
    self.init(held: held, changed: changed, updatedAt: max(now, heldAt + 1))
  }

  /// Creates a write with a given time of change, as in an import.
  package init(held: RecordRow, changed: [(field: FieldNumber, value: Value)], updatedAt: Moment) {
    self.updatedAt = updatedAt
    var values = held.allFields
    for (field, value) in changed { values[field] = value }
    values[Fields.wholeRecordUpdatedAt] = .integer(updatedAt)
    values[Fields.life] = nil
    let fields = values.filter { !$0.value.isEmpty || $0.value == .array([]) }
      .sorted { $0.key < $1.key }
    draft = EntryDraft(.put, FixedRecords.profile, fields.map { (field: $0.key, value: $0.value) })
  }
}

extension Store {
  /// Returns the time of change that the shown write of a whole record states, capped at the clock of its set, as in
  /// merging: a date in the far future, from a file or a wrong clock, must not advance this device's clock. Returns nil
  /// for a seed, and for a record that was never written.
  package func timeOfChange(of key: RecordKey) throws -> Moment? {
    guard let row = try fold.table(key.kind).row(key.id), let number = row.stamps[Fields.life], number != 0
    else {
      return nil
    }
    return try fold.rank(of: key, fold.causality.origin(number)).updatedAt
  }
}
