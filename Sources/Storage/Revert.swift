// Protocol/merge.md, "Overrides"

package import LogStorage
package import RecordTables
import Records
package import Replication
import SQLite
package import Wire

/// The sets that an override reverts: the sets that existed on the overridden side when the user requested the
/// override, except those that make up the wanted state. Sets that were written later are in neither group, and merge
/// as usual.
package struct Revert: Hashable, Sendable {
  /// The heads of the sets that make up the wanted state, up to their folded sequences.
  package let wanted: [LogHead]
  /// The heads of the sets that existed on the overridden side, up to their folded sequences.
  package let present: [LogHead]
  package let scope: Scope

  /// The records that an override concerns.
  package struct Scope: Hashable, Sendable {
    /// The kind of the records; nil for all kinds.
    package var kind: KindNumber?
    /// A trip with all its descendants; nil for all records.
    package var trip: RecordKey?

    package init(kind: KindNumber? = nil, trip: RecordKey? = nil) {
      self.kind = kind
      self.trip = trip
    }
  }

  package init(wanted: [LogHead], present: [LogHead], scope: Scope = Scope()) {
    self.wanted = wanted
    self.present = present
    self.scope = scope
  }
}

/// The changes that an override writes.
package struct RevertPlan: Sendable {
  package fileprivate(set) var changes: ChangePlan
  package fileprivate(set) var counts: [KindNumber: CommitReport.EntryCounts] = [:]
  /// The number of records of each kind that were written after the user requested the override.
  package fileprivate(set) var later: [KindNumber: Int] = [:]
}

extension Store {
  /// Plans the changes that bring the records to the state that they would have without the reverted sets.
  package func plan(_ revert: Revert, now: Moment) throws -> RevertPlan {
    let reach = Reach(
      wanted: try reach(revert.wanted, countingUnknown: true),
      present: try reach(revert.present, countingUnknown: false))
    let sets = try sets(beyond: reach.wanted)
    var plan = RevertPlan(changes: ChangePlan(now: now))
    for record in try records(touchedBy: sets.filter(reach.takesBack))
    where try isConcerned(record, revert.scope, reach) {
      let held = try state(of: record)
      let wanted = try state(of: record) { !reach.takesBack($0) }
      // To remove a record, deleting it is enough; its fields are kept for the trash. A whole record has no life, so
      // its fields are emptied instead.
      let isAlive = wanted.life ?? false
      let isKept = !isAlive && record.kind.mergeClass == .fieldByField
      let target = WantedRecord(isAlive: isAlive, contents: isKept ? held.contents : wanted.contents)
      guard try plan.changes.bring(record, from: held, to: target) else { continue }
      plan.counts[record.kind, default: .init()].count(from: held.life, to: isAlive)
    }
    for record in try records(touchedBy: sets.filter { !reach.takesBack($0) })
    where try isConcerned(record, revert.scope, reach) {
      plan.later[record.kind, default: 0] += 1
    }
    return plan
  }

  /// Returns the number of change sets that must be folded before an override can be planned. The number saturates,
  /// because peers may claim any sequence.
  package func missing(_ revert: Revert, isAdmitted: (LogKey) -> Bool) throws -> UInt64 {
    var missing: UInt64 = 0
    for head in Set(revert.wanted + revert.present) where isAdmitted(head.log) {
      let (sum, isTooMany) = missing.addingReportingOverflow(try lacking(head))
      missing = isTooMany ? .max : sum
    }
    return missing
  }

  private func lacking(_ head: LogHead) throws -> UInt64 {
    guard let branch = try logs.branch(of: head.id, head.log, head.sequence) else {
      let newest = logs[head.log].map(\.foldedSequence).max() ?? 0
      return head.sequence > newest ? head.sequence - newest : 1
    }
    return head.foldedSequence - min(branch.foldedSequence, head.foldedSequence)
  }

  // MARK: Sets

  /// For each branch, the newest sequence of the wanted and of the present sets.
  private struct Reach {
    let wanted: [Int64: UInt64]
    let present: [Int64: UInt64]

    func takesBack(_ set: SetPosition) -> Bool {
      let sequence = UInt64(bitPattern: set.sequence)
      return sequence <= present[set.branch] ?? 0 && sequence > wanted[set.branch] ?? 0
    }
  }

  /// Returns, for each branch, the newest sequence that leads to one of the given heads.
  ///
  /// - Parameter countingUnknown: whether to count a whole log if its head is unknown here because a cut excluded it,
  ///   so that nothing tells which sets lead to the head. It is true for the wanted sets, because only sets that are
  ///   certainly not wanted may be reverted.
  private func reach(_ heads: [LogHead], countingUnknown: Bool) throws -> [Int64: UInt64] {
    var reach: [Int64: UInt64] = [:]
    for head in heads {
      let stretches: [Stretch]
      if let branch = try logs.branch(of: head.id, head.log, head.sequence) {
        stretches = logs.path(branch.number, through: head.foldedSequence)
      } else if let kept = try newestKept(below: head.id) {
        stretches = logs.path(kept.branch, through: min(kept.sequence, head.foldedSequence))
      } else {
        guard countingUnknown else { continue }
        stretches = logs[head.log].map { $0.stretch(through: head.foldedSequence) }
      }
      for stretch in stretches {
        reach[stretch.branch] = max(reach[stretch.branch] ?? 0, stretch.last)
      }
    }
    return reach
  }

  /// Returns the folded sets of the records lane beyond a reach, in causal order.
  private func sets(beyond reach: [Int64: UInt64]) throws -> [SetPosition] {
    var numbers: [Int64] = []
    for branch in logs.branches(.records) {
      let sql = "SELECT number FROM change_sets WHERE branch = ?1 AND sequence > ?2 AND folded = 1"
      try connection.with(sql) { row in
        try row.bind(1, branch.number)
        try row.bind(2, Int64(bitPattern: reach[branch.number] ?? 0))
        while try row.step() { numbers.append(row.integer(0)) }
      }
    }
    return try numbers.sorted().map(fold.causality.place)
  }

  // MARK: Records

  private func isConcerned(_ record: RecordKey, _ scope: Revert.Scope, _ reach: Reach) throws -> Bool {
    if let kind = scope.kind, record.kind != kind { return false }
    guard let trip = scope.trip else { return true }
    return try isUnder(trip, record) { [try state(of: $0), try state(of: $0) { !reach.takesBack($0) }] }
  }

  /// Returns whether a record is the trip, or a descendant of the trip in one of the given states.
  private func isUnder(
    _ trip: RecordKey, _ record: RecordKey, _ states: (RecordKey) throws -> [RecordState]
  ) throws -> Bool {
    if record == trip { return true }
    guard let kind = schema.kind(record.kind), let field = kind.parent else { return false }
    return try states(record).contains { state in
      guard let parent = state.cells[field].flatMap({ kind.parentKey($0.content[...]) }) else { return false }
      return try isUnder(trip, parent, states)
    }
  }

  /// Returns whether a record is the trip or, at present, a descendant of the trip.
  package func isUnder(_ trip: RecordKey, _ record: RecordKey) throws -> Bool {
    try isUnder(trip, record) { [try state(of: $0)] }
  }
}

extension CommitReport.EntryCounts {
  fileprivate mutating func count(from held: Bool?, to wanted: Bool) {
    switch (held, wanted) {
    case (true, false): deletes += 1
    case (false, true): restores += 1
    case (nil, true): inserts += 1
    default: edits += 1
    }
  }
}

// MARK: Afterwards

extension Store {
  /// Returns the records of an operation to which concurrent sets wrote as well.
  ///
  /// - Parameter looked: the number up to which sets have been examined. It is advanced, but not beyond the first
  ///   parked set, so that parked sets are examined once they are folded.
  package func overtaking(_ operation: Operation, _ looked: inout Int64) throws -> Set<RecordKey> {
    guard let first = operation.sets.first, let last = operation.sets.last else { return [] }
    let concurrent = try sets(after: looked).filter { try !covers($0, last) && !covers(first, $0) }
    looked = try lastNumberBeforeParked()
    guard !concurrent.isEmpty else { return [] }
    return Set(try records(touchedBy: operation.sets)).intersection(try records(touchedBy: concurrent))
  }

  /// Returns the largest number up to which no set is parked.
  package func lastNumberBeforeParked() throws -> Int64 {
    try connection.with("SELECT min(number) FROM change_sets WHERE folded = 0") { row in
      try row.step() && !row.isNull(0) ? row.integer(0) - 1 : logs.lastNumber
    }
  }

  private func sets(after number: Int64) throws -> [SetPosition] {
    let sql = """
      SELECT c.number FROM change_sets c JOIN branches b ON b.branch = c.branch
      WHERE c.number > ?1 AND c.folded = 1 AND b.lane = ?2 ORDER BY c.number
      """
    let numbers = try connection.with(sql) { row in
      try row.bind(1, number)
      try row.bind(2, Int(Lane.records.rawValue))
      var numbers: [Int64] = []
      while try row.step() { numbers.append(row.integer(0)) }
      return numbers
    }
    return try numbers.map(fold.causality.place)
  }
}
