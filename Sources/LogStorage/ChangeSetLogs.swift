// Sources/store.md, "Log"

package import Replication
package import SQLite
package import Wire

/// The change sets by log: the tables that hold them, and an in-memory copy of each branch's state.
///
/// A log has one branch until its author forks it. The set that arrives first for a position stays in the existing
/// branch. A set that arrives later for the same position starts a new branch; its parent branch holds the common
/// ancestors of both sets. Stores may therefore differ in which branch is the parent, but the paths from the tips to
/// the first set are the same everywhere.
package final class ChangeSetLogs: LogIndex {
  let connection: Connection
  private let insertSet: Statement
  private let insertBranch: Statement
  private let insertDependency: Statement
  private let select: Statement
  private let newestDeclared: Statement
  private let markFolded: Statement
  private(set) var branches: [Int64: Branch] = [:]
  private var byLog: [LogKey: [Int64]] = [:]
  /// The number of branches of each tree.
  package private(set) var treeBranches: [LogTree: Int] = [:]
  /// The direct child branches of a branch.
  private(set) var children: [Int64: [Int64]] = [:]
  /// The branch of each set, for those forked logs that have been queried; see ChangeSetLogs+Forks.swift.
  var located: [LogKey: [ChangeSetID: Int64]] = [:]
  /// The cuts of each log that has been queried; see ChangeSetLogs+Cuts.swift.
  package var cuts: [LogKey: LogCuts?] = [:]
  /// Returns how the circle's statements end a log; nil for a log that they don't end.
  package var cutRule: (LogKey) -> LogEnd? = { _ in nil }
  /// Returns the bytes that a device may write in a lane, according to the circle's statements.
  package var quotaRule: (DeviceKey, Lane) -> UInt64 = standardQuota
  package private(set) var lastNumber: Int64 = 0
  /// For each branch whose head has moved in this transaction, its previous head; nil for a new branch.
  private var before: [Int64: LogHead?] = [:]
  /// The heads that existed before all logs were emptied in this transaction.
  private var retired: [LogHead] = []

  /// A read error in a function that can't throw. Anything decided after the error must not be committed.
  private(set) var failure: (any Error)?

  /// In-memory state captured before a transaction, for rollback.
  package struct RollbackState {
    fileprivate let branches: [Int64: Branch]
    fileprivate let byLog: [LogKey: [Int64]]
    fileprivate let treeBranches: [LogTree: Int]
    fileprivate let children: [Int64: [Int64]]
    fileprivate let lastNumber: Int64
  }

  package init(_ connection: Connection) throws {
    self.connection = connection
    insertSet = try connection.prepare(
      """
      INSERT INTO change_sets(
        number, id, branch, sequence, clock, operation, folded, log_bytes, header, signature, plan,
        field_values)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
      """)
    insertBranch = try connection.prepare(
      """
      INSERT INTO branches(device, incarnation, lane, first_sequence, first_id, parent)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      """)
    insertDependency = try connection.prepare(
      """
      INSERT INTO dependencies(branch, dep_branch, sequence, dep_sequence) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT DO UPDATE SET dep_sequence = max(dep_sequence, excluded.dep_sequence)
      """)
    select = try connection.prepare(
      "SELECT \(Self.positionColumns) FROM change_sets WHERE branch = ?1 AND sequence = ?2")
    newestDeclared = try connection.prepare(
      """
      SELECT dep_sequence FROM dependencies WHERE branch = ?1 AND dep_branch = ?2 AND sequence <= ?3
      ORDER BY sequence DESC LIMIT 1
      """)
    markFolded = try connection.prepare("UPDATE change_sets SET folded = 1 WHERE number = ?1")
    try reload()
  }

  package var rollbackState: RollbackState {
    RollbackState(
      branches: branches, byLog: byLog, treeBranches: treeBranches, children: children, lastNumber: lastNumber
    )
  }

  /// Restores the state captured before a transaction. It does not read the disk, because the disk may be what failed.
  package func restore(_ state: RollbackState) {
    (branches, byLog, children) = (state.branches, state.byLog, state.children)
    treeBranches = state.treeBranches
    lastNumber = state.lastNumber
    located = [:]
    cuts = [:]
    before = [:]
    retired = []
    failure = nil
  }

  func noteFailure(_ error: any Error) { failure = error }

  /// Throws the read error noted since the last call, if there was one.
  package func expectAllRead() throws {
    guard let failure else { return }
    self.failure = nil
    throw failure
  }

  /// Reloads the in-memory state from the tables.
  package func reload() throws {
    branches = [:]
    byLog = [:]
    treeBranches = [:]
    children = [:]
    located = [:]
    cuts = [:]
    before = [:]
    lastNumber = try connection.with("SELECT coalesce(max(number), 0) FROM change_sets") {
      try $0.step() ? $0.integer(0) : 0
    }
    // Parents have lower numbers than their children.
    let sql = """
      SELECT branch, device, incarnation, lane, first_sequence, parent FROM branches ORDER BY branch
      """
    try connection.with(sql) { row in
      while try row.step() {
        guard let device = DeviceKey(bytes: row.bytes(1)), let incarnation = Incarnation(bytes: row.bytes(2)),
          let lane = Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(3)))
        else { throw StoreError.damaged("branch \(row.integer(0)) has an invalid log") }
        let log = LogKey(device: device, incarnation: incarnation, lane: lane)
        try loadBranch(
          row.integer(0), log, first: UInt64(bitPattern: row.integer(4)),
          parent: row.isNull(5) ? nil : row.integer(5))
      }
    }
  }

  private func loadBranch(
    _ number: Int64, _ log: LogKey, first: UInt64, parent: Int64?
  ) throws {
    let newest = "SELECT \(Self.positionColumns), sequence FROM change_sets WHERE branch = ?1"
    let backwards = " ORDER BY sequence DESC LIMIT 1"
    func position(_ sql: String) throws -> (StoredPosition, UInt64)? {
      try connection.with(sql) { row in
        try row.bind(1, number)
        guard try row.step() else { return nil }
        return (try Self.position(row), UInt64(bitPattern: row.integer(4)))
      }
    }
    guard let (head, sequence) = try position(newest + backwards) else { return }
    var folded = head.isFolded ? (head, sequence) : try position(newest + " AND folded = 1" + backwards)
    if folded == nil, let parent { folded = try foldedBelow(first, onParent: parent) }
    add(
      Branch(
        number: number, log: log, first: first, parent: parent, head: head, sequence: sequence,
        folded: folded?.0, foldedSequence: folded?.1 ?? 0))
  }

  /// Returns the newest folded set below a sequence on the path through a parent branch; nil if there is none.
  private func foldedBelow(
    _ first: UInt64, onParent number: Int64
  ) throws -> (StoredPosition, UInt64)? {
    guard let parent = branches[number], let folded = parent.folded else { return nil }
    guard parent.foldedSequence >= first else { return (folded, parent.foldedSequence) }
    var below: Int64?
    eachStretch(of: number, through: first - 1) { stretch in
      below = stretch.branch
      return false
    }
    guard let below else { return nil }
    return try position(below, first - 1).map { ($0, first - 1) }
  }

  private func add(_ branch: Branch) {
    if branches.updateValue(branch, forKey: branch.number) == nil {
      byLog[branch.log, default: []].append(branch.number)
      treeBranches[branch.log.tree, default: 0] += 1
      if let parent = branch.parent { children[parent, default: []].append(branch.number) }
    }
  }

  private static let positionColumns = "id, clock, folded, log_bytes"

  private static func position(_ row: borrowing Statement) throws -> StoredPosition {
    guard let id = ChangeSetID(bytes: row.bytes(0)) else {
      throw StoreError.damaged("the id of a change set is invalid")
    }
    return StoredPosition(
      id: id, clock: Clock(raw: UInt64(bitPattern: row.integer(1))),
      isFolded: row.integer(2) == FoldState.folded.rawValue,
      logBytes: UInt64(bitPattern: row.integer(3)))
  }

  // MARK: Moves

  private func noteMove(_ number: Int64) {
    if before[number] == nil { before.updateValue(branches[number]?.logHead, forKey: number) }
  }

  /// Records the current heads as gone. Call it before all logs are emptied and filled again in another order.
  package func retireAll() {
    for branch in branches.values {
      if let head = before[branch.number] ?? branch.logHead { retired.append(head) }
    }
    before = [:]
  }

  /// Returns the heads that moved in this transaction, and the heads that they replaced. For a forked log, neither list
  /// includes branches that did not move.
  package func takeMoves() -> (moved: [LogHead], gone: [LogHead]) {
    let moved = before.keys.compactMap { branches[$0]?.logHead }
    let gone = retired + before.values.compactMap(\.self)
    before = [:]
    retired = []
    return (moved.sorted(by: Heads.isBefore), gone.sorted(by: Heads.isBefore))
  }

  // MARK: Lookups

  /// The branches of a log, ordered by number. There is only one unless the log has forked.
  package subscript(log: LogKey) -> [Branch] { (byLog[log] ?? []).compactMap { branches[$0] } }

  package subscript(branch number: Int64) -> Branch? { branches[number] }

  /// Every log with a stored set.
  package var all: [LogKey] { byLog.keys.sorted() }

  /// Returns the branches of a lane, sorted by log.
  package func branches(_ lane: Lane) -> [Branch] {
    branches.values.filter { $0.log.lane == lane }
      .sorted { ($0.log, $0.number) < ($1.log, $1.number) }
  }

  /// Returns the number of branches of a log: one, unless the log has forked.
  package func branchCount(_ log: LogKey) -> Int { byLog[log]?.count ?? 0 }

  package func stored(_ id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> StoredPosition? {
    guard let branch = try branch(holding: id, log), sequence >= branch.first, sequence <= branch.sequence,
      let found = try position(branch.number, sequence), found.id == id
    else { return nil }
    return found
  }

  /// Returns the branch that holds a set; nil if the set is not stored.
  package func branch(of id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Branch? {
    try stored(id, log, sequence) == nil ? nil : branch(holding: id, log)
  }

  private func position(_ number: Int64, _ sequence: UInt64) throws -> StoredPosition? {
    guard let branch = branches[number] else { return nil }
    if sequence == branch.sequence { return branch.head }
    if sequence == branch.foldedSequence, sequence >= branch.first, let folded = branch.folded {
      return folded
    }
    try select.bind(1, number)
    try select.bind(2, Int64(bitPattern: sequence))
    defer { select.reset() }
    return try select.step() ? try Self.position(select) : nil
  }

  /// Returns the number of the set that competes with `set` for its position; nil unless `set` has just started a
  /// branch.
  package func sibling(of set: VerifiedChangeSet, at place: SetPosition) throws -> Int64? {
    guard let branch = branches[place.branch], branch.first == set.header.sequence else { return nil }
    return try sibling(of: branch)
  }

  /// Returns the number of a set in another branch at the position of a branch's first set; nil if the log does not
  /// fork there.
  package func sibling(of branch: Branch) throws -> Int64? {
    // The parent holds a set at that position; otherwise the set would have been appended to the parent itself.
    let other = branch.parent ?? byLog[branch.log]?.first
    guard let other, other != branch.number else { return nil }
    return try number(other, branch.first)
  }

  /// Returns the number of the set at a sequence of a branch, excluding the branch's parents; nil if there is none.
  package func number(_ branch: Int64, _ sequence: UInt64) throws -> Int64? {
    try connection.with("SELECT number FROM change_sets WHERE branch = ?1 AND sequence = ?2") { row in
      try row.bind(1, branch)
      try row.bind(2, Int64(bitPattern: sequence))
      return try row.step() ? row.integer(0) : nil
    }
  }

  /// Reads a stored set.
  ///
  /// - Throws: `StoreError.damagedSet` if its bytes have changed since the set was verified on receipt.
  package static func storedSet(_ number: Int64, _ connection: Connection) throws -> VerifiedChangeSet {
    let sql = "SELECT id, \(RawChangeSet.columns) FROM change_sets WHERE number = ?1"
    return try connection.with(sql) { row in
      try row.bind(1, number)
      guard try row.step(), let id = ChangeSetID(bytes: row.bytes(0)) else {
        throw StoreError.damaged("change set \(number) is missing")
      }
      do { return try VerifiedChangeSet(stored: RawChangeSet(row, at: 1), id: id) } catch {
        throw StoreError.damagedSet(number: number)
      }
    }
  }

  // MARK: Changes

  /// Stores a set whose placement has been decided. Its dependencies must already be stored, or excluded by a cut.
  package func append(_ set: VerifiedChangeSet, _ state: FoldState) throws -> SetPosition {
    try append(set.header, set.id, set.raw, state)
  }

  /// Does the same for a set whose bytes may be damaged.
  package func append(
    _ header: ChangeSetHeader, _ id: ChangeSetID, _ raw: RawChangeSet, _ state: FoldState
  ) throws -> SetPosition {
    var branch = try branchEnding(before: header, id)
    noteMove(branch.number)
    let number = lastNumber + 1
    let position = StoredPosition(
      id: id, clock: header.clock, isFolded: state == .folded,
      logBytes: header.logBytesThroughSet(headerBytes: raw.header.count))
    try bind(header, position, raw, number: number, branch: branch.number, state)
    _ = try insertSet.run(borrowing: raw.values) { statement, bytes throws(SQLiteError) in
      try statement.bindBlob(12, bytes, 0..<raw.values.count)
      return true
    }
    try insertDependencies(header, branch: branch.number)
    lastNumber = number
    branch.head = position
    branch.sequence = header.sequence
    if state == .folded {
      branch.folded = position
      branch.foldedSequence = header.sequence
    }
    add(branch)
    located[header.log]?[id] = branch.number
    noteTip(id, header.log, branch: branch.number, sequence: header.sequence)
    let stamp = Stamp(clock: header.clock, device: header.log.device, set: id)
    return SetPosition(
      origin: WriteOrigin(number: number, stamp: stamp), log: header.log, branch: branch.number,
      sequence: Int64(bitPattern: header.sequence))
  }

  /// Returns the branch that ends with a set's predecessor, or creates a branch if the set starts one.
  private func branchEnding(before header: ChangeSetHeader, _ id: ChangeSetID) throws -> Branch {
    guard let previous = header.previous else { return try newBranch(for: header, id, on: nil) }
    guard let parent = try branch(of: previous, header.log, header.sequence - 1) else {
      throw StoreError.damaged("the predecessor of a change set is missing")
    }
    return parent.sequence == header.sequence - 1 ? parent : try newBranch(for: header, id, on: parent)
  }

  private func newBranch(
    for header: ChangeSetHeader, _ id: ChangeSetID, on parent: Branch?
  ) throws -> Branch {
    var branch = Branch(
      number: 0, log: header.log, first: header.sequence, parent: parent?.number,
      head: StoredPosition(id: id, clock: header.clock, isFolded: false, logBytes: header.logBytes),
      sequence: header.sequence, folded: nil, foldedSequence: 0)
    if let parent, let folded = try foldedBelow(header.sequence, onParent: parent.number) {
      (branch.folded, branch.foldedSequence) = (folded.0, folded.1)
    }
    branch.number = try insert(branch)
    return branch
  }

  private func insert(_ branch: Branch) throws -> Int64 {
    try insertBranch.bind(1, branch.log.device.bytes)
    try insertBranch.bind(2, branch.log.incarnation.bytes)
    try insertBranch.bind(3, Int(branch.log.lane.rawValue))
    try insertBranch.bind(4, Int64(bitPattern: branch.first))
    try insertBranch.bind(5, branch.head.id.bytes)
    if let parent = branch.parent {
      try insertBranch.bind(6, parent)
    } else {
      try insertBranch.bindNull(6)
    }
    try insertBranch.run()
    return connection.lastInsertedRow
  }

  private func bind(
    _ header: ChangeSetHeader, _ position: StoredPosition, _ raw: RawChangeSet, number: Int64, branch: Int64,
    _ state: FoldState
  ) throws {
    try insertSet.bind(1, number)
    try insertSet.bind(2, position.id.bytes)
    try insertSet.bind(3, branch)
    try insertSet.bind(4, Int64(bitPattern: header.sequence))
    try insertSet.bind(5, Int64(bitPattern: header.clock.raw))
    try insertSet.bind(6, header.operation.bytes)
    try insertSet.bind(7, state.rawValue)
    try insertSet.bind(8, Int64(bitPattern: position.logBytes))
    try insertSet.bind(9, raw.header)
    try insertSet.bind(10, raw.signature)
    try insertSet.bind(11, raw.plan)
  }

  private func insertDependencies(_ header: ChangeSetHeader, branch: Int64) throws {
    for dependency in header.dependencies {
      let log = dependency.log(lane: header.log.lane)
      // A dependency that a cut excludes is not stored. It never folds, so nothing will ask which sets have seen it.
      guard let other = try self.branch(of: dependency.id, log, dependency.sequence)?.number else {
        try tolerateGap(log)
        continue
      }
      // A set has seen everything that its predecessors had seen, even if its author now declares an older set.
      let known = try declared(branch, through: header.sequence, of: other)
      try insertDependency.bind(1, branch)
      try insertDependency.bind(2, other)
      try insertDependency.bind(3, Int64(bitPattern: header.sequence))
      try insertDependency.bind(4, Int64(bitPattern: max(dependency.sequence, known)))
      try insertDependency.run()
    }
  }

  /// Returns the newest sequence of another branch that this branch, excluding its parents, has declared as seen; 0 if
  /// none.
  func declared(_ branch: Int64, through sequence: UInt64, of other: Int64) throws -> UInt64 {
    try newestDeclared.bind(1, branch)
    try newestDeclared.bind(2, other)
    try newestDeclared.bind(3, Int64(bitPattern: sequence))
    defer { newestDeclared.reset() }
    return try newestDeclared.step() ? UInt64(bitPattern: newestDeclared.integer(0)) : 0
  }

  /// Marks a parked set as folded, in every branch whose path includes it.
  package func folded(_ place: SetPosition) throws {
    let sequence = UInt64(bitPattern: place.sequence)
    guard let parked = try position(place.branch, sequence) else {
      throw StoreError.damaged("change set \(place.origin.number) is missing")
    }
    try markFolded.bind(1, place.origin.number)
    try markFolded.run()
    let position = StoredPosition(
      id: parked.id, clock: parked.clock, isFolded: true, logBytes: parked.logBytes)
    for number in branches(through: place.branch, sequence) {
      guard var branch = branches[number] else { continue }
      noteMove(number)
      branch.folded = position
      branch.foldedSequence = sequence
      if number == place.branch, branch.sequence == sequence { branch.head = position }
      branches[number] = branch
    }
  }

  /// Adds what was unknown about the newest set of a branch, which was kept without its bytes.
  ///
  /// - Parameter logBytes: the declared bytes of the log through the set.
  package func complete(_ known: Branch, logBytes: UInt64) throws {
    var branch = known
    let head = branch.head
    branch.head = StoredPosition(
      id: head.id, clock: head.clock, isFolded: head.isFolded, logBytes: logBytes)
    if branch.foldedSequence == branch.sequence { branch.folded = branch.head }
    try connection.with("UPDATE change_sets SET log_bytes = ?3 WHERE branch = ?1 AND sequence = ?2") { row in
      try row.bind(1, branch.number)
      try row.bind(2, Int64(bitPattern: branch.sequence))
      try row.bind(3, Int64(bitPattern: branch.head.logBytes))
      try row.run()
    }
    branches[branch.number] = branch
  }

  /// Returns whether a parked set can be folded: its predecessor is folded, and each dependency is either folded or
  /// excluded by a cut. If it is excluded, those of its ancestors that the cuts allow must be folded.
  package func isReady(_ header: ChangeSetHeader) throws -> Bool {
    if let previous = header.previous {
      guard try isFolded(previous, header.log, header.sequence - 1) else { return false }
    }
    return try header.dependencies.allSatisfy {
      let log = $0.log(lane: header.log.lane)
      if try isFolded($0.id, log, $0.sequence) { return true }
      return try excludes(dependency: $0.id, log, $0.sequence) && isFolded(below: $0.id, log, $0.sequence)
    }
  }

  private func isFolded(_ id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Bool {
    try stored(id, log, sequence)?.isFolded == true
  }
}

extension ChangeSetHeader {
  /// Returns the declared bytes of the log through this set.
  ///
  /// A header that stands in for one that is damaged or missing does not know the size of its set. Its `logBytes`
  /// includes the set already.
  func logBytesThroughSet(headerBytes: Int) -> UInt64 {
    content == .unknown ? logBytes : logBytes + UInt64(declaredBytes(headerBytes: headerBytes))
  }
}

extension Dependency {
  package func log(lane: Lane) -> LogKey { LogKey(device: device, incarnation: incarnation, lane: lane) }
}
