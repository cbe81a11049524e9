// Protocol/session.md, "Heads and needs"

package import Wire

/// The newest stored set of a log, or of one branch of a forked log, and how far the log is folded.
package struct LogHead: Hashable, Sendable {
  package let log: LogKey
  package let sequence: UInt64
  package let id: ChangeSetID
  /// The sequence of the newest folded set; 0 if none is folded yet.
  package let foldedSequence: UInt64

  package init(log: LogKey, sequence: UInt64, id: ChangeSetID, foldedSequence: UInt64) {
    self.log = log
    self.sequence = sequence
    self.id = id
    self.foldedSequence = foldedSequence
  }

  package var parked: UInt64 { sequence - foldedSequence }
}

/// A requested range of a log, up to a tip that the peer announced.
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

/// The heads of a lane: one per log, or one per branch of a forked log.
package struct Heads: Hashable, Sendable {
  /// The tips of each log, in ascending order of sequence and then id.
  private var byLog: [LogKey: [LogHead]] = [:]
  /// The number of tips in all logs together.
  package private(set) var count = 0

  package init(_ heads: [LogHead] = []) { replace(heads) }

  /// The newest tip of a log.
  package subscript(log: LogKey) -> LogHead? { byLog[log]?.last }

  package func tips(of log: LogKey) -> [LogHead] { byLog[log] ?? [] }

  package func tipCount(of log: LogKey) -> Int { byLog[log]?.count ?? 0 }

  package var sorted: [LogHead] { byLog.sorted { $0.key < $1.key }.flatMap(\.value) }

  package var isEmpty: Bool { byLog.isEmpty }

  /// Whether a set is a tip of its log.
  package func contains(_ head: LogHead) -> Bool { known(head) != nil }

  /// Returns the tip with the same sequence and id, which a binary search finds; nil if there is none. Its folded
  /// sequence may differ.
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

  /// Whether all of these heads are present, with the same folded sequences.
  func hold(_ heads: [LogHead]) -> Bool { heads.allSatisfy { known($0) == $0 } }

  /// Replaces all tips of the logs that these heads belong to. Other logs stay unchanged.
  package mutating func replace(_ heads: [LogHead]) {
    for (log, tips) in Dictionary(grouping: heads, by: \.log) { set(log, tips.sorted(by: Self.isOlder)) }
  }

  /// Removes the tips in `gone` and adds those in `moved`. Other tips of these logs stay unchanged.
  package mutating func move(_ moved: [LogHead], gone: [LogHead]) {
    let gone = Dictionary(grouping: gone, by: \.log)
    let moved = Dictionary(grouping: moved, by: \.log)
    for log in Set(gone.keys).union(moved.keys) {
      let added = moved[log] ?? []
      let left = Set((gone[log] ?? []).map(\.id)).union(added.map(\.id))
      set(log, (tips(of: log).filter { !left.contains($0.id) } + added).sorted(by: Self.isOlder))
    }
  }

  /// Cuts a log off after the set `last`. If the sequence of `last` is 0, removes the log.
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

  /// Whether one head comes before another: heads are ordered by log, and the tips of one log by sequence and then id.
  package static func isBefore(_ left: LogHead, _ right: LogHead) -> Bool {
    left.log == right.log ? isOlder(left, right) : left.log < right.log
  }

  /// Returns the part of a peer's heads that is kept, so that a peer can't make this node remember more than
  /// `Limits.headsMax` heads.
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

  /// Merges heads that a peer announced. If a log has forked, the peer may announce only some of its tips; the other
  /// tips stay, because the peer still has them. An announcement that crossed with newer sets changes nothing.
  package mutating func observe(_ heads: [LogHead]) {
    for (log, tips) in Dictionary(grouping: heads, by: \.log) {
      if tips.count == 1, tipCount(of: log) <= 1 { advance(to: tips[0]) } else { move(tips, gone: []) }
    }
  }

  /// Records the newest set sent to a peer or received from it. Ignores forked logs, because for these only the heads
  /// that the peer announces count.
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

  /// Whether a peer's tip is missing here; nil if the log has forked and only the store can tell.
  package func lacks(_ tip: LogHead, among tips: Int = 1) -> Bool? {
    if contains(tip) { return false }
    guard tips <= 1, tipCount(of: tip.log) <= 1 else { return nil }
    // A peer with an older tip on another branch finds out about the fork itself, from the sets that it receives.
    return tip.sequence >= self[tip.log]?.sequence ?? 0
  }

  /// Returns the range of sets to request for a tip that is missing here.
  ///
  /// - Parameter back: how many earlier sets to include, because the tip's branch forks off before our oldest tip.
  package func want(_ tip: LogHead, back: UInt64 = 0) -> Want {
    let oldest = byLog[tip.log]?.first?.sequence ?? 0
    let from = min(tip.sequence, oldest + 1)
    return Want(log: tip.log, from: from > back ? from - back : 1, through: tip.sequence, tip: tip.id)
  }

  /// Returns the ranges of sets that `other` has and this side lacks, or may lack where a log has forked.
  package func needs(from other: Heads) -> [Want] {
    other.sorted
      .filter { lacks($0, among: other.tipCount(of: $0.log)) ?? true }
      .map { want($0) }
  }

  /// Returns how many change sets `other` has and this side lacks, as far as heads can tell.
  package func behind(_ other: Heads) -> UInt64 { needs(from: other).reduce(0) { $0 &+ $1.count } }

  /// The hash of the stored heads. It is equal on two nodes if and only if they store the same sets.
  package var storedHash: Bytes32 {
    hash(HeadsPrefix.stored) { $0.sequence }
  }

  /// The hash of the folded heads. On two nodes with equal stored heads, it is equal if and only if they have folded
  /// the same sets.
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
