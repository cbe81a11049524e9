// Protocol/store.md, "Log"

import Replication
import SQLite
import Wire

/// The log of change sets: their tables, and in memory where each branch stands.
///
/// A log has one branch as long as its author has not forked it.
final class Logs: LogIndex {
  struct Branch {
    let number: Int64
    let log: LogKey
    /// The newest stored set.
    var head: StoredPosition
    var sequence: UInt64
    /// The newest folded set; nil and 0 if there is none yet.
    var folded: StoredPosition?
    var foldedSequence: UInt64

    var logHead: LogHead {
      LogHead(log: log, sequence: sequence, id: head.id, foldedSequence: foldedSequence)
    }
  }

  private let connection: Connection
  private let insertSet: Statement
  private let insertBranch: Statement
  private let insertDependency: Statement
  private let select: Statement
  private let markFolded: Statement
  private var branches: [LogKey: Branch] = [:]
  private var byNumber: [Int64: LogKey] = [:]
  private(set) var lastNumber: Int64 = 0

  init(_ connection: Connection) throws {
    self.connection = connection
    insertSet = try connection.prepare(
      """
      INSERT INTO change_sets(number, id, branch, sequence, clock, operation, folded, header, signature, body)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
      """)
    insertBranch = try connection.prepare(
      "INSERT INTO branches(device, incarnation, lane, first_sequence, first_id) VALUES (?1, ?2, ?3, ?4, ?5)")
    insertDependency = try connection.prepare(
      "INSERT INTO dependencies(branch, dep_branch, sequence, dep_sequence) VALUES (?1, ?2, ?3, ?4)")
    select = try connection.prepare(
      "SELECT id, clock, folded FROM change_sets WHERE branch = ?1 AND sequence = ?2")
    markFolded = try connection.prepare("UPDATE change_sets SET folded = 1 WHERE number = ?1")
    try reload()
  }

  /// Reads again from the tables what is kept in memory.
  func reload() throws {
    branches = [:]
    byNumber = [:]
    lastNumber = try connection.with("SELECT coalesce(max(number), 0) FROM change_sets") {
      try $0.step() ? $0.integer(0) : 0
    }
    try connection.with("SELECT branch, device, incarnation, lane FROM branches ORDER BY branch") { row in
      while try row.step() {
        guard let device = DeviceKey(bytes: row.bytes(1)), let incarnation = Incarnation(bytes: row.bytes(2)),
          let lane = Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(3)))
        else { throw StoreError.damaged("branch \(row.integer(0))") }
        let log = LogKey(device: device, incarnation: incarnation, lane: lane)
        try loadBranch(row.integer(0), log)
      }
    }
  }

  private func loadBranch(_ number: Int64, _ log: LogKey) throws {
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
    let folded = head.isFolded ? (head, sequence) : try position(newest + " AND folded = 1" + backwards)
    byNumber[number] = log
    branches[log] = Branch(
      number: number, log: log, head: head, sequence: sequence, folded: folded?.0,
      foldedSequence: folded?.1 ?? 0)
  }

  private static func position(_ row: borrowing Statement) throws -> StoredPosition {
    guard let id = ChangeSetID(bytes: row.bytes(0)) else {
      throw StoreError.damaged("the id of a change set")
    }
    return StoredPosition(
      id: id, clock: Clock(raw: UInt64(bitPattern: row.integer(1))), isFolded: row.integer(2) != 0)
  }

  // MARK: Questions

  subscript(log: LogKey) -> Branch? { branches[log] }

  func log(ofBranch number: Int64) -> LogKey? { byNumber[number] }

  /// The branches of a lane, in order of logs.
  func branches(_ lane: Lane) -> [Branch] {
    branches.values.filter { $0.log.lane == lane }.sorted { $0.log < $1.log }
  }

  func stored(_ log: LogKey, sequence: UInt64) throws -> [StoredPosition] {
    guard let branch = branches[log], sequence <= branch.sequence else { return [] }
    if sequence == branch.sequence { return [branch.head] }
    if sequence == branch.foldedSequence, let folded = branch.folded { return [folded] }
    try select.bind(1, branch.number)
    try select.bind(2, Int64(bitPattern: sequence))
    defer { select.reset() }
    return try select.step() ? [try Self.position(select)] : []
  }

  // MARK: Changes

  /// Stores a set that has its place. Its dependencies are stored already.
  func append(_ set: VerifiedChangeSet, folded: Bool) throws -> SetPlace {
    let header = set.header
    let branch = try branches[header.log]?.number ?? newBranch(set)
    let number = lastNumber + 1
    try bind(set, number: number, branch: branch, folded: folded)
    _ = try insertSet.run(borrowing: set.raw.body) { statement, bytes throws(SQLiteError) in
      try statement.bindBlob(10, bytes, 0..<set.raw.body.count)
      return true
    }
    try insertDependencies(header, branch: branch)
    lastNumber = number
    let position = StoredPosition(id: set.id, clock: header.clock, isFolded: folded)
    var entry =
      branches[header.log]
      ?? Branch(
        number: branch, log: header.log, head: position, sequence: 0, folded: nil, foldedSequence: 0)
    entry.head = position
    entry.sequence = header.sequence
    if folded {
      entry.folded = position
      entry.foldedSequence = header.sequence
    }
    branches[header.log] = entry
    byNumber[branch] = header.log
    return SetPlace(
      origin: WriteOrigin(number: number, stamp: set.stamp), branch: branch,
      sequence: Int64(bitPattern: header.sequence))
  }

  private func bind(_ set: VerifiedChangeSet, number: Int64, branch: Int64, folded: Bool) throws {
    try insertSet.bind(1, number)
    try insertSet.bind(2, set.id.bytes)
    try insertSet.bind(3, branch)
    try insertSet.bind(4, Int64(bitPattern: set.header.sequence))
    try insertSet.bind(5, Int64(bitPattern: set.header.clock.raw))
    try insertSet.bind(6, set.header.operation.bytes)
    try insertSet.bind(7, folded ? 1 : 0)
    try insertSet.bind(8, set.raw.header)
    try insertSet.bind(9, set.raw.signature)
  }

  private func newBranch(_ set: VerifiedChangeSet) throws -> Int64 {
    let log = set.header.log
    try insertBranch.bind(1, log.device.bytes)
    try insertBranch.bind(2, log.incarnation.bytes)
    try insertBranch.bind(3, Int(log.lane.rawValue))
    try insertBranch.bind(4, Int64(bitPattern: set.header.sequence))
    try insertBranch.bind(5, set.id.bytes)
    try insertBranch.run()
    return connection.lastInsertedRow
  }

  private func insertDependencies(_ header: ChangeSetHeader, branch: Int64) throws {
    for dependency in header.dependencies {
      let log = dependency.log(lane: header.log.lane)
      guard let other = branches[log]?.number else {
        throw StoreError.damaged("a dependency that is not stored")
      }
      try insertDependency.bind(1, branch)
      try insertDependency.bind(2, other)
      try insertDependency.bind(3, Int64(bitPattern: header.sequence))
      try insertDependency.bind(4, Int64(bitPattern: dependency.sequence))
      try insertDependency.run()
    }
  }

  /// A set that was parked is folded now.
  func folded(_ set: VerifiedChangeSet, number: Int64) throws {
    try markFolded.bind(1, number)
    try markFolded.run()
    guard var branch = branches[set.header.log] else { return }
    let position = StoredPosition(id: set.id, clock: set.header.clock, isFolded: true)
    branch.folded = position
    branch.foldedSequence = set.header.sequence
    if branch.sequence == set.header.sequence { branch.head = position }
    branches[set.header.log] = branch
  }

  /// Whether everything that a parked set stands on is folded.
  func isReady(_ header: ChangeSetHeader) -> Bool {
    guard branches[header.log]?.foldedSequence == header.sequence - 1 else { return false }
    return header.dependencies.allSatisfy {
      branches[$0.log(lane: header.log.lane)].map(\.foldedSequence) ?? 0 >= $0.sequence
    }
  }
}

extension Dependency {
  func log(lane: Lane) -> LogKey { LogKey(device: device, incarnation: incarnation, lane: lane) }
}
