// Sources/store.md, "A damaged change set"

package import LogStorage
package import RecordTables
package import Replication
import SQLite
package import Wire

/// Handling of change sets whose stored bytes the disk has altered. A damaged set is remembered. It is neither folded
/// nor sent, and its bytes are replaced when a peer sends the same set again. Nothing else in the log depends on its
/// bytes: its id, clock, position and the size of the log are columns of their own.
extension Store {
  /// The known damaged sets, sorted by log.
  package var damagedSets: [DamagedSet] { damage.sorted }

  /// Returns a stored set; nil if its bytes no longer match what was verified when it was received. In that case, the
  /// damage is remembered.
  func intactSet(_ number: Int64) throws -> VerifiedChangeSet? {
    do { return try storedSet(number) } catch StoreError.damagedSet { return nil }
  }

  /// Remembers that a set is damaged.
  func noteDamaged(_ number: Int64, isUnfolded: Bool = false) throws {
    damage.add(DamagedSet(try fold.causality.place(number), isUnfolded: isUnfolded))
    // Within a transaction, the list is saved when the transaction commits. Outside of a transaction, a failure to save
    // is ignored, because the next read finds the damage again.
    if !connection.isInTransaction { try? damage.save(connection) }
  }

  // MARK: Position without bytes

  /// Returns the header of a damaged set: its own header if that is intact, otherwise a header reconstructed from the
  /// tables. A reconstructed header has the content `.unknown`, and its `logBytes` includes the set.
  func positionHeader(_ number: Int64) throws -> ChangeSetHeader {
    let place = try fold.causality.place(number)
    let (bytes, operation, logBytes) = try connection.with(
      "SELECT header, operation, log_bytes FROM change_sets WHERE number = ?1"
    ) {
      row in
      try row.bind(1, number)
      return try row.step() ? (row.bytes(0), row.bytes(1), row.integer(2)) : ([], [], 0)
    }
    if let header = Self.header(bytes, place.origin.stamp.set) { return header }
    let sequence = UInt64(bitPattern: place.sequence)
    let below = sequence > 1 ? logs.path(place.branch, through: sequence - 1).first : nil
    return ChangeSetHeader(
      circle: CircleID(.zero), log: place.log, sequence: sequence,
      previous: try below.flatMap { try id($0.branch, $0.last) },
      clock: place.origin.stamp.clock, dependencies: try declaredDependencies(place),
      operation: OperationID(bytes: operation) ?? OperationID(.zero),
      logBytes: UInt64(bitPattern: logBytes), content: .unknown)
  }

  /// Decodes a header if it matches an id; returns nil otherwise.
  static func header(_ bytes: [UInt8], _ id: ChangeSetID) -> ChangeSetHeader? {
    ChangeSetID(header: bytes) == id ? try? ChangeSetHeader(decoding: bytes) : nil
  }

  private func declaredDependencies(_ place: SetPosition) throws -> [Dependency] {
    let sql = "SELECT dep_branch, dep_sequence FROM dependencies WHERE branch = ?1 AND sequence = ?2"
    return try connection.with(sql) { row in
      try row.bind(1, place.branch)
      try row.bind(2, place.sequence)
      var found: [Dependency] = []
      while try row.step() {
        let sequence = UInt64(bitPattern: row.integer(1))
        guard let log = logs[branch: row.integer(0)]?.log, let id = try id(row.integer(0), sequence) else {
          continue
        }
        found.append(
          Dependency(device: log.device, incarnation: log.incarnation, sequence: sequence, id: id))
      }
      return found.sorted()
    }
  }

  /// Returns the position headers of all sets whose own headers are damaged, for logs that are about to be rebuilt. If
  /// the signed bytes of a row are intact but belong to another id, the id column was damaged and is corrected.
  func damagedHeaders() throws -> [ChangeSetID: ChangeSetHeader] {
    let rows = try connection.with("SELECT number, id, header FROM change_sets") { row in
      var found: [(number: Int64, id: ChangeSetID)] = []
      while try row.step() {
        guard let id = ChangeSetID(bytes: row.bytes(1)) else { throw StoreError.damaged("bad change set id") }
        if ChangeSetID(header: row.bytes(2)) != id { found.append((row.integer(0), id)) }
      }
      return found
    }
    var headers: [ChangeSetID: ChangeSetHeader] = [:]
    for (number, id) in rows {
      if let raw = try rawSet(number), let set = try? VerifiedChangeSet(verifying: raw) {
        try connection.with("UPDATE change_sets SET id = ?2 WHERE number = ?1") { row in
          try row.bind(1, number)
          try row.bind(2, set.id.bytes)
          try row.run()
        }
      } else {
        headers[id] = try positionHeader(number)
        try noteDamaged(number)
      }
    }
    return headers
  }

  private func rawSet(_ number: Int64) throws -> RawChangeSet? {
    try connection.with("SELECT \(RawChangeSet.columns) FROM change_sets WHERE number = ?1") { row in
      try row.bind(1, number)
      return try row.step() ? RawChangeSet(row, at: 0) : nil
    }
  }

  /// Forgets damaged sets that have no position in the rebuilt logs.
  func forgetDamageInQuarantine() throws {
    for set in damage.sorted where try logs.stored(set.id, set.log, set.sequence) == nil {
      damage.remove(set.id)
    }
  }

  // MARK: Repair

  /// Replaces the bytes of a damaged set with those of the same set received again. Values that were erased here since
  /// are removed again.
  func replace(_ damaged: DamagedSet, by set: VerifiedChangeSet, _ report: inout CommitReport) throws {
    guard let branch = try logs.branch(of: set.id, damaged.log, damaged.sequence),
      let number = try logs.number(branch.number, damaged.sequence)
    else { return }
    if branch.sequence == damaged.sequence { try logs.complete(branch, logBytes: set.logBytes) }
    let sql = """
      UPDATE change_sets SET log_bytes = ?2, (\(RawChangeSet.columns)) = (?3, ?4, ?5, ?6) WHERE number = ?1
      """
    try connection.with(sql) { row in
      try row.bind(1, number)
      try row.bind(2, Int64(bitPattern: set.logBytes))
      try set.raw.bind(to: row, at: 3)
      try row.run()
    }
    forgetPast()
    damage.remove(set.id)
    try fold.redactAgain(set, at: fold.causality.place(number), &report)
  }

  /// Stores the positions of the missing sets that a set depends on, with the ids, logs and sequences that the set's
  /// header names. A position whose own predecessor is missing is not stored.
  package func keepAncestors(of header: ChangeSetHeader, horizon: Clock) throws {
    let missing = try logs.missingAncestors(of: header)
    if let previous = header.previous, missing.contains(previous) {
      try keepPosition(previous, header.log, header.sequence - 1, logBytes: header.logBytes, horizon)
    }
    for dependency in header.dependencies where missing.contains(dependency.id) {
      let log = dependency.log(lane: header.log.lane)
      try keepPosition(dependency.id, log, dependency.sequence, logBytes: nil, horizon)
    }
  }

  /// - Parameter logBytes: the declared bytes of the log through the set; nil if they are unknown.
  private func keepPosition(
    _ id: ChangeSetID, _ log: LogKey, _ sequence: UInt64, logBytes: UInt64?, _ horizon: Clock
  ) throws {
    let branch = logs[log].first { $0.sequence &+ 1 == sequence }
    guard sequence == 1 || branch != nil else { return }
    let previous = branch?.head
    let header = ChangeSetHeader(
      circle: CircleID(.zero), log: log, sequence: sequence, previous: previous?.id,
      // The earliest possible clock, so that the position precedes all sets that have seen it.
      clock: previous?.clock.next ?? Clock(raw: 1), dependencies: [], operation: OperationID(.zero),
      logBytes: logBytes ?? previous?.logBytes ?? 0, content: .unknown)
    _ = try keepDamaged(
      id, header, RawChangeSet(header: [], signature: [], plan: [], values: []), horizon: horizon)
  }

  /// If the predecessor of a set was kept without its bytes, takes over what the set's header states about it. The same
  /// author signed both. Without this, the set could not be placed, because it would seem to contradict its predecessor.
  func completePredecessor(of header: ChangeSetHeader) throws {
    guard let previous = header.previous, damage[previous] != nil,
      let branch = try logs.branch(of: previous, header.log, header.sequence - 1), branch.head.id == previous,
      let number = try logs.number(branch.number, branch.sequence),
      try rawSet(number)?.header.isEmpty == true
    else { return }
    // A header that stands in for another one does not know the size of the log before its set.
    if header.content != .unknown { try logs.complete(branch, logBytes: header.logBytes) }
  }

  /// Stores a set of which only the position is known because it was restored without its bytes. Thus the sets that
  /// follow it keep their positions, and peers are asked for the bytes.
  ///
  /// - Parameters:
  ///   - header: what is known of the set: its own signed header, or a header derived from other signed sets.
  ///   - raw: what remains of its bytes.
  /// - Returns: false if the set is already stored, or if its ancestors are not.
  package func keepDamaged(
    _ id: ChangeSetID, _ header: ChangeSetHeader, _ raw: RawChangeSet, horizon: Clock,
    holding: EraseHolding? = nil
  ) throws -> Bool {
    try atomically(holding) {
      guard try logs.stored(id, header.log, header.sequence) == nil, try logs.hasAncestors(header) else {
        return false
      }
      try completePredecessor(of: header)
      let place = try logs.append(header, id, raw, logs.isEnded(header.log) ? .held : .waits)
      damage.add(DamagedSet(place, isUnfolded: false))
      var report = CommitReport()
      var moved: Set<LogKey> = [header.log]
      try foldWaiting(horizon, &report, &moved)
      try finish(&report)
      return true
    }
  }

  // MARK: Checking

  /// The result of one step in a check of the stored sets.
  package struct CheckedStretch: Sendable {
    /// The number of the last set that was checked; nil if no set was left to check.
    package var last: Int64?
    package var count = 0
    package var damaged = 0
  }

  /// Verifies the hashes and signatures of the stored sets after a number, up to the given limits. Damaged sets are
  /// remembered.
  package func check(after number: Int64, setsMax: Int, bytesMax: Int) throws -> CheckedStretch {
    let sql = """
      SELECT number, id, \(RawChangeSet.columns) FROM change_sets WHERE number > ?1 ORDER BY number LIMIT ?2
      """
    var stretch = CheckedStretch()
    var damaged: [Int64] = []
    try connection.with(sql) { row in
      try row.bind(1, number)
      try row.bind(2, setsMax)
      var bytes = 0
      while bytes < bytesMax, try row.step() {
        let raw = RawChangeSet(row, at: 2)
        stretch.last = row.integer(0)
        stretch.count += 1
        bytes += raw.byteCount
        let id = ChangeSetID(bytes: row.bytes(1))
        if id.map({ raw.isIntact(as: $0) }) != true { damaged.append(row.integer(0)) }
      }
    }
    for number in damaged { try noteDamaged(number) }
    stretch.damaged = damaged.count
    return stretch
  }

  /// Reads sets again that another reader of the database has found damaged, and remembers those that are.
  package func checkAgain(_ sets: [DamagedSet]) throws {
    for set in sets {
      guard let branch = try logs.branch(of: set.id, set.log, set.sequence),
        let number = try logs.number(branch.number, set.sequence)
      else { continue }
      _ = try check(after: number - 1, setsMax: 1, bytesMax: .max)
    }
  }
}
