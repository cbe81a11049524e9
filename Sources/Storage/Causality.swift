// Protocol/merge.md, "Causality"

package import Replication
import SQLite
package import Wire

/// A stored set as the author of writes: where it stands in the total order and in its log.
package struct SetPosition: Sendable {
  package let origin: WriteOrigin
  package let log: LogKey
  /// The store's number of the log, or of the branch of a log that forked.
  package let branch: Int64
  package let sequence: Int64

  static let seed = SetPosition(
    origin: .seed,
    log: LogKey(device: DeviceKey(.zero), incarnation: Incarnation(.zero), lane: .settings), branch: 0,
    sequence: 0)
}

/// Answers which set has seen which, from the dependencies that logs declare.
final class Causality {
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
  /// How many branches these name.
  private var pastsCount = 0
  private static let kept = 20_000
  private static let pastsKept = 100_000

  init(_ connection: Connection, _ logs: ChangeSetLogs) throws {
    self.logs = logs
    load = try connection.prepare(
      """
      SELECT c.id, c.clock, c.branch, c.sequence, b.device, b.incarnation, b.lane
      FROM change_sets c JOIN branches b ON b.branch = c.branch WHERE c.number = ?1
      """)
  }

  /// Forgets what a transaction that was rolled back may have taught.
  func forget() {
    places = [:]
    answers = [:]
    (pasts, pastsCount) = ([:], 0)
  }

  func remember(_ place: SetPosition) {
    if places.count > Self.kept { places = [:] }
    places[place.origin.number] = place
  }

  /// The set of a number; the seed for 0.
  func place(_ number: Int64) throws -> SetPosition {
    if let known = places[number] { return known }
    if number == 0 { return .seed }
    try load.bind(1, number)
    defer { load.reset() }
    guard try load.step(), let id = ChangeSetID(bytes: load.bytes(0)),
      let device = DeviceKey(bytes: load.bytes(4)), let incarnation = Incarnation(bytes: load.bytes(5)),
      let lane = Lane(rawValue: UInt8(truncatingIfNeeded: load.integer(6)))
    else { throw StoreError.damaged("change set \(number) is not there") }
    let clock = Clock(raw: UInt64(bitPattern: load.integer(1)))
    let place = SetPosition(
      origin: WriteOrigin(number: number, stamp: Stamp(clock: clock, device: device, set: id)),
      log: LogKey(device: device, incarnation: incarnation, lane: lane), branch: load.integer(2),
      sequence: load.integer(3))
    remember(place)
    return place
  }

  func origin(_ number: Int64) throws -> WriteOrigin { try place(number).origin }

  /// Whether the causal past of one set covers another: seeds are in every past.
  func covers(_ later: Int64, _ earlier: Int64) throws -> Bool {
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

  /// The newest set of a branch in the past of a set; 0 if none.
  ///
  /// The past of a set is what its branch declared up to it, and the past of what the branch stands on: known for
  /// one set of a path, it is known soon for those above.
  func newestSeen(_ branch: Int64, sequence: Int64, of other: Int64) throws -> Int64 {
    guard let log = logs[branch: other]?.log else { return 0 }
    // Any declared branch of the log may descend from this one: one pass over them answers every such question.
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

  /// The newest set of each branch in the past of a set, its own among them: one reading answers for any number of
  /// earlier writes.
  func past(_ branch: Int64, sequence: Int64) throws -> [Int64: Int64] {
    let key = Question(branch: branch, sequence: sequence, about: branch)
    if let known = pasts[key] { return known }
    var newest: [Int64: Int64] = [:]
    let log = logs[branch: branch]?.log
    for own in logs.path(branch, through: UInt64(bitPattern: sequence)) {
      newest[own.branch] = Int64(bitPattern: own.last)
      // No set depends on one of its own log.
      for other in try logs.declaredBranches(own.branch) where logs[branch: other]?.log != log {
        let declared = try logs.declared(own.branch, through: own.last, of: other)
        guard declared > 0 else { continue }
        // Declaring a set declares all its ancestors in its log.
        logs.eachStretch(of: other, through: declared) { stretch in
          let last = Int64(bitPattern: stretch.last)
          // The ancestors of what is noted already are noted too.
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

  /// The same question about the newest set that a branch stands on.
  private func below(_ question: Question) -> Question? {
    guard let branch = logs[branch: question.branch], let parent = branch.parent else { return nil }
    let last = min(question.sequence, Int64(bitPattern: branch.first) - 1)
    return Question(branch: parent, sequence: last, about: question.about)
  }

  /// What a branch itself, without what it stands on, has seen of the only branch of a log up to a set.
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
