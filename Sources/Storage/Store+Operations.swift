// Protocol/merge.md, "Operations and undo"

package import LogStorage
import RecordTables
import Records
package import Replication
import SQLite
package import Wire

extension Store {
  /// Returns folded operations, newest first: those of one device, or of all devices if `device` is nil.
  package func operations(of device: DeviceKey? = nil, limit: Int) throws -> [Operation] {
    var walk = OperationWalk(self, of: device)
    var found: [Operation] = []
    while found.count < limit, let operation = try walk.next() { found.append(operation) }
    return found
  }

  /// Returns the operation of the newest folded set before a position, together with that set's position; nil if there
  /// is none.
  fileprivate func operation(
    of device: DeviceKey?, before position: (clock: Int64, number: Int64)
  ) throws -> ((clock: Int64, number: Int64), OperationKey)? {
    let sql = """
      SELECT c.clock, c.number, c.operation, b.device
      FROM change_sets c JOIN branches b ON b.branch = c.branch
      WHERE c.folded = 1 AND (c.clock, c.number) < (?1, ?2) AND (?3 IS NULL OR b.device = ?3)
      ORDER BY c.clock DESC, c.number DESC LIMIT 1
      """
    return try connection.with(sql) { row in
      try row.bind(1, position.clock)
      try row.bind(2, position.number)
      try row.bind(3, device.map { .blob($0.bytes) } ?? .null)
      guard try row.step() else { return nil }
      return ((row.integer(0), row.integer(1)), try Self.operationKey(row, 2))
    }
  }

  /// Returns an operation; nil if it has no set that is folded and undamaged.
  package func operation(_ key: OperationKey) throws -> Operation? {
    let sql = """
      SELECT c.number FROM change_sets c JOIN branches b ON b.branch = c.branch
      WHERE c.operation = ?1 AND b.device = ?2 AND c.folded = 1 ORDER BY c.number
      """
    let numbers = try connection.with(sql) { row in
      try row.bind(1, key.id.bytes)
      try row.bind(2, key.device.bytes)
      var numbers: [Int64] = []
      while try row.step() { numbers.append(row.integer(0)) }
      return numbers
    }
    // Every set of an operation contains the verb, so the first intact one is enough. An operation without an intact
    // set is not reported.
    for number in numbers {
      guard let body = try intactSet(cached: number)?.body else { continue }
      return Operation(
        key: key, verb: body.verb, target: body.target, sets: try numbers.map(fold.causality.place))
    }
    return nil
  }

  /// Returns whether any set of an operation is stored, even if it is parked.
  package func isWritten(_ key: OperationKey) throws -> Bool {
    let sql = """
      SELECT 1 FROM change_sets c JOIN branches b ON b.branch = c.branch
      WHERE c.operation = ?1 AND b.device = ?2 LIMIT 1
      """
    return try connection.with(sql) { row in
      try row.bind(1, key.id.bytes)
      try row.bind(2, key.device.bytes)
      return try row.step()
    }
  }

  /// Returns the operation that a stored set belongs to.
  package func operationKey(of place: SetPosition) throws -> OperationKey {
    let sql = "SELECT operation FROM change_sets WHERE number = ?1"
    return try connection.with(sql) { row in
      try row.bind(1, place.origin.number)
      guard try row.step(), let id = OperationID(bytes: row.bytes(0)) else {
        throw StoreError.damaged("change set \(place.origin.number) is missing")
      }
      return OperationKey(id: id, device: place.log.device)
    }
  }

  /// Returns the folded operations with an id. There is only one unless another device has used the same id.
  package func operations(named id: OperationID) throws -> [Operation] {
    try operations(prefix: id.description, limit: Limits.devicesMax)
  }

  /// Returns the folded operations whose id begins with the given hexadecimal digits, sorted by id; at most `limit`.
  package func operations(prefix: String, limit: Int) throws -> [Operation] {
    guard let (first, last) = Select.range(prefix) else { return [] }
    let sql = """
      SELECT DISTINCT c.operation, b.device FROM change_sets c JOIN branches b ON b.branch = c.branch
      WHERE c.operation BETWEEN ?1 AND ?2 AND c.folded = 1 ORDER BY 1, 2 LIMIT ?3
      """
    let keys = try connection.with(sql) { row in
      try row.bind(1, first)
      try row.bind(2, last)
      try row.bind(3, limit)
      var keys: [OperationKey] = []
      while try row.step() { keys.append(try Self.operationKey(row, 0)) }
      return keys
    }
    return try keys.compactMap(operation)
  }

  /// Returns the operations that undo an operation.
  package func undos(of operation: OperationID) throws -> [Operation] {
    let sql = "SELECT operation, device FROM undos WHERE target = ?1 ORDER BY operation, device"
    let keys = try connection.with(sql) { row in
      try row.bind(1, operation.bytes)
      var keys: [OperationKey] = []
      while try row.step() { keys.append(try Self.operationKey(row, 0)) }
      return keys
    }
    return try keys.compactMap(self.operation)
  }

  private static func operationKey(_ row: borrowing Statement, _ column: Int) throws -> OperationKey {
    guard let id = OperationID(bytes: row.bytes(column)), let device = DeviceKey(bytes: row.bytes(column + 1))
    else { throw StoreError.damaged("the id of an operation is invalid") }
    return OperationKey(id: id, device: device)
  }

  // MARK: Entries

  /// Passes the entries of sets to `body`, set by set in the given order. Damaged sets are skipped.
  package func forEachEntry(
    of sets: [SetPosition], _ body: (Entry, ChangeSetBody, SetPosition) throws -> Void
  ) throws {
    for place in sets {
      guard let set = try intactSet(cached: place.origin.number) else { continue }
      for entry in set.body.entries { try body(entry, set.body, place) }
    }
  }

  /// Returns the records that the given sets write to, sorted.
  package func records(touchedBy sets: [SetPosition]) throws -> [RecordKey] {
    var records: Set<RecordKey> = []
    try forEachEntry(of: sets) { entry, _, _ in records.insert(entry.key) }
    return records.sorted()
  }

  /// Returns the folded sets of a lane that lie beyond a given sequence in their log, in causal order.
  package func sets(_ lane: Lane, outside cut: [LogKey: UInt64]) throws -> [SetPosition] {
    var places: [SetPosition] = []
    let sql = """
      SELECT number FROM change_sets WHERE branch = ?1 AND sequence > ?2 AND folded = 1 ORDER BY sequence
      """
    for branch in logs.branches(lane) {
      try connection.with(sql) { row in
        try row.bind(1, branch.number)
        try row.bind(2, Int64(bitPattern: cut[branch.log] ?? 0))
        while try row.step() { places.append(try fold.causality.place(row.integer(0))) }
      }
    }
    return places.sorted { $0.origin.number < $1.origin.number }
  }

  /// Returns whether the causal past of one folded set includes another folded set.
  package func covers(_ later: SetPosition, _ earlier: SetPosition) throws -> Bool {
    try fold.causality.covers(later.origin.number, earlier.origin.number)
  }

  /// Does the same as `intactSet(_:)`, but keeps the decoded set in a cache for later queries.
  func intactSet(cached number: Int64) throws -> VerifiedChangeSet? {
    do { return try cachedSet(number) } catch StoreError.damagedSet { return nil }
  }

  /// Returns the sequence of a branch's newest set in the causal past of a folded set; 0 if there is none.
  package func newestSeen(by place: SetPosition, of branch: Int64) throws -> Int64 {
    place.branch == branch
      ? place.sequence : try fold.causality.newestSeen(place.branch, sequence: place.sequence, of: branch)
  }

  /// Returns a stored set and keeps the decoded set in a cache for later queries.
  func cachedSet(_ number: Int64) throws -> VerifiedChangeSet {
    if let known = setCache.sets[number] { return known }
    let set = try storedSet(number)
    setCache.add(set, number)
    return set
  }
}

/// Iterates over the folded operations of one device, or of all devices, newest first.
package struct OperationWalk {
  private let store: Store
  private let device: DeviceKey?
  private var seen: Set<OperationKey> = []
  private var position: (clock: Int64, number: Int64) = (.max, .max)

  package init(_ store: Store, of device: DeviceKey? = nil) {
    (self.store, self.device) = (store, device)
  }

  /// Returns the next operation; nil at the end.
  package mutating func next() throws -> Operation? {
    while let (next, key) = try store.operation(of: device, before: position) {
      position = next
      guard seen.insert(key).inserted, let operation = try store.operation(key) else { continue }
      return operation
    }
    return nil
  }
}

/// A cache of decoded sets. Queries about an import need the same few sets for each of its records.
struct SetCache {
  private(set) var sets: [Int64: VerifiedChangeSet] = [:]
  private var bytes = 0

  mutating func add(_ set: VerifiedChangeSet, _ number: Int64) {
    if bytes > Self.bytesMax { self = SetCache() }
    sets[number] = set
    bytes += set.raw.byteCount
  }

  private static let bytesMax = 16 << 20
}
