// Protocol/session.md, "Sets"

import LogStorage
package import Replication
import SQLite
package import Wire

/// A change set read for sending to a peer.
package struct StoredChangeSet: Sendable {
  package let log: LogKey
  package let sequence: UInt64
  package let id: ChangeSetID
  package let raw: RawChangeSet
}

extension Store {
  /// Returns those of a peer's tips that are not stored here, except tips that a cut is known to exclude.
  ///
  /// While a kept tip is missing, any set of its log may lead to that tip, so such sets must be requested. Otherwise a
  /// device that has some of them and a device that has none would never converge.
  package func lacking(_ tips: [LogHead]) throws -> [LogHead] {
    let lacking = try tips.filter {
      try logs.branch(of: $0.id, $0.log, $0.sequence) == nil
        && !logs.excludes(new: $0.id, $0.log, $0.sequence)
    }
    try logs.expectAllRead()
    return lacking
  }

  /// Reads the sets that a peer wants, in causal order and up to the given limits. Also returns the wants that remain
  /// unread.
  ///
  /// At least one set is read if any wanted set is stored. Wants for sets that are not stored are dropped. Where
  /// several wants overlap in one log, the shared part is read only once.
  package func read(
    _ lane: Lane, _ wants: [Want], bytesMax: Int, setsMax: Int
  ) throws -> (sets: [StoredChangeSet], rest: [Want]) {
    let served = try wants.compactMap { try servedWant(lane, $0) }
    var cursors = try readCursors(served)
    var unread: [Int64: UInt64] = [:]
    for cursor in cursors { unread[cursor.branch] = cursor.next }
    // Descending, so that the next cursor is the last element.
    cursors.sort { $0.number > $1.number }
    var sets: [StoredChangeSet] = []
    var bytes = 0
    while sets.count < setsMax, bytes < bytesMax, var cursor = cursors.popLast() {
      // Sets are read from this branch up to the number at which the next branch continues.
      try read(
        &cursor, below: cursors.last?.number ?? .max, setsMax: setsMax, bytesMax: bytesMax, &sets, &bytes)
      unread[cursor.branch] = cursor.next
      guard cursor.next <= cursor.last else { continue }
      let index = place(of: cursor.number, in: cursors)
      cursors.insert(cursor, at: index)
    }
    guard !cursors.isEmpty else { return (sets, []) }
    return (sets, served.compactMap { rest(of: $0, unread) })
  }

  private struct ServedWant {
    let want: Want
    /// The branch that holds the tip.
    let branch: Int64
  }

  /// The range to read from one branch, and the position reached in it.
  private struct ReadCursor {
    let branch: Int64
    let log: LogKey
    var next: UInt64
    var last: UInt64
    /// The number of the set at `next`.
    var number: Int64 = 0
  }

  /// Returns the index at which to insert a cursor so that cursors stay sorted by number, descending.
  private func place(of number: Int64, in cursors: [ReadCursor]) -> Int {
    var (low, high) = (0, cursors.count)
    while low < high {
      let middle = (low + high) / 2
      if cursors[middle].number > number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func servedWant(_ lane: Lane, _ want: Want) throws -> ServedWant? {
    guard want.log.lane == lane, want.from >= 1, want.from <= want.through,
      let branch = try logs.branch(of: want.tip, want.log, want.through)
    else { return nil }
    return ServedWant(want: want, branch: branch.number)
  }

  /// Returns one cursor per branch. Together, they cover the wanted sets without overlap.
  private func readCursors(_ wants: [ServedWant]) throws -> [ReadCursor] {
    var found: [Int64: ReadCursor] = [:]
    // If an earlier want has already visited a branch, the path need not be followed further: wants are sorted, so the
    // earlier want began at the same sequence or before.
    for served in wants.sorted(by: { $0.want.from < $1.want.from }) {
      let want = served.want
      logs.eachStretch(of: served.branch, through: want.through) { stretch in
        guard stretch.last >= want.from else { return false }
        let first = max(stretch.first, want.from)
        guard let known = found[stretch.branch] else {
          found[stretch.branch] = ReadCursor(
            branch: stretch.branch, log: want.log, next: first, last: stretch.last)
          return true
        }
        if known.last < stretch.last { found[stretch.branch]?.last = stretch.last }
        return false
      }
    }
    return try found.values.compactMap { cursor in
      guard let number = try logs.number(cursor.branch, cursor.next) else { return nil }
      var cursor = cursor
      cursor.number = number
      return cursor
    }
  }

  /// Returns the unread part of a want; nil if everything was read.
  private func rest(of served: ServedWant, _ unread: [Int64: UInt64]) -> Want? {
    let want = served.want
    var next: UInt64?
    logs.eachStretch(of: served.branch, through: want.through) { stretch in
      guard stretch.last >= want.from else { return false }
      let first = max(stretch.first, want.from, unread[stretch.branch] ?? 0)
      if first <= stretch.last { next = first }
      return true
    }
    return next.map { Want(log: want.log, from: $0, through: want.through, tip: want.tip) }
  }

  /// Reads from a cursor until a limit is reached or another branch comes first.
  private func read(
    _ cursor: inout ReadCursor, below end: Int64, setsMax: Int, bytesMax: Int,
    _ sets: inout [StoredChangeSet], _ bytes: inout Int
  ) throws {
    let sql = """
      SELECT number, id, \(RawChangeSet.columns) FROM change_sets
      WHERE branch = ?1 AND sequence BETWEEN ?2 AND ?3 ORDER BY sequence
      """
    try connection.with(sql) { row in
      try row.bind(1, cursor.branch)
      try row.bind(2, Int64(bitPattern: cursor.next))
      try row.bind(3, Int64(bitPattern: cursor.last))
      while try row.step() {
        cursor.number = row.integer(0)
        guard cursor.number < end, sets.count < setsMax, bytes < bytesMax else { return }
        guard let id = ChangeSetID(bytes: row.bytes(1)) else { throw StoreError.damaged("bad change set id") }
        let raw = RawChangeSet(row, at: 2)
        // The peer would treat altered bytes as an attack by this device. It could not place the sets that follow
        // either, so reading this log stops here and the peer must ask another device.
        guard raw.isIntact(as: id, sealed: seals[cursor.number]) else {
          try noteDamaged(cursor.number)
          cursor.next = cursor.last &+ 1
          return
        }
        sets.append(StoredChangeSet(log: cursor.log, sequence: cursor.next, id: id, raw: raw))
        bytes += raw.byteCount
        cursor.next += 1
      }
      guard cursor.next > cursor.last else { throw StoreError.damaged("a log has a gap") }
    }
  }
}

/// Hashes of the signatures of recently verified sets, by set number. If a stored signature still matches its hash, the
/// set need not be verified again before it is sent; if not, the set was altered and is not sent.
struct Seals {
  private var byNumber: [Int64: Int] = [:]

  subscript(number: Int64) -> Int? { byNumber[number] }

  mutating func note(_ set: VerifiedChangeSet, _ place: SetPosition) {
    if byNumber.count >= Self.countMax { byNumber = [:] }
    byNumber[place.origin.number] = set.raw.seal
  }

  private static let countMax = 8_192
}
