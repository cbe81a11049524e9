// Protocol/session.md, "Heads and needs"

package import Wire

/// The newest set of a log in store and the newest folded one.
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

/// The heads of a lane, in order of logs.
package struct Heads: Hashable, Sendable {
  private var byLog: [LogKey: LogHead] = [:]

  package init(_ heads: [LogHead] = []) {
    for head in heads { byLog[head.log] = head }
  }

  package subscript(log: LogKey) -> LogHead? { byLog[log] }

  package var sorted: [LogHead] { byLog.values.sorted { $0.log < $1.log } }

  package var isEmpty: Bool { byLog.isEmpty }

  package mutating func set(_ head: LogHead) { byLog[head.log] = head }

  /// Takes over what is newer; an older announcement that arrives late changes nothing.
  package mutating func advance(_ heads: [LogHead]) {
    for head in heads {
      guard let known = byLog[head.log] else {
        byLog[head.log] = head
        continue
      }
      if (head.sequence, head.foldedSequence) > (known.sequence, known.foldedSequence) {
        byLog[head.log] = head
      }
    }
  }

  /// What `other` has and these lack.
  package func needs(from other: Heads) -> [Want] {
    other.sorted.compactMap { theirs in
      let mine = byLog[theirs.log]?.sequence ?? 0
      guard theirs.sequence > mine else { return nil }
      return Want(log: theirs.log, from: mine + 1, through: theirs.sequence, tip: theirs.id)
    }
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
