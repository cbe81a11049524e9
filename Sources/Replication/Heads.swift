// Protocol/session.md, "Heads and needs"

package import Wire

/// The newest set of a log, or of a branch of it, in store, and the newest folded one.
package struct LogHead: Hashable, Sendable {
  package let log: LogKey
  package let sequence: UInt64
  package let id: ChangeSetID
  /// 0 if nothing of the log is folded yet.
  package let foldedSequence: UInt64

  package init(log: LogKey, sequence: UInt64, id: ChangeSetID, foldedSequence: UInt64) {
    self.log = log
    self.sequence = sequence
    self.id = id
    self.foldedSequence = foldedSequence
  }

  package var parked: UInt64 { sequence - foldedSequence }
}

/// A stretch of a log that is asked for: up to the tip that the peer announced.
package struct Want: Hashable, Sendable {
  package let log: LogKey
  package let from: UInt64
  package let through: UInt64
  package let tip: ChangeSetID

  package init(log: LogKey, from: UInt64, through: UInt64, tip: ChangeSetID) {
    self.log = log
    self.from = from
    self.through = through
    self.tip = tip
  }

  package var count: UInt64 { through >= from ? through - from + 1 : 0 }
}

/// The heads of a lane: one a log, or one a branch of a log that forked.
package struct Heads: Hashable, Sendable {
  /// The tips of each log, ascending by sequence, then id.
  private var byLog: [LogKey: [LogHead]] = [:]
  /// How many tips these are.
  package private(set) var count = 0

  package init(_ heads: [LogHead] = []) { replace(heads) }

  /// The newest tip of a log.
  package subscript(log: LogKey) -> LogHead? { byLog[log]?.last }

  package func tips(of log: LogKey) -> [LogHead] { byLog[log] ?? [] }

  package func tipCount(of log: LogKey) -> Int { byLog[log]?.count ?? 0 }

  package var sorted: [LogHead] { byLog.sorted { $0.key < $1.key }.flatMap(\.value) }

  package var isEmpty: Bool { byLog.isEmpty }

  /// Whether a set is a tip here.
  package func contains(_ head: LogHead) -> Bool { known(head) != nil }

  /// The same tip, as far as it is known to be folded; found without looking at all tips of the log.
  private func known(_ head: LogHead) -> LogHead? {
    guard let tips = byLog[head.log] else { return nil }
    var (low, high) = (0, tips.count)
    while low < high {
      let middle = (low + high) / 2
      if Self.isOlder(tips[middle], head) { low = middle + 1 } else { high = middle }
    }
    guard low < tips.count, tips[low].id == head.id, tips[low].sequence == head.sequence else { return nil }
    return tips[low]
  }

  /// Whether all of these are known so already.
  func hold(_ heads: [LogHead]) -> Bool { heads.allSatisfy { known($0) == $0 } }

  /// Puts the tips given in place of those known, log by log; other logs stay.
  package mutating func replace(_ heads: [LogHead]) {
    for (log, tips) in Dictionary(grouping: heads, by: \.log) { set(log, tips.sorted(by: Self.isOlder)) }
  }

  /// Takes tips away and puts others in their place; other tips of these logs stay.
  package mutating func move(_ moved: [LogHead], gone: [LogHead]) {
    let gone = Dictionary(grouping: gone, by: \.log)
    let moved = Dictionary(grouping: moved, by: \.log)
    for log in Set(gone.keys).union(moved.keys) {
      let added = moved[log] ?? []
      let left = Set((gone[log] ?? []).map(\.id)).union(added.map(\.id))
      set(log, (tips(of: log).filter { !left.contains($0.id) } + added).sorted(by: Self.isOlder))
    }
  }

  /// Takes the sets behind one out of a log; with sequence 0 all of them.
  mutating func cut(_ log: LogKey, behind last: LogHead) {
    guard let tips = byLog[log], let newest = tips.last, newest.sequence > last.sequence else { return }
    var rest = tips.filter { $0.sequence <= last.sequence && $0.id != last.id }
    if last.sequence > 0 {
      let folded = min(last.sequence, newest.foldedSequence)
      rest.append(LogHead(log: log, sequence: last.sequence, id: last.id, foldedSequence: folded))
    }
    set(log, rest.sorted(by: Self.isOlder))
  }

  private mutating func set(_ log: LogKey, _ tips: [LogHead]) {
    count += tips.count - (byLog[log]?.count ?? 0)
    byLog[log] = tips.isEmpty ? nil : tips
  }

  private static func isOlder(_ left: LogHead, _ right: LogHead) -> Bool {
    (left.sequence, left.id) < (right.sequence, right.id)
  }

  /// The order of logs, and of one log's tips.
  package static func isBefore(_ left: LogHead, _ right: LogHead) -> Bool {
    left.log == right.log ? isOlder(left, right) : left.log < right.log
  }

  /// Of what a peer tells, as much as is kept in mind.
  package func rememberable(_ heads: [LogHead]) -> [LogHead] {
    var room = Limits.headsMax - count
    guard heads.count > room else { return heads }
    let told = heads.reduce(into: [:]) { $0[$1.log, default: 0] += 1 }
    return heads.filter { head in
      let takesPlace = told[head.log] == 1 && tipCount(of: head.log) == 1
      if takesPlace || contains(head) { return true }
      room -= 1
      return room >= 0
    }
  }

  /// Takes over what a peer tells. Of a log that forked it may tell of some tips, and the others stay: what they lead
  /// to it has as well. An announcement that crossed with newer sets changes nothing.
  package mutating func observe(_ heads: [LogHead]) {
    for (log, tips) in Dictionary(grouping: heads, by: \.log) {
      if tips.count == 1, tipCount(of: log) <= 1 { advance(to: tips[0]) } else { move(tips, gone: []) }
    }
  }

  /// Notes the newest set that went to a peer or came from it. Of a log that forked the peer's own word counts.
  package mutating func advance(to head: LogHead) {
    let known = byLog[head.log] ?? []
    guard !known.isEmpty || count < Limits.headsMax else { return }
    guard known.count <= 1 else { return }
    if let known = known.first,
      (head.sequence, head.foldedSequence) <= (known.sequence, known.foldedSequence)
    {
      return
    }
    set(head.log, [head])
  }

  // MARK: Comparing

  /// Whether a peer's tip is not stored here; nil if the log has forked and heads alone can't tell.
  package func lacks(_ tip: LogHead, among tips: Int = 1) -> Bool? {
    if contains(tip) { return false }
    guard tips <= 1, tipCount(of: tip.log) <= 1 else { return nil }
    // A peer that is behind on another branch finds that out itself, from what it is sent.
    return tip.sequence >= self[tip.log]?.sequence ?? 0
  }

  /// The sets that lead to a tip that is not stored here, as far as they may be lacking too.
  ///
  /// - Parameter back: how many sets more to ask for, because the tip's branch left the own ones further back.
  package func want(_ tip: LogHead, back: UInt64 = 0) -> Want {
    let oldest = byLog[tip.log]?.first?.sequence ?? 0
    let from = min(tip.sequence, oldest + 1)
    return Want(log: tip.log, from: from > back ? from - back : 1, through: tip.sequence, tip: tip.id)
  }

  /// What `other` has and these lack, or may lack where a log has forked.
  package func needs(from other: Heads) -> [Want] {
    other.sorted
      .filter { lacks($0, among: other.tipCount(of: $0.log)) ?? true }
      .map { want($0) }
  }

  /// How many change sets `other` has and these lack.
  package func behind(_ other: Heads) -> UInt64 { needs(from: other).reduce(0) { $0 &+ $1.count } }

  /// A hash over the stored heads: equal exactly if the same sets are stored.
  package var storedHash: Bytes32 {
    hash(HeadsPrefix.stored) { $0.sequence }
  }

  /// A hash over the folded heads. Where stored heads are equal too, equal exactly if the same sets are folded.
  package var foldedHash: Bytes32 {
    hash(HeadsPrefix.folded) { $0.foldedSequence }
  }

  private func hash(_ prefix: HashPrefix, _ sequence: (LogHead) -> UInt64) -> Bytes32 {
    var input: [UInt8] = []
    for head in sorted {
      head.log.device.raw.append(to: &input)
      head.log.incarnation.raw.append(to: &input)
      appendBigEndian(sequence(head), to: &input)
      head.id.raw.append(to: &input)
    }
    return blake2b256(prefix, input)
  }
}

package enum HeadsPrefix {
  package static let stored = HashPrefix("waymark/heads/v1\0")
  package static let folded = HashPrefix("waymark/folded-heads/v1\0")
  package static let state = HashPrefix("waymark/state/v1\0")
}
