// Protocol/merge.md, "Overrides"

import Records
package import Replication
import SQLite
package import Wire

/// Which sets a forced direction takes back: those that were there when it was asked for, but for those of the
/// wanted state. What comes later is neither, and merges as usual.
package struct Revert: Hashable, Sendable {
  /// The heads of what the wanted state is made of; the folded sequences count.
  package let wanted: [LogHead]
  /// The heads of what there was besides.
  package let present: [LogHead]
  package let scope: Scope

  /// The records that a direction concerns.
  package struct Scope: Hashable, Sendable {
    /// Nil for all kinds.
    package var kind: KindNumber?
    /// With all that belongs to it, at any depth; nil for all records.
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

/// What a forced direction writes.
package struct RevertPlan: Sendable {
  package fileprivate(set) var changes: ChangePlan
  package fileprivate(set) var counts: [KindNumber: CommitReport.EntryCounts] = [:]
  /// Records that were written after the direction was asked for, of each kind.
  package fileprivate(set) var later: [KindNumber: Int] = [:]
}

extension Store {
  /// What brings the records from what they are to what they would be without the sets that are taken back.
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
      // To be rid of a record, deletion suffices: the trash keeps what was taken back. A whole record has no life
      // to take, so it is emptied.
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

  /// Change sets that have to be folded before a direction can be planned, no more than can be counted: peers name
  /// sequences as they like.
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

  /// How far sets of each branch belong to the two sides of a direction.
  private struct Reach {
    let wanted: [Int64: UInt64]
    let present: [Int64: UInt64]

    func takesBack(_ set: SetPosition) -> Bool {
      let sequence = UInt64(bitPattern: set.sequence)
      return sequence <= present[set.branch] ?? 0 && sequence > wanted[set.branch] ?? 0
    }
  }

  /// The newest sequence of each branch on the way to some heads.
  ///
  /// - Parameter countingUnknown: whether all of a log counts of whose head nobody here knows what leads to it, since a
  ///   cut kept it from coming; only what certainly is not wanted may be taken back.
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
        stretches = logs[head.log].map {
          Stretch(branch: $0.number, first: $0.first, last: min($0.sequence, head.foldedSequence))
        }
      }
      for stretch in stretches {
        reach[stretch.branch] = max(reach[stretch.branch] ?? 0, stretch.last)
      }
    }
    return reach
  }

  /// The folded sets of the records lane beyond a reach, in causal order.
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
    // The pieces of files are named by their content: others may hold the same, and nobody sees them alone.
    if record.kind == KindNumbers.content { return false }
    if let kind = scope.kind, record.kind != kind { return false }
    guard let trip = scope.trip else { return true }
    return try isUnder(trip, record) { [try state(of: $0), try state(of: $0) { !reach.takesBack($0) }] }
  }

  /// Whether a record is a trip, or belongs to it in one of its states.
  private func isUnder(
    _ trip: RecordKey, _ record: RecordKey, _ states: (RecordKey) throws -> [RecordState]
  ) throws -> Bool {
    if record == trip { return true }
    guard let kind = Registry.kind(record.kind), let field = kind.parent else { return false }
    return try states(record).contains { state in
      guard let parent = state.cells[field].flatMap({ kind.parentKey($0.content[...]) }) else { return false }
      return try isUnder(trip, parent, states)
    }
  }

  /// Whether a record is a trip or belongs to it now.
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
  /// The records of an operation that sets wrote to which are concurrent with it.
  ///
  /// - Parameter looked: the number up to which sets have been looked at; comes back advanced. Sets that are
  ///   parked are looked at when they are folded.
  package func overtaking(_ operation: Operation, _ looked: inout Int64) throws -> Set<RecordKey> {
    guard let first = operation.sets.first, let last = operation.sets.last else { return [] }
    let concurrent = try sets(after: looked).filter { try !covers($0, last) && !covers(first, $0) }
    looked = try lastNumberBeforeParked()
    guard !concurrent.isEmpty else { return [] }
    return Set(try records(touchedBy: operation.sets)).intersection(try records(touchedBy: concurrent))
  }

  /// The number up to which no set is parked.
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
