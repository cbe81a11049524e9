import Records
package import Replication
package import Wire

/// A write of the profile. Every put carries all fields and a time of change.
package struct ProfileWrite {
  package let updatedAt: Moment
  package let draft: EntryDraft

  package static let avatar = Registry.profile.number("avatar")

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
  /// Returns the profile's time of change, capped at the clock of the set that wrote it, as in merging. A date in the
  /// far future, from a file or a wrong clock, must not advance this device's clock.
  package func profileTime(_ held: RecordRow) throws -> Moment {
    let clock = try origins(of: held).values.map(\.clock).max() ?? .zero
    return min(held[Fields.wholeRecordUpdatedAt]?.asInteger ?? 0, clock.milliseconds)
  }
}
