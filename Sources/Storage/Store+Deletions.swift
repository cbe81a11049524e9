package import LogStorage
package import RecordTables
import Records
package import Replication
import SQLite
package import Wire

/// The records that the deletions of one operation hid in one batch.
package struct DeletedRecords: Sendable {
  package let operation: OperationKey
  package let clock: Clock
  /// The number of records of each kind that were visible before: the deleted records and their descendants.
  package var records: [KindNumber: Int]

  package init(operation: OperationKey, clock: Clock, records: [KindNumber: Int] = [:]) {
    self.operation = operation
    self.clock = clock
    self.records = records
  }
}

extension Store {
  /// The number of the newest stored set.
  package var newestNumber: Int64 { logs.lastNumber }

  /// Returns the records that a batch hid, grouped by operation. Erased records are left out: an undo does not bring
  /// them back, and mass erases are held (`massErases`).
  ///
  /// - Parameters:
  ///   - own: the device whose operations are left out.
  ///   - seen: for each lane, the newest set whose effect the user of this device can have seen. Records that later
  ///     sets brought to life don't count, unless this device wrote those sets.
  package func deletions(
    _ report: CommitReport, exceptBy own: DeviceKey, seen: [Lane: Int64]
  ) throws -> [DeletedRecords] {
    var deletions: [OperationKey: DeletedRecords] = [:]
    var keys: [Int64: OperationKey] = [:]
    for (record, death) in report.deaths {
      let deletion = try fold.causality.origin(death.by).stamp
      guard deletion.device != own, try wasSeen(record, death, own, seen),
        try wasVisible(record, report.deaths), try !fold.erasures.numbers(of: record).contains(death.by)
      else { continue }
      let key = try keys[death.by] ?? operationKey(ofSet: death.by, by: deletion.device)
      keys[death.by] = key
      var found = deletions[key] ?? DeletedRecords(operation: key, clock: deletion.clock)
      found.records[record.kind, default: 0] += 1
      try addLiving(below: record, to: &found.records)
      deletions[key] = found
    }
    return deletions.values.sorted { ($0.clock, $0.operation.id) < ($1.clock, $1.operation.id) }
  }

  private func wasSeen(
    _ record: RecordKey, _ death: Death, _ own: DeviceKey, _ seen: [Lane: Int64]
  ) throws -> Bool {
    if death.since <= seen[record.kind.lane] ?? 0 { return true }
    return try fold.causality.origin(death.since).stamp.device == own
  }

  /// Returns whether all ancestors of a record were alive before the batch.
  private func wasVisible(_ record: RecordKey, _ deaths: [RecordKey: Death]) throws -> Bool {
    var next = try parent(of: record)
    while let above = next {
      guard let row = try fold.table(above.kind).row(above.id) else { return false }
      guard row.life == true || deaths[above] != nil else { return false }
      next = schema.kind(above.kind)?.parent(of: row)
    }
    return true
  }

  private func parent(of record: RecordKey) throws -> RecordKey? {
    guard let kind = schema.kind(record.kind), kind.parent != nil,
      let row = try fold.table(record.kind).row(record.id)
    else { return nil }
    return kind.parent(of: row)
  }

  /// Counts the living descendants of a record, which are hidden with it.
  private func addLiving(below record: RecordKey, to counts: inout [KindNumber: Int]) throws {
    for child in schema.children(of: record.kind) {
      counts[child.number, default: 0] += try liveCount(below: record, child.number)
      guard schema.canHaveChildren(child.number), let condition = child.belongs(to: record.kind) else {
        continue
      }
      let sql = "SELECT id FROM \(child.table) WHERE \(condition) AND life = 1"
      let ids = try connection.with(sql) { row in
        try row.bind(1, bigEndian: record.id.raw.word0, record.id.raw.word1)
        var ids: [RecordID] = []
        while try row.step() { if let id = RecordID(bytes: row.bytes(0)) { ids.append(id) } }
        return ids
      }
      for id in ids { try addLiving(below: RecordKey(kind: child.number, id: id), to: &counts) }
    }
  }

  private func liveCount(below record: RecordKey, _ kind: KindNumber) throws -> Int {
    let sql = "SELECT live FROM child_counts WHERE parent_kind = ?1 AND parent = ?2 AND kind = ?3"
    return try connection.with(sql) { row in
      try row.bind(1, Int(record.kind.rawValue))
      try row.bind(2, bigEndian: record.id.raw.word0, record.id.raw.word1)
      try row.bind(3, Int(kind.rawValue))
      return try row.step() ? Int(row.integer(0)) : 0
    }
  }

  private func operationKey(ofSet number: Int64, by device: DeviceKey) throws -> OperationKey {
    try connection.with("SELECT operation FROM change_sets WHERE number = ?1") { row in
      try row.bind(1, number)
      guard try row.step(), let id = OperationID(bytes: row.bytes(0)) else {
        throw StoreError.damaged("change set \(number) is missing")
      }
      return OperationKey(id: id, device: device)
    }
  }
}
