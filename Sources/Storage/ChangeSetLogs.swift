// Protocol/store.md, "Log"

import Replication
import SQLite
import Wire

/// The change sets by log: their tables, and in memory the state of each branch.
///
/// A log has one branch as long as its author has not forked it. The set that arrived first stays in the existing
/// branch; a set that arrived later for the same position starts a branch of its own, whose parent holds their common
/// ancestors. So stores may differ in which branch is the parent; the paths from the tips to the first set are the
/// same everywhere.
final class ChangeSetLogs: LogIndex {
  let connection: Connection
  private let insertSet: Statement
  private let insertBranch: Statement
  private let insertDependency: Statement
  private let select: Statement
  private let newestDeclared: Statement
  private let markFolded: Statement
  private(set) var branches: [Int64: Branch] = [:]
  private var byLog: [LogKey: [Int64]] = [:]
  /// The direct child branches of a branch.
  private(set) var children: [Int64: [Int64]] = [:]
  /// The branch of each set, for forked logs that were asked for; see ChangeSetLogs+Forks.swift.
  var located: [LogKey: [ChangeSetID: Int64]] = [:]
  /// The cuts of each log that was asked for; see ChangeSetLogs+Cuts.swift.
  var cuts: [LogKey: LogCuts?] = [:]
  /// The cuts of a log according to the circle's statements; nil for a log without cuts.
  var cutRule: (LogKey) -> Set<Set<ChangeSetID>>? = { _ in nil }
  private(set) var lastNumber: Int64 = 0
  /// The heads of branches before they moved in this transaction; nil for a new branch.
  private var before: [Int64: LogHead?] = [:]
  /// Heads that disappeared when all logs were emptied in this transaction.
  private var retired: [LogHead] = []

  /// A read error from a function that can't throw. Decisions based on it must not be committed.
  private(set) var failure: (any Error)?

  /// In-memory state captured before a transaction, for rollback.
  struct RollbackState {
    fileprivate let branches: [Int64: Branch]
    fileprivate let byLog: [LogKey: [Int64]]
    fileprivate let children: [Int64: [Int64]]
    fileprivate let lastNumber: Int64
  }

  init(_ connection: Connection) throws {
    self.connection = connection
    insertSet = try connection.prepare(
      """
      INSERT INTO change_sets(number, id, branch, sequence, clock, operation, folded, header, signature, body)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
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
      "SELECT id, clock, folded FROM change_sets WHERE branch = ?1 AND sequence = ?2")
    newestDeclared = try connection.prepare(
      """
      SELECT dep_sequence FROM dependencies WHERE branch = ?1 AND dep_branch = ?2 AND sequence <= ?3
      ORDER BY sequence DESC LIMIT 1
      """)
    markFolded = try connection.prepare("UPDATE change_sets SET folded = 1 WHERE number = ?1")
    try reload()
  }

  var rollbackState: RollbackState {
    RollbackState(branches: branches, byLog: byLog, children: children, lastNumber: lastNumber)
  }

  /// Restores the state before a transaction without reading the disk, which may be what failed.
  func restore(_ state: RollbackState) {
    (branches, byLog, children) = (state.branches, state.byLog, state.children)
    lastNumber = state.lastNumber
    located = [:]
    cuts = [:]
    before = [:]
    retired = []
    failure = nil
  }

  func noteFailure(_ error: any Error) { failure = error }

  /// Throws the read error noted since the last call, if there is one.
  func expectAllRead() throws {
    guard let failure else { return }
    self.failure = nil
    throw failure
  }

  /// Reloads the in-memory state from the tables.
  func reload() throws {
    branches = [:]
    byLog = [:]
    children = [:]
    located = [:]
    cuts = [:]
    before = [:]
    lastNumber = try connection.with("SELECT coalesce(max(number), 0) FROM change_sets") {
      try $0.step() ? $0.integer(0) : 0
    }
    // Parents have lower numbers than their children.
    let sql = "SELECT branch, device, incarnation, lane, first_sequence, parent FROM branches ORDER BY branch"
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

  private func loadBranch(_ number: Int64, _ log: LogKey, first: UInt64, parent: Int64?) throws {
    let newest = "SELECT id, clock, folded, sequence FROM change_sets WHERE branch = ?1"
    let backwards = " ORDER BY sequence DESC LIMIT 1"
    func position(_ sql: String) throws -> (StoredPosition, UInt64)? {
      try connection.with(sql) { row in
        try row.bind(1, number)
        guard try row.step() else { return nil }
        return (try Self.position(row), UInt64(bitPattern: row.integer(3)))
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

  /// The newest folded set below a sequence, on a path that continues in a child branch.
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
      if let parent = branch.parent { children[parent, default: []].append(branch.number) }
    }
  }

  private static func position(_ row: borrowing Statement) throws -> StoredPosition {
    guard let id = ChangeSetID(bytes: row.bytes(0)) else {
      throw StoreError.damaged("the id of a change set is invalid")
    }
    return StoredPosition(
      id: id, clock: Clock(raw: UInt64(bitPattern: row.integer(1))),
      isFolded: row.integer(2) == FoldState.folded.rawValue)
  }

  // MARK: Moves

  private func noteMove(_ number: Int64) {
    if before[number] == nil { before.updateValue(branches[number]?.logHead, forKey: number) }
  }

  /// Call before all logs are emptied and filled again in another order.
  func retireAll() {
    for branch in branches.values {
      if let head = before[branch.number] ?? branch.logHead { retired.append(head) }
    }
    before = [:]
  }

  /// The heads that moved in this transaction, and those that they replaced. A forked log's heads in other branches
  /// are in neither list.
  func takeMoves() -> (moved: [LogHead], gone: [LogHead]) {
    let moved = before.keys.compactMap { branches[$0]?.logHead }
    let gone = retired + before.values.compactMap(\.self)
    before = [:]
    retired = []
    return (moved.sorted(by: Heads.isBefore), gone.sorted(by: Heads.isBefore))
  }

  // MARK: Lookups

  /// The branches of a log in the order of their numbers: one, unless it forked.
  subscript(log: LogKey) -> [Branch] { (byLog[log] ?? []).compactMap { branches[$0] } }

  subscript(branch number: Int64) -> Branch? { branches[number] }

  /// Every log with a stored set.
  var all: [LogKey] { byLog.keys.sorted() }

  /// The branches of a lane, sorted by log.
  func branches(_ lane: Lane) -> [Branch] {
    branches.values.filter { $0.log.lane == lane }
      .sorted { ($0.log, $0.number) < ($1.log, $1.number) }
  }

  /// The number of branches of a log: one, unless it forked.
  func branchCount(_ log: LogKey) -> Int { byLog[log]?.count ?? 0 }

  func stored(_ id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> StoredPosition? {
    guard let branch = try branch(holding: id, log), sequence >= branch.first, sequence <= branch.sequence,
      let found = try position(branch.number, sequence), found.id == id
    else { return nil }
    return found
  }

  /// The branch that holds a set.
  func branch(of id: ChangeSetID, _ log: LogKey, _ sequence: UInt64) throws -> Branch? {
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

  /// The number of another set with the same predecessor, if `set` has just started a branch; nil if there is none.
  func sibling(of set: VerifiedChangeSet, at place: SetPosition) throws -> Int64? {
    guard let branch = branches[place.branch], branch.first == set.header.sequence else { return nil }
    return try sibling(of: branch)
  }

  /// The number of a set at the same position as the first set of a branch; nil if the log does not fork there.
  func sibling(of branch: Branch) throws -> Int64? {
    // The parent continues after the fork; otherwise the set would have been appended to the parent itself.
    let other = branch.parent ?? byLog[branch.log]?.first
    guard let other, other != branch.number else { return nil }
    return try number(other, branch.first)
  }

  /// The number of the set at a sequence of a branch.
  func number(_ branch: Int64, _ sequence: UInt64) throws -> Int64? {
    try connection.with("SELECT number FROM change_sets WHERE branch = ?1 AND sequence = ?2") { row in
      try row.bind(1, branch)
      try row.bind(2, Int64(bitPattern: sequence))
      return try row.step() ? row.integer(0) : nil
    }
  }

  // MARK: Changes

  /// Stores a set that was placed. Its dependencies must be stored already, or excluded.
  func append(_ set: VerifiedChangeSet, _ state: FoldState) throws -> SetPosition {
    try append(set.header, set.id, set.raw, state)
  }

  /// As above, for a set whose bytes may be damaged.
  func append(
    _ header: ChangeSetHeader, _ id: ChangeSetID, _ raw: RawChangeSet, _ state: FoldState
  ) throws -> SetPosition {
    var branch = try branchEnding(before: header, id)
    noteMove(branch.number)
    let number = lastNumber + 1
    try bind(header, id, raw, number: number, branch: branch.number, state)
    _ = try insertSet.run(borrowing: raw.body) { statement, bytes throws(SQLiteError) in
      try statement.bindBlob(10, bytes, 0..<raw.body.count)
      return true
    }
    try insertDependencies(header, branch: branch.number)
    lastNumber = number
    let position = StoredPosition(id: id, clock: header.clock, isFolded: state == .folded)
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

  /// The branch whose last set is the predecessor of a set; otherwise a new one.
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
      head: StoredPosition(id: id, clock: header.clock, isFolded: false), sequence: header.sequence,
      folded: nil, foldedSequence: 0)
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
    _ header: ChangeSetHeader, _ id: ChangeSetID, _ raw: RawChangeSet, number: Int64, branch: Int64,
    _ state: FoldState
  ) throws {
    try insertSet.bind(1, number)
    try insertSet.bind(2, id.bytes)
    try insertSet.bind(3, branch)
    try insertSet.bind(4, Int64(bitPattern: header.sequence))
    try insertSet.bind(5, Int64(bitPattern: header.clock.raw))
    try insertSet.bind(6, header.operation.bytes)
    try insertSet.bind(7, state.rawValue)
    try insertSet.bind(8, raw.header)
    try insertSet.bind(9, raw.signature)
  }

  private func insertDependencies(_ header: ChangeSetHeader, branch: Int64) throws {
    for dependency in header.dependencies {
      let log = dependency.log(lane: header.log.lane)
      // An excluded dependency is not in store. It never folds, so nothing will ask who has seen it.
      guard let other = try self.branch(of: dependency.id, log, dependency.sequence)?.number else {
        try tolerateGap(log)
        continue
      }
      // A past never shrinks, even if an author names an older set again.
      let known = try declared(branch, through: header.sequence, of: other)
      try insertDependency.bind(1, branch)
      try insertDependency.bind(2, other)
      try insertDependency.bind(3, Int64(bitPattern: header.sequence))
      try insertDependency.bind(4, Int64(bitPattern: max(dependency.sequence, known)))
      try insertDependency.run()
    }
  }

  /// The newest sequence of another branch that the sets of a branch, without its parents, have declared; 0 if none.
  func declared(_ branch: Int64, through sequence: UInt64, of other: Int64) throws -> UInt64 {
    try newestDeclared.bind(1, branch)
    try newestDeclared.bind(2, other)
    try newestDeclared.bind(3, Int64(bitPattern: sequence))
    defer { newestDeclared.reset() }
    return try newestDeclared.step() ? UInt64(bitPattern: newestDeclared.integer(0)) : 0
  }

  /// Marks a parked set as folded, in every branch whose path includes it.
  func folded(_ place: SetPosition) throws {
    try markFolded.bind(1, place.origin.number)
    try markFolded.run()
    let sequence = UInt64(bitPattern: place.sequence)
    let stamp = place.origin.stamp
    let position = StoredPosition(id: stamp.set, clock: stamp.clock, isFolded: true)
    for number in branches(through: place.branch, sequence) {
      guard var branch = branches[number] else { continue }
      noteMove(number)
      branch.folded = position
      branch.foldedSequence = sequence
      if number == place.branch, branch.sequence == sequence { branch.head = position }
      branches[number] = branch
    }
  }

  /// Whether the predecessor and all dependencies of a parked set are folded, or excluded with all that remains of
  /// their ancestors folded.
  func isReady(_ header: ChangeSetHeader) throws -> Bool {
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

extension Dependency {
  func log(lane: Lane) -> LogKey { LogKey(device: device, incarnation: incarnation, lane: lane) }
}
