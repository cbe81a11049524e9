// Protocol/session.md, "Questions"

package import Wire

/// What a device may ask a peer about a lane, besides what sync needs.
package enum Question: Hashable, Sendable {
  /// Which sets the peer has stored and folded.
  case heads
  /// The digest in 256 sums, by the first byte of record ids.
  case digests
  /// The records behind one of these sums, in order, from behind a record on.
  case bucket(UInt8, after: RecordKey?)
  /// What is visible, in order, from behind a record on.
  case inventory(after: RecordKey?)
}

/// A question on its way: at most one in each direction of a session.
package struct Query: Hashable, Sendable {
  /// Ascends within a session.
  package let token: UInt64
  package let lane: Lane
  package let question: Question

  package init(token: UInt64, lane: Lane, question: Question) {
    self.token = token
    self.lane = lane
    self.question = question
  }
}

/// What a device says of itself when it is asked: a page, if there is much of it.
package struct Answer: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case heads([LogHead])
    case digests([Bytes32])
    case bucket([RecordHash])
    case inventory([InventoryItem])
  }

  package let lane: Lane
  /// The hash of folded heads that the answer is true for.
  package let folded: Bytes32
  /// Nothing comes behind the last item.
  package let isDone: Bool
  package let content: Content

  package init(lane: Lane, folded: Bytes32, isDone: Bool, content: Content) {
    self.lane = lane
    self.folded = folded
    self.isDone = isDone
    self.content = content
  }

  package static let digestCount = 256
}

/// What a stored record, visible or not, adds to the digest.
package struct RecordHash: Hashable, Sendable {
  package let key: RecordKey
  package let hash: Bytes32

  package init(key: RecordKey, hash: Bytes32) {
    self.key = key
    self.hash = hash
  }
}

/// A visible record and a hash of what it says, whoever wrote it and when.
package struct InventoryItem: Hashable, Sendable {
  package let key: RecordKey
  package let hash: Bytes32
  /// Of whole records: what decides which of two shows.
  package let rank: WholeRecordRank?

  package init(key: RecordKey, hash: Bytes32, rank: WholeRecordRank?) {
    self.key = key
    self.hash = hash
    self.rank = rank
  }

  /// The hash of a record's fields, given as canonical contents. What holds nothing counts as absent.
  package static func hash(of contents: [FieldNumber: [UInt8]]) -> Bytes32 {
    let held = contents.filter { $0.key != Fields.life && $0.value != null }.sorted { $0.key < $1.key }
    var writer = CBORWriter()
    writer.map(held.count)
    for (field, content) in held {
      writer.unsigned(UInt64(field))
      writer.raw(content)
    }
    return blake2b256(prefix, writer.bytes)
  }

  private static let null: [UInt8] = [0xf6]
  private static let prefix = HashPrefix("waymark/record-contents/v1\0")
}

/// What became of a question.
package enum Reply: Sendable {
  case answer(Answer)
  /// One of the two sides keeps the lane closed.
  case refused(LaneReason)
}

extension Answer {
  /// Whether a correct device could answer the query so: the form asked for, items that ascend from behind the
  /// one named, of the lane and range asked for, and at least one if more are to come.
  func fits(_ query: Query) -> Bool {
    guard lane == query.lane else { return false }
    switch (content, query.question) {
    case (.heads(let heads), .heads): return isDone && heads.allSatisfy { $0.log.lane == lane }
    case (.digests(let sums), .digests): return isDone && sums.count == Self.digestCount
    case (.bucket(let records), .bucket(let bucket, let after)):
      let isInside = records.allSatisfy { $0.key.id.bucket == bucket }
      return isInside && ascends(records.map(\.key), from: after)
    case (.inventory(let items), .inventory(let after)):
      let hasRanks = items.allSatisfy { ($0.rank != nil) == ($0.key.kind.mergeClass == .wholeRecord) }
      return hasRanks && ascends(items.map(\.key), from: after)
    default: return false
    }
  }

  /// Whether one message holds the answer. Only heads can be too many for it.
  var fitsMessage: Bool {
    guard case .heads(let heads) = content else { return true }
    return heads.count <= Limits.headsPerMessageMax
  }

  private func ascends(_ keys: [RecordKey], from start: RecordKey?) -> Bool {
    guard isDone || !keys.isEmpty else { return false }
    var last = start
    for key in keys {
      guard key.kind.lane == lane, last.map({ $0 < key }) ?? true else { return false }
      last = key
    }
    return true
  }
}

extension RecordID {
  /// Which of the 256 sums of a digest the record is in.
  package var bucket: UInt8 { UInt8(truncatingIfNeeded: raw.word0 >> 56) }
}
