// Protocol/circle.md, "Revoking a device"

import LogStorage
import RecordTables
package import Replication
import SQLite
package import Wire

extension Store {
  /// Returns the present state of all records that a device has written to, whether or not a cut will exclude the
  /// writes.
  package func states(writtenBy device: DeviceKey) throws -> [RecordKey: WantedRecord] {
    var numbers: [Int64] = []
    let sql = """
      SELECT c.number FROM change_sets c JOIN branches b ON b.branch = c.branch
      WHERE b.device = ?1 AND c.folded = 1 ORDER BY c.number
      """
    try connection.with(sql) { row in
      try row.bind(1, device.bytes)
      while try row.step() { numbers.append(row.integer(0)) }
    }
    var found: [RecordKey: WantedRecord] = [:]
    for record in try records(touchedBy: try numbers.map(fold.causality.place)) {
      found[record] = WantedRecord(try state(of: record))
    }
    return found
  }

  /// Plans the entries that bring records back to earlier states.
  package func plan(_ wanted: [RecordKey: WantedRecord], now: Int64) throws -> ChangePlan {
    var plan = ChangePlan(now: now)
    for (record, wanted) in wanted.sorted(by: { $0.key < $1.key }) {
      try plan.bring(record, from: try state(of: record), to: wanted)
    }
    return plan
  }
}
