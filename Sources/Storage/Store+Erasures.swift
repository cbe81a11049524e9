// Protocol/merge.md, "Erase"

package import LogStorage
package import RecordTables
import Records
package import Replication
import SQLite
package import Wire

/// A set that erased a record.
package struct Erasure: Sendable {
  package let place: SetPosition

  /// When the record was erased, according to the clock of the device that erased it.
  package var clock: Clock { place.origin.stamp.clock }
  /// The number of the set.
  package var number: Int64 { place.origin.number }
  package var device: DeviceKey { place.log.device }
}

/// An erase whose values this device keeps until a time, because it belongs to a mass erase by another device.
package struct HeldErase: Sendable {
  package let erasure: Erasure
  /// When the values are taken, by this device's clock.
  package let due: Moment
}

/// The held erases of one device.
package struct MassErase: Hashable, Sendable {
  package let device: DeviceKey
  /// The clock of the first of the erases.
  package var since: Clock
  /// When the first of the erases is applied, by this device's clock.
  package var due: Moment
  /// The number of erased records of each kind.
  package var records: [KindNumber: Int] = [:]
}

extension Store {
  // MARK: Erased records

  /// Returns the newest erase of a record; nil if the record was never erased.
  package func erasure(of record: RecordKey) throws -> Erasure? {
    try fold.erasures.numbers(of: record).map(fold.causality.place)
      .max { $0.origin.stamp < $1.origin.stamp }.map { Erasure(place: $0) }
  }

  /// Returns the newest erase of a record of which nothing is left: the record is dead and has no values, and no
  /// concurrent write has any. Returns nil for any other record.
  package func completeErasure(of row: RecordRow) throws -> Erasure? {
    guard row.life == false, row.allFields.isEmpty, let erasure = try erasure(of: row.key) else { return nil }
    return try isContested(row.key) ? nil : erasure
  }

  private func isContested(_ record: RecordKey) throws -> Bool {
    try connection.with("SELECT 1 FROM contested_cells WHERE kind = ?1 AND record = ?2 LIMIT 1") { row in
      try row.bind(1, Int(record.kind.rawValue))
      try row.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
      return try row.step()
    }
  }

  /// Returns whether a set wrote to a record but its values are absent.
  ///
  /// - Parameter field: the field; nil for any field.
  func lacksValue(of record: RecordKey, _ field: FieldNumber?, _ number: Int64) throws -> Bool {
    guard number != 0, let write = try intactWrite(of: record, in: number) else { return false }
    return field.map(write.absent.contains) ?? !write.absent.isEmpty
  }

  /// Returns the newest set of a lane with which a device has erased records; nil if there is none.
  ///
  /// - Parameter since: the earliest clock of the set.
  package func newestErase(by device: DeviceKey, _ lane: Lane, since: Clock) throws -> SetPosition? {
    let sql = """
      SELECT c.number FROM change_sets c JOIN branches b ON b.branch = c.branch
      WHERE c.number IN (SELECT number FROM erasures) AND b.device = ?1 AND b.lane = ?2 AND c.clock >= ?3
      ORDER BY c.clock DESC, c.number DESC LIMIT 1
      """
    let number: Int64? = try connection.with(sql) { row in
      try row.bind(1, device.bytes)
      try row.bind(2, Int(lane.rawValue))
      try row.bind(3, Int64(bitPattern: since.raw))
      return try row.step() ? row.integer(0) : nil
    }
    return try number.map(fold.causality.place)
  }

  // MARK: Held erases

  /// Applies the held erases that are due by a time: their records lose their values, as by any erase.
  ///
  /// - Returns: the report; nil if none is due.
  package func applyDueErases(now: Moment) throws -> CommitReport? {
    guard let next = try nextHeldErase, next <= now else { return nil }
    return try atomically {
      var report = CommitReport()
      let due = try fold.heldErases.folded(through: now)
      for erase in due { report.formerFiles.formUnion(try writtenFiles(of: erase.key)) }
      // Sets that are not folded now are judged again once they are.
      try fold.heldErases.release(through: now)
      try fold.apply(
        try due.map {
          FoldedErase(
            key: $0.key, place: try fold.causality.place($0.number), takesValues: true, endsLife: false)
        }, &report)
      for erase in due { report.changed(erase.key) }
      heldErasesApplied += 1
      try finish(&report)
      return report
    }
  }

  /// Returns the held erase of a record that is due last; nil if none is held.
  package func heldErase(of record: RecordKey) throws -> HeldErase? {
    let held = try fold.erasures.numbers(of: record).map(fold.causality.place).compactMap { place in
      try fold.heldErases.due(place.origin.stamp.set).map {
        HeldErase(erasure: Erasure(place: place), due: $0)
      }
    }
    return held.max { ($0.due, $0.erasure.place.origin.stamp) < ($1.due, $1.erasure.place.origin.stamp) }
  }

  /// Returns the held mass erases, one for each device, those due first coming first.
  package func massErases() throws -> [MassErase] {
    guard try nextHeldErase != nil else { return [] }
    var found: [DeviceKey: MassErase] = [:]
    var records: [DeviceKey: Set<RecordKey>] = [:]
    var places: [Int64: SetPosition] = [:]
    for erase in try fold.heldErases.folded() {
      let place = try places[erase.number] ?? fold.causality.place(erase.number)
      places[erase.number] = place
      let device = place.log.device
      var mass = found[device] ?? MassErase(device: device, since: place.origin.stamp.clock, due: erase.due)
      mass.due = min(mass.due, erase.due)
      mass.since = min(mass.since, place.origin.stamp.clock)
      if records[device, default: []].insert(erase.key).inserted {
        mass.records[erase.key.kind, default: 0] += 1
      }
      found[device] = mass
    }
    return found.values.sorted { ($0.due, $0.device) < ($1.due, $1.device) }
  }

  /// Returns the first set of each branch of a device's logs whose erases are held.
  package func firstHeldErases(by device: DeviceKey) throws -> [SetPosition] {
    var first: [Int64: SetPosition] = [:]
    for number in Set(try fold.heldErases.folded().map(\.number)) {
      let place = try fold.causality.place(number)
      guard place.log.device == device else { continue }
      if place.sequence < first[place.branch]?.sequence ?? .max { first[place.branch] = place }
    }
    return first.values.sorted { $0.branch < $1.branch }
  }

  /// Returns heads of a device's logs, each moved back to before the first held erase on its path. A head whose first
  /// set is a held erase is left out.
  package func heads(_ heads: [LogHead], beforeHeldErasesBy device: DeviceKey) throws -> [LogHead] {
    let first = try firstHeldErases(by: device)
    var found: [LogHead] = []
    for head in heads {
      let held = try first.filter { try leads(head, to: $0) }.map(\.sequence).min()
      guard let held else {
        found.append(head)
        continue
      }
      let sequence = UInt64(bitPattern: held) - 1
      guard sequence > 0, let branch = try logs.branch(of: head.id, head.log, head.sequence),
        let stretch = logs.path(branch.number, through: sequence).first,
        let id = try id(stretch.branch, sequence)
      else { continue }
      let moved = LogHead(log: head.log, sequence: sequence, id: id, foldedSequence: sequence)
      if !found.contains(moved) { found.append(moved) }
    }
    return found
  }

  /// Returns whether the other devices would hold the erase of some records by a device.
  package func isMassErase(of records: Set<RecordKey>, by device: DeviceKey, now: Moment) throws -> Bool {
    let counts = Dictionary(grouping: records, by: \.kind).mapValues(\.count)
    return try fold.heldErases.isMass(counts, by: device, now: now)
  }

  /// Holds the erases of some sets, as a backup says that they were held.
  package func holdErases(_ sets: [ChangeSetID], until due: Moment) throws {
    try atomically { for set in sets { try fold.heldErases.hold(set, until: due) } }
  }

  /// Returns those of some records that have values in this store and that no erase here has named.
  package func unerased(_ records: [RecordKey]) throws -> [RecordRow] {
    try records.compactMap { key in
      guard let row = try record(key), try fold.erasures.numbers(of: key).isEmpty else { return nil }
      return row.allFields.contains { $0.key != Fields.life && $0.value != .null } ? row : nil
    }
  }

  // MARK: What an erase reaches

  /// Returns the children of a record, of all kinds, whether they are alive or not.
  package func allChildren(of parent: RecordKey) throws -> [RecordKey] {
    try schema.children(of: parent.kind).flatMap { child in
      guard let condition = child.belongs(to: parent.kind) else { return [RecordKey]() }
      return try connection.with("SELECT id FROM \(child.table) WHERE \(condition) ORDER BY id") { row in
        try row.bind(1, bigEndian: parent.id.raw.word0, parent.id.raw.word1)
        var children: [RecordKey] = []
        while try row.step() { children.append(RecordKey(kind: child.number, id: try row.recordID(0))) }
        return children
      }
    }
  }

  /// Returns the folded sets that hold values of some records. Sets whose values of these records were all erased
  /// don't count. Of a damaged set it can't be told, so it counts.
  package func setsWithValues(of records: Set<RecordKey>) throws -> [SetPosition] {
    var numbers: Set<Int64> = []
    for record in records { numbers.formUnion(try writeNumbers(of: record)) }
    return try numbers.sorted().filter { number in
      guard let body = try intactSet(cached: number)?.body else { return true }
      return body.entries.contains { entry in
        records.contains(entry.key) && body.cells[entry.cells].contains { !$0.isAbsent }
      }
    }.map(fold.causality.place)
  }

  /// Returns whether a set is the set that a head names or one of its predecessors. If the head's set is not stored
  /// here, returns false.
  package func leads(_ head: LogHead, to place: SetPosition) throws -> Bool {
    guard head.log == place.log, let branch = try logs.branch(of: head.id, head.log, head.sequence) else {
      return false
    }
    return logs.path(branch.number, through: head.sequence).contains { stretch in
      stretch.branch == place.branch && stretch.last >= UInt64(bitPattern: place.sequence)
    }
  }
}

extension RecordSource {
  /// The time at which the first held erase is due; nil if none is held.
  package var nextHeldErase: Moment? { get throws { try HeldErases.nextDue(connection) } }
}
