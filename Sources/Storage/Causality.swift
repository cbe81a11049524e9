// Protocol/merge.md, "Causality"

package import Replication
import SQLite
package import Wire

/// A stored set as the author of writes: where it stands in the total order and in its log.
package struct SetPlace: Sendable {
  package let origin: WriteOrigin
  package let log: LogKey
  let branch: Int64
  let sequence: Int64

  static let seed = SetPlace(
    origin: .seed,
    log: LogKey(device: DeviceKey(.zero), incarnation: Incarnation(.zero), lane: .settings), branch: 0,
    sequence: 0)

  /// Whether a cut holds the set; every cut holds seeds.
  package func isWithin(_ cut: [LogKey: UInt64]) -> Bool {
    UInt64(bitPattern: sequence) <= cut[log] ?? 0
  }
}

/// Answers which set has seen which, from the dependencies that logs declare.
final class Causality {
  private struct Question: Hashable {
    let branch: Int64
    let sequence: Int64
    let about: Int64
  }

  private let logs: Logs
  private let load: Statement
  private var places: [Int64: SetPlace] = [:]
  private var answers: [Question: Int64] = [:]
  private static let kept = 20_000

  init(_ connection: Connection, _ logs: Logs) throws {
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
  }

  func remember(_ place: SetPlace) {
    if places.count > Self.kept { places = [:] }
    places[place.origin.number] = place
  }

  /// The set of a number; the seed for 0.
  func place(_ number: Int64) throws -> SetPlace {
    if let known = places[number] { return known }
    if number == 0 { return .seed }
    try load.bind(1, number)
    defer { load.reset() }
    guard try load.step(), let id = ChangeSetID(bytes: load.bytes(0)),
      let device = DeviceKey(bytes: load.bytes(4)), let incarnation = Incarnation(bytes: load.bytes(5)),
      let lane = Lane(rawValue: UInt8(truncatingIfNeeded: load.integer(6)))
    else { throw StoreError.damaged("change set \(number) is not there") }
    let clock = Clock(raw: UInt64(bitPattern: load.integer(1)))
    let place = SetPlace(
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
    let seen = try newestSeen(after.branch, sequence: after.sequence, of: before.branch)
    return seen >= before.sequence
  }

  /// The newest set of a branch in the past of a set; 0 if none.
  ///
  /// Where logs have forked, the past is what all stretches of the path declared, and who declared a set of a
  /// branch has seen what that branch stands on.
  func newestSeen(_ branch: Int64, sequence: Int64, of other: Int64) throws -> Int64 {
    let question = Question(branch: branch, sequence: sequence, about: other)
    if let known = answers[question] { return known }
    var seen: Int64 = 0
    let above = logs.branches(over: other)
    for stretch in logs.path(branch, through: UInt64(bitPattern: sequence)) {
      if stretch.branch == other { seen = max(seen, Int64(bitPattern: stretch.last)) }
      for (over, newest) in above {
        let declared = try logs.declared(stretch.branch, through: stretch.last, of: over)
        guard declared > 0 else { continue }
        seen = max(seen, Int64(bitPattern: over == other ? declared : newest))
      }
    }
    if answers.count > Self.kept { answers = [:] }
    answers[question] = seen
    return seen
  }
}
