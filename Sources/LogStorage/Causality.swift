// Protocol/change-set.md, "Causal closure"

package import Replication
package import SQLite
package import Wire

// Causality: which sets a set has seen.
//
// A set's header names only the newest sets from other logs that its author had folded since the previous set. The
// table `dependencies` stores one row for each: branch B declares, at sequence s, that it has seen branch A up to t.
//
//     branch A    a1 ── a2 ── a3
//                        ╲                 row: (branch B, dep_branch A, sequence 2, dep_sequence 2)
//     branch B    b1 ── b2 ── b3
//
// Within one branch, every set has seen all sets before it. Across branches, the question “has b3 seen a2?” takes one
// lookup: the newest row (B, A) at or before sequence 3 names a2, so b3 covers a2 but not a3. b1 has no such row, so it
// covers neither. Two sets that don't cover each other are concurrent. Dependencies need not be followed from set to
// set, because every author declares each log from which it has folded new sets: what b2 learnt through a third log is
// in B's own rows.
//
// Forks add two walks. Before a branch's first set, the rows of its parent count too (`below`). And if the *other* log
// has forked, a dependency on a set implies all the set's ancestors, which other branches may hold. In that case `past`
// computes the newest seen sequence of every branch in one pass, so that one walk answers any number of questions.
//
// Answers are cached in memory and stay valid while the store is open, except when a transaction is rolled back or the
// logs are rebuilt and renumbered. In those cases `forget` must be called; otherwise conflicts would be decided with
// answers about other sets.

/// A stored set as the origin of writes: its stamp in the total order and its position in its log.
package struct SetPosition: Sendable {
  package let origin: WriteOrigin
  package let log: LogKey
  /// The number of the branch in this store. A log without forks has one branch.
  package let branch: Int64
  package let sequence: Int64

  package static let seed = SetPosition(
    origin: .seed,
    log: LogKey(device: DeviceKey(.zero), incarnation: Incarnation(.zero), lane: .settings), branch: 0,
    sequence: 0)
}

/// Determines which sets the author of a set had seen, from the dependencies that logs declare.
package final class Causality {
  private struct Question: Hashable {
    let branch: Int64
    let sequence: Int64
    let about: Int64
  }

  private let logs: ChangeSetLogs
  private let load: Statement
  private var places: [Int64: SetPosition] = [:]
  private var answers: [Question: Int64] = [:]
  private var pasts: [Question: [Int64: Int64]] = [:]
  /// The total number of entries in `pasts`.
  private var pastsCount = 0
  private static let kept = 20_000
  private static let pastsKept = 100_000

  package init(_ connection: Connection, _ logs: ChangeSetLogs) throws {
    self.logs = logs
    load = try connection.prepare(
      """
      SELECT c.id, c.clock, c.branch, c.sequence, b.device, b.incarnation, b.lane
      FROM change_sets c JOIN branches b ON b.branch = c.branch WHERE c.number = ?1
      """)
  }

  /// Clears the caches, which may hold answers from a transaction that was rolled back.
  package func forget() {
    places = [:]
    answers = [:]
    (pasts, pastsCount) = ([:], 0)
  }

  package func remember(_ place: SetPosition) {
    if places.count > Self.kept { places = [:] }
    places[place.origin.number] = place
  }

  /// Returns the position of the set with the given number; number 0 stands for the seeds.
  package func place(_ number: Int64) throws -> SetPosition {
    if let known = places[number] { return known }
    if number == 0 { return .seed }
    try load.bind(1, number)
    defer { load.reset() }
    guard try load.step(), let id = ChangeSetID(bytes: load.bytes(0)),
      let device = DeviceKey(bytes: load.bytes(4)), let incarnation = Incarnation(bytes: load.bytes(5)),
      let lane = Lane(rawValue: UInt8(truncatingIfNeeded: load.integer(6)))
    else { throw StoreError.damaged("change set \(number) is missing") }
    let clock = Clock(raw: UInt64(bitPattern: load.integer(1)))
    let place = SetPosition(
      origin: WriteOrigin(number: number, stamp: Stamp(clock: clock, device: device, set: id)),
      log: LogKey(device: device, incarnation: incarnation, lane: lane), branch: load.integer(2),
      sequence: load.integer(3))
    remember(place)
    return place
  }

  package func origin(_ number: Int64) throws -> WriteOrigin { try place(number).origin }

  /// Returns whether the causal past of one set includes another set. Seeds are in every past.
  package func covers(_ later: Int64, _ earlier: Int64) throws -> Bool {
    if earlier == 0 || later == earlier { return true }
    if later == 0 { return false }
    let after = try place(later)
    let before = try place(earlier)
    if after.branch == before.branch { return before.sequence <= after.sequence }
    if after.log == before.log {
      let through = UInt64(bitPattern: after.sequence)
      let seen = logs.stretch(after.branch, through: through, on: before.branch)?.last ?? 0
      return Int64(bitPattern: seen) >= before.sequence
    }
    let seen = try newestSeen(after.branch, sequence: after.sequence, of: before.branch)
    return seen >= before.sequence
  }

  /// Returns the sequence of a branch's newest set in the past of a given set; 0 if there is none.
  ///
  /// The past of a set is what its own branch has declared up to the set, plus the past of the parent branch at the
  /// fork. Each intermediate answer is cached, so later queries along the same path are cheap.
  package func newestSeen(_ branch: Int64, sequence: Int64, of other: Int64) throws -> Int64 {
    guard let log = logs[branch: other]?.log else { return 0 }
    // Any declared branch of the log may descend from the queried one; one pass answers the question for all of them.
    if logs.branchCount(log) > 1 { return try past(branch, sequence: sequence)[other] ?? 0 }
    var steps: [Question] = []
    var seen: Int64 = 0
    var next: Question? = Question(branch: branch, sequence: sequence, about: other)
    while let question = next {
      if let known = answers[question] {
        seen = known
        break
      }
      steps.append(question)
      next = question.branch == other ? nil : below(question)
    }
    if answers.count + steps.count > Self.kept { answers = [:] }
    for question in steps.reversed() {
      seen = max(seen, try declared(question, in: log))
      answers[question] = seen
    }
    return seen
  }

  /// Returns, for each branch, the sequence of its newest set in the past of a given set, including the set's own
  /// branch. One pass answers the question for any number of earlier writes.
  package func past(_ branch: Int64, sequence: Int64) throws -> [Int64: Int64] {
    let key = Question(branch: branch, sequence: sequence, about: branch)
    if let known = pasts[key] { return known }
    var newest: [Int64: Int64] = [:]
    let log = logs[branch: branch]?.log
    for own in logs.path(branch, through: UInt64(bitPattern: sequence)) {
      newest[own.branch] = Int64(bitPattern: own.last)
      // A set never depends on a set of its own log.
      for other in try logs.declaredBranches(own.branch) where logs[branch: other]?.log != log {
        let declared = try logs.declared(own.branch, through: own.last, of: other)
        guard declared > 0 else { continue }
        // A dependency on a set implies all its ancestors in that log.
        logs.eachStretch(of: other, through: declared) { stretch in
          let last = Int64(bitPattern: stretch.last)
          // If this stretch is already covered, its ancestors are too.
          guard newest[stretch.branch] ?? 0 < last else { return false }
          newest[stretch.branch] = last
          return true
        }
      }
    }
    pastsCount += newest.count
    if pastsCount > Self.pastsKept { (pasts, pastsCount) = ([:], newest.count) }
    pasts[key] = newest
    return newest
  }

  /// Returns the same question about the parent branch, at the fork; nil if there is no parent.
  private func below(_ question: Question) -> Question? {
    guard let branch = logs[branch: question.branch], let parent = branch.parent else { return nil }
    let last = min(question.sequence, Int64(bitPattern: branch.first) - 1)
    return Question(branch: parent, sequence: last, about: question.about)
  }

  /// Returns the newest sequence of an unforked log that a branch, excluding its parents, has declared as seen.
  private func declared(_ question: Question, in log: LogKey) throws -> Int64 {
    guard let branch = logs[branch: question.branch] else { return 0 }
    let last = min(question.sequence, Int64(bitPattern: branch.sequence))
    guard last >= Int64(bitPattern: branch.first) else { return 0 }
    if branch.number == question.about { return last }
    guard branch.log != log else { return 0 }
    let through = UInt64(bitPattern: last)
    return Int64(bitPattern: try logs.declared(branch.number, through: through, of: question.about))
  }
}
