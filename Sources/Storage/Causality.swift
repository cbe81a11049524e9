// Protocol/merge.md, "Causality"

import Replication
import SQLite
import Wire

/// A stored set as the author of writes: where it stands in the total order and in its log.
struct SetPlace {
  let origin: WriteOrigin
  let branch: Int64
  let sequence: Int64
}

/// Answers which set has seen which, from the dependencies that logs declare.
final class Causality {
  private struct Question: Hashable {
    let branch: Int64
    let sequence: Int64
    let about: Int64
  }

  private let load: Statement
  private let newest: Statement
  private var places: [Int64: SetPlace] = [:]
  private var answers: [Question: Int64] = [:]
  private static let kept = 20_000

  init(_ connection: Connection) throws {
    load = try connection.prepare(
      """
      SELECT c.id, c.clock, c.branch, c.sequence, b.device
      FROM change_sets c JOIN branches b ON b.branch = c.branch WHERE c.number = ?1
      """)
    newest = try connection.prepare(
      """
      SELECT dep_sequence FROM dependencies WHERE branch = ?1 AND dep_branch = ?2 AND sequence <= ?3
      ORDER BY sequence DESC LIMIT 1
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
    if number == 0 { return SetPlace(origin: .seed, branch: 0, sequence: 0) }
    try load.bind(1, number)
    defer { load.reset() }
    guard try load.step(), let id = ChangeSetID(bytes: load.bytes(0)),
      let device = DeviceKey(bytes: load.bytes(4))
    else { throw StoreError.damaged("change set \(number) is not there") }
    let clock = Clock(raw: UInt64(bitPattern: load.integer(1)))
    let place = SetPlace(
      origin: WriteOrigin(number: number, stamp: Stamp(clock: clock, device: device, set: id)),
      branch: load.integer(2), sequence: load.integer(3))
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

  /// The newest sequence of another branch that a branch had declared at a sequence of its own; 0 if none.
  func newestSeen(_ branch: Int64, sequence: Int64, of other: Int64) throws -> Int64 {
    let question = Question(branch: branch, sequence: sequence, about: other)
    if let known = answers[question] { return known }
    try newest.bind(1, branch)
    try newest.bind(2, other)
    try newest.bind(3, sequence)
    defer { newest.reset() }
    let seen = try newest.step() ? newest.integer(0) : 0
    if answers.count > Self.kept { answers = [:] }
    answers[question] = seen
    return seen
  }
}
