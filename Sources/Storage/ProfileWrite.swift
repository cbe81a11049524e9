import Records
package import Replication
package import Wire

/// A write of the profile. Every put carries all fields and a time of change.
package struct ProfileWrite {
  package let updatedAt: Moment
  package let draft: EntryDraft

  package static let avatar = Registry.profile.number("avatar")

  /// The lowest clock that the set may have. With an earlier clock, merging would read the set's clock instead of the
  /// time of change.
  package var leastClock: Clock { Clock(milliseconds: updatedAt) }

  /// Creates a local edit. Its time of change is later than the one that merging reads in the held profile.
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
  /// Returns the profile's time of change as merging reads it: at most the clock of the set that wrote it. A date in
  /// the far future, from a file or a wrong clock, must not advance this device's clock.
  package func profileTime(_ held: RecordRow) throws -> Moment {
    let clock = try origins(of: held).values.map(\.clock).max() ?? .zero
    return min(held[Fields.wholeRecordUpdatedAt]?.asInteger ?? 0, clock.milliseconds)
  }
}
