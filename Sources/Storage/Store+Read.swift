// Protocol/session.md, "Sets"

package import Replication
import SQLite
package import Wire

/// A change set as it is read for a peer.
package struct StoredChangeSet: Sendable {
  package let log: LogKey
  package let sequence: UInt64
  package let id: ChangeSetID
  package let raw: RawChangeSet
}

extension Store {
  /// Those of a peer's tips that are not stored here, but for what cuts leave out as far as is known.
  ///
  /// While a kept tip has not come, any set of its log may lead to it: who has some of them and who has none would
  /// else never hold the same.
  package func lacking(_ tips: [LogHead]) throws -> [LogHead] {
    let lacking = try tips.filter {
      try logs.branch(of: $0.id, $0.log, $0.sequence) == nil && !logs.excludes(new: $0.id, $0.log)
    }
    try logs.expectAllRead()
    return lacking
  }

  /// Reads what a peer wants in causal order, up to a size, and says what of it is left.
  ///
  /// At least one set is read if there is one; what is not in the store is left out of the rest.
  package func read(
    _ lane: Lane, _ wants: [Want], bytesMax: Int, setsMax: Int
  ) throws -> (sets: [StoredChangeSet], rest: [Want]) {
    var cursors = try wants.compactMap { try cursor(lane, $0) }
    var sets: [StoredChangeSet] = []
    var bytes = 0
    while sets.count < setsMax, bytes < bytesMax,
      let index = cursors.indices.min(by: { cursors[$0].number < cursors[$1].number })
    {
      // Up to the number where another log goes on, all of this one may be read. One that is at the same set must
      // not stop it: neither would come on.
      let number = cursors[index].number
      let end = cursors.map(\.number).filter { $0 > number }.min() ?? .max
      try read(&cursors[index], below: end, setsMax: setsMax, bytesMax: bytesMax, &sets, &bytes)
      cursors.removeAll { $0.isAtEnd }
    }
    let rest = cursors.map {
      Want(log: $0.want.log, from: $0.next, through: $0.want.through, tip: $0.want.tip)
    }
    return (sets, rest)
  }

  /// How far a want has been read: along the path that ends in its tip.
  private struct ReadCursor {
    let want: Want
    /// What is left, newest first.
    var stretches: [Stretch]
    var next: UInt64
    /// The number of the set at `next`.
    var number: Int64

    var isAtEnd: Bool { stretches.isEmpty }
  }

  private func cursor(_ lane: Lane, _ want: Want) throws -> ReadCursor? {
    guard want.log.lane == lane, want.from >= 1, want.from <= want.through,
      let branch = try logs.branch(of: want.tip, want.log, want.through)
    else { return nil }
    let stretches = logs.path(branch.number, through: want.through).filter { $0.last >= want.from }
    guard let oldest = stretches.last, let number = try logs.number(oldest.branch, want.from) else {
      return nil
    }
    return ReadCursor(want: want, stretches: stretches, next: want.from, number: number)
  }

  private func read(
    _ cursor: inout ReadCursor, below end: Int64, setsMax: Int, bytesMax: Int,
    _ sets: inout [StoredChangeSet], _ bytes: inout Int
  ) throws {
    while let stretch = cursor.stretches.last {
      let isDone = try read(stretch, &cursor, below: end, setsMax: setsMax, bytesMax: bytesMax, &sets, &bytes)
      guard isDone else { return }
      cursor.stretches.removeLast()
    }
  }

  /// False if there was no room for all of the stretch, or another log comes first.
  private func read(
    _ stretch: Stretch, _ cursor: inout ReadCursor, below end: Int64, setsMax: Int, bytesMax: Int,
    _ sets: inout [StoredChangeSet], _ bytes: inout Int
  ) throws -> Bool {
    let sql = """
      SELECT number, id, header, signature, body FROM change_sets
      WHERE branch = ?1 AND sequence BETWEEN ?2 AND ?3 ORDER BY sequence
      """
    return try connection.with(sql) { row in
      try row.bind(1, stretch.branch)
      try row.bind(2, Int64(bitPattern: cursor.next))
      try row.bind(3, Int64(bitPattern: stretch.last))
      while try row.step() {
        cursor.number = row.integer(0)
        guard cursor.number < end, sets.count < setsMax, bytes < bytesMax else { return false }
        guard let id = ChangeSetID(bytes: row.bytes(1)) else { throw StoreError.damaged("a change set's id") }
        let raw = RawChangeSet(header: row.bytes(2), signature: row.bytes(3), body: row.bytes(4))
        // The peer would take altered bytes for an attack, and this device for the attacker. What follows would have no
        // place there: another peer is asked for it.
        guard raw.isIntact(as: id, sealed: seals[cursor.number]) else {
          try noteDamaged(cursor.number)
          cursor.stretches = []
          return false
        }
        sets.append(StoredChangeSet(log: cursor.want.log, sequence: cursor.next, id: id, raw: raw))
        bytes += raw.byteCount
        cursor.next += 1
      }
      guard cursor.next > stretch.last else { throw StoreError.damaged("a gap in a log") }
      return true
    }
  }
}

/// The signatures of sets that were verified lately, by their numbers: what was altered since is not sent, and what was
/// not need not be verified again.
struct Seals {
  private var byNumber: [Int64: Int] = [:]

  subscript(number: Int64) -> Int? { byNumber[number] }

  mutating func note(_ set: VerifiedChangeSet, _ place: SetPlace) {
    if byNumber.count >= Self.countMax { byNumber = [:] }
    byNumber[place.origin.number] = set.raw.seal
  }

  private static let countMax = 8_192
}
