// Sources/store.md, "Held erases"

package import LogStorage
import Records
package import Replication
package import SQLite
package import Wire

// Mass erases by other devices.
//
// An erase can't be undone, so anyone with one stolen device could empty all others. Therefore a mass erase by another
// device hides its records at once, like any erase, but this device keeps their values for another seven days. Within
// that time a person can revoke the device with a cut before the erase, and everything is back.
//
//     set 12   erases 40 of 100 trips     by the tablet: more than a quarter, so it is held
//     set 13   erases 5 trips             by the tablet, within the same stretch: held too
//     day 2    revoke tablet, cut at 11   12 and 13 are no longer folded, and the trips show as before
//     day 7    (without the revocation)   the values of 40 trips are taken, as by any erase
//
// What is a mass erase is counted over a *stretch*: everything that one device erases within seven days of its first
// erase, in any number of sets and operations. Once the count passes the limit, the erases of the device are held, and
// with them those of the same batch. So a device that erases in small portions can take at most a quarter of a kind in
// seven days. Records in the trash count as erased, but not as records of the kind, so it does not help to delete them
// first.
//
// Only the taking of values is delayed, and only here. What is folded, and with it the digest, follows from signed data
// alone. The times are those of this device's clock.

/// A removal of so many records of a kind that a person is told about it.
package enum MassRemoval {
  /// The removal of fewer records of a kind than this is never a mass removal.
  package static let least = 20

  /// Returns whether the removal of some records of a kind is a mass removal.
  ///
  /// - Parameter before: the number of records of the kind before.
  package static func isMass(_ removed: Int, of before: Int) -> Bool {
    removed >= least && removed * 4 > before
  }
}

/// Whose erases are never held, and the present time.
package struct EraseHolding: Hashable, Sendable {
  /// The device that owns the store. What it erases is gone at once.
  package let device: DeviceKey
  /// The present time by this device's clock.
  package let now: Moment

  package init(device: DeviceKey, now: Moment) {
    (self.device, self.now) = (device, now)
  }

  /// How long the values of a mass erase are kept, and how long a stretch is: seven days.
  package static let milliseconds: Moment = 7 * 86_400_000
}

/// An erase that a batch has folded.
package struct FoldedErase {
  let key: RecordKey
  let place: SetPosition
  /// Whether the record showed values that the erase takes.
  let takesValues: Bool
  /// Whether the record was alive before and is dead now.
  let endsLife: Bool

  package init(key: RecordKey, place: SetPosition, takesValues: Bool, endsLife: Bool) {
    (self.key, self.place) = (key, place)
    (self.takesValues, self.endsLife) = (takesValues, endsLife)
  }
}

/// The erases whose values this device keeps for now, and the counts that decide which erases are held.
///
/// The tables refer to sets by id and are not derived from the log, so they outlast a rebuild.
package final class HeldErases {
  package static let tables = ["held_erases", "erase_counts"]

  /// `held_erases` names the sets whose erases are not applied before `due`, and `erase_counts` what each device has
  /// erased lately.
  package static let sql = """
    CREATE TABLE held_erases(id BLOB PRIMARY KEY NOT NULL, due INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX held_erases_by_due ON held_erases(due);
    CREATE TABLE erase_counts(
      device BLOB NOT NULL, kind INTEGER NOT NULL, since INTEGER NOT NULL, erased INTEGER NOT NULL,
      before INTEGER NOT NULL, PRIMARY KEY (device, kind)
    ) WITHOUT ROWID;
    """

  private let connection: Connection
  private let schema: Schema
  private let select: Statement
  private let insert: Statement

  init(_ connection: Connection, _ schema: Schema) throws {
    self.schema = schema
    self.connection = connection
    select = try connection.prepare("SELECT due FROM held_erases WHERE id = ?1")
    insert = try connection.prepare(
      "INSERT INTO held_erases(id, due) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
  }

  /// Returns whether the erases of a set are held.
  func contains(_ set: ChangeSetID) throws -> Bool { try due(set) != nil }

  /// Returns when the erases of a set are applied; nil if they are not held.
  package func due(_ set: ChangeSetID) throws -> Moment? {
    try select.bind(1, set.bytes)
    defer { select.reset() }
    return try select.step() ? select.integer(0) : nil
  }

  /// Holds the erases of a set until a time. An erase that is held already keeps its time.
  package func hold(_ set: ChangeSetID, until due: Moment) throws {
    try insert.bind(1, set.bytes)
    try insert.bind(2, due)
    try insert.run()
  }

  // MARK: Judging

  /// Counts the erases of a batch, and holds those of other devices that belong to a mass erase.
  func judge(_ erases: [FoldedErase], _ holding: EraseHolding) throws {
    let fresh = try erases.filter { try !contains($0.place.origin.stamp.set) }
    for (device, erases) in Dictionary(grouping: fresh, by: \.place.log.device) {
      let counts = Dictionary(grouping: erases.filter(\.takesValues), by: \.key.kind)
        .mapValues { (erased: $0.count, ended: $0.count(where: \.endsLife)) }
      let isMass = try count(counts, by: device, now: holding.now)
      guard isMass, device != holding.device else { continue }
      let due = holding.now &+ EraseHolding.milliseconds
      for set in Set(erases.map(\.place.origin.stamp.set)) { try hold(set, until: due) }
    }
  }

  /// Adds erased records to the counts of a device's stretch.
  ///
  /// - Returns: whether the device's erases are a mass erase now.
  private func count(
    _ erased: [KindNumber: (erased: Int, ended: Int)], by device: DeviceKey, now: Moment
  ) throws -> Bool {
    var stretch = try stretch(of: device, now: now)
    for (kind, count) in erased {
      let before = try stretch.counts[kind]?.before ?? living(kind) + count.ended
      let earlier = stretch.counts[kind]?.erased ?? 0
      stretch.counts[kind] = Stretch.Count(erased: earlier + count.erased, before: before)
    }
    if !erased.isEmpty { try save(stretch, of: device) }
    return stretch.isMass
  }

  /// Returns whether the erase of further records by a device would be a mass erase, which other devices hold.
  package func isMass(_ erased: [KindNumber: Int], by device: DeviceKey, now: Moment) throws -> Bool {
    let stretch = try stretch(of: device, now: now)
    return try stretch.isMass
      || erased.contains { kind, count in
        let known = stretch.counts[kind]
        return MassRemoval.isMass(
          (known?.erased ?? 0) + count, of: try known?.before ?? living(kind))
      }
  }

  private struct Stretch {
    struct Count {
      var erased: Int
      /// The number of living records of the kind before the first erase of the stretch.
      var before: Int
    }

    var since: Moment
    var counts: [KindNumber: Count] = [:]

    var isMass: Bool { counts.values.contains { MassRemoval.isMass($0.erased, of: $0.before) } }
  }

  private func stretch(of device: DeviceKey, now: Moment) throws -> Stretch {
    try connection.with("SELECT kind, since, erased, before FROM erase_counts WHERE device = ?1") { row in
      try row.bind(1, device.bytes)
      var stretch = Stretch(since: now)
      while try row.step() {
        guard let kind = KindNumber(UInt64(bitPattern: row.integer(0))) else { continue }
        stretch.since = row.integer(1)
        stretch.counts[kind] = Stretch.Count(erased: Int(row.integer(2)), before: Int(row.integer(3)))
      }
      let (age, isFar) = now.subtractingReportingOverflow(stretch.since)
      return isFar || age >= EraseHolding.milliseconds ? Stretch(since: now) : stretch
    }
  }

  private func save(_ stretch: Stretch, of device: DeviceKey) throws {
    try connection.with("DELETE FROM erase_counts WHERE device = ?1") { row in
      try row.bind(1, device.bytes)
      try row.run()
    }
    try connection.with(
      "INSERT INTO erase_counts(device, kind, since, erased, before) VALUES (?1, ?2, ?3, ?4, ?5)"
    ) { row in
      for (kind, count) in stretch.counts {
        try row.bind(1, device.bytes)
        try row.bind(2, Int(kind.rawValue))
        try row.bind(3, stretch.since)
        try row.bind(4, count.erased)
        try row.bind(5, count.before)
        try row.run()
      }
    }
  }

  /// Returns the number of living records of a kind.
  private func living(_ kind: KindNumber) throws -> Int {
    let table = schema.kind(kind)?.table
    let rows = table ?? "other_rows WHERE kind = ?1"
    return try connection.with("SELECT count(*) FROM \(rows) \(table == nil ? "AND" : "WHERE") life = 1") {
      row in
      if table == nil { try row.bind(1, Int(kind.rawValue)) }
      return try row.step() ? Int(row.integer(0)) : 0
    }
  }

  // MARK: What is held

  /// Returns the time at which the first held erase is due; nil if none is held.
  package static func nextDue(_ connection: Connection) throws -> Moment? {
    try connection.with("SELECT due FROM held_erases ORDER BY due LIMIT 1") { row in
      try row.step() ? row.integer(0) : nil
    }
  }

  /// Returns the folded erases that are held, ascending by their set.
  ///
  /// - Parameter due: the time up to which they are due; nil for all.
  package func folded(through due: Moment? = nil) throws -> [(key: RecordKey, number: Int64, due: Moment)] {
    let sql = """
      SELECT e.kind, e.record, e.number, h.due FROM erasures AS e
      JOIN change_sets AS c ON c.number = e.number JOIN held_erases AS h ON h.id = c.id
      WHERE h.due <= ?1 ORDER BY e.number, e.kind, e.record
      """
    return try connection.with(sql) { row in
      try row.bind(1, due ?? .max)
      var found: [(key: RecordKey, number: Int64, due: Moment)] = []
      while try row.step() {
        guard let kind = KindNumber(UInt64(bitPattern: row.integer(0))) else { continue }
        found.append(
          (RecordKey(kind: kind, id: try row.recordID(1)), row.integer(2), row.integer(3)))
      }
      return found
    }
  }

  /// Stops holding the erases that are due by a time.
  package func release(through due: Moment) throws {
    try connection.with("DELETE FROM held_erases WHERE due <= ?1") { row in
      try row.bind(1, due)
      try row.run()
    }
  }

  /// Returns all sets whose erases are held, folded or not, ascending.
  package static func sets(_ connection: Connection) throws -> [(id: ChangeSetID, due: Moment)] {
    try connection.with("SELECT id, due FROM held_erases ORDER BY id") { row in
      var found: [(id: ChangeSetID, due: Moment)] = []
      while try row.step() {
        if let id = ChangeSetID(bytes: row.bytes(0)) { found.append((id, row.integer(1))) }
      }
      return found
    }
  }
}
