// Protocol/change-set.md, "Causal closure"

package import Replication
import SQLite
import Wire

/// Lookups of parked sets, which run after each commit. Usually no set is parked at all. But a member can send any
/// number of sets with future clocks, so the lookups must not scan.
extension RecordSource {
  /// The clock of the parked set that is due first; nil if none is parked.
  package var nextParkedClock: Clock? {
    get throws { try earliestParked("clock >= ?1", 0) ?? earliestParked("clock < ?1", 0) }
  }

  /// Returns the clock of the parked set that is due first after a horizon up to which everything possible has been
  /// folded. Returns nil if no parked set is waiting for its time. Parked sets below the horizon wait for other sets,
  /// which no timer can bring.
  package func nextParkedClock(after horizon: Clock) throws -> Clock? {
    if horizon.isLate { return try earliestParked("clock < 0 AND clock > ?1", horizon.stored) }
    return try earliestParked("clock > ?1", horizon.stored) ?? earliestParked("clock < ?1", 0)
  }

  private func earliestParked(_ range: String, _ bound: Int64) throws -> Clock? {
    let sql = """
      SELECT clock FROM change_sets INDEXED BY change_sets_parked_by_clock WHERE folded = 0 AND \(range)
      ORDER BY clock LIMIT 1
      """
    return try connection.with(sql) { row in
      try row.bind(1, bound)
      return try row.step() ? Clock(raw: UInt64(bitPattern: row.integer(0))) : nil
    }
  }

}

extension Store {
  /// Returns the numbers of the parked sets with a clock up to the horizon, ascending.
  func parkedNumbers(through horizon: Clock) throws -> [Int64] {
    let sql = """
      SELECT number FROM change_sets INDEXED BY change_sets_parked_by_clock
      WHERE folded = 0 AND \(horizon.isLate ? "(clock >= 0 OR clock <= ?1)" : "clock BETWEEN 0 AND ?1")
      ORDER BY number
      """
    return try connection.with(sql) { row in
      try row.bind(1, horizon.stored)
      var numbers: [Int64] = []
      while try row.step() { numbers.append(row.integer(0)) }
      return numbers
    }
  }

  // MARK: Sets folded ahead of time

  /// Returns our own folded sets with a clock beyond the horizon. Our own sets are never parked, however far our clock
  /// was ahead when they were written.
  func ownFoldedEarly(_ horizon: Clock) throws -> Set<ChangeSetID> {
    guard let device else { return [] }
    let sql = """
      SELECT id FROM change_sets WHERE folded = 1 AND \(horizon.isBefore)
      AND branch IN (SELECT branch FROM branches WHERE device = ?2)
      """
    return try connection.with(sql) { row in
      try row.bind(1, horizon.stored)
      try row.bind(2, device.bytes)
      var ids: Set<ChangeSetID> = []
      while try row.step() { if let id = ChangeSetID(bytes: row.bytes(0)) { ids.insert(id) } }
      return ids
    }
  }

  /// Returns the numbers of those given sets that are parked with a clock beyond the horizon.
  func parkedNumbers(of ids: Set<ChangeSetID>, beyond horizon: Clock) throws -> [Int64] {
    guard !ids.isEmpty else { return [] }
    let sql = "SELECT number, id FROM change_sets WHERE folded = 0 AND \(horizon.isBefore)"
    return try connection.with(sql) { row in
      try row.bind(1, horizon.stored)
      var numbers: [Int64] = []
      while try row.step() {
        if let id = ChangeSetID(bytes: row.bytes(1)), ids.contains(id) { numbers.append(row.integer(0)) }
      }
      return numbers
    }
  }
}

/// Clocks are stored as signed numbers; negative numbers are the latest clocks.
extension Clock {
  fileprivate var stored: Int64 { Int64(bitPattern: raw) }

  fileprivate var isLate: Bool { stored < 0 }

  /// An SQL condition that holds if the clock of a set is beyond this clock, which is bound as `?1`.
  fileprivate var isBefore: String { isLate ? "clock < 0 AND clock > ?1" : "(clock < 0 OR clock > ?1)" }
}
