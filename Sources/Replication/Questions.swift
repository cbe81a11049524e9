// Protocol/session.md, "Questions"

package import Wire

/// A question about a peer's lane that sync itself does not need. Diagnostics and overrides ask such questions.
package enum Question: Hashable, Sendable {
  /// The heads of the sets that the peer has stored and folded.
  case heads
  /// The digest, split into 256 sums by the first byte of the record id.
  case digests
  /// The records that one of these sums covers, in order, beginning after the given record.
  case bucket(UInt8, after: RecordKey?)
  /// The visible records, in order, beginning after the given record.
  case inventory(after: RecordKey?)
}

/// A question that was asked and has not been answered yet. There is at most one in each direction of a session.
package struct Query: Hashable, Sendable {
  /// A number that identifies the question and ascends within a session.
  package let token: UInt64
  package let lane: Lane
  package let question: Question

  package init(token: UInt64, lane: Lane, question: Question) {
    self.token = token
    self.lane = lane
    self.question = question
  }
}

/// The answer to a question. Long answers come in pages.
package struct Answer: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case heads([LogHead])
    case digests([Bytes32])
    case bucket([RecordHash])
    case inventory([InventoryItem])
  }

  package let lane: Lane
  /// The hash of the folded heads for which the answer holds.
  package let folded: Bytes32
  /// Whether this is the last page.
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

/// A stored record, visible or not, and the hash that it adds to the digest.
package struct RecordHash: Hashable, Sendable {
  package let key: RecordKey
  package let hash: Bytes32

  package init(key: RecordKey, hash: Bytes32) {
    self.key = key
    self.hash = hash
  }
}

/// A visible record and a hash of its contents that does not depend on their author or time.
package struct InventoryItem: Hashable, Sendable {
  package let key: RecordKey
  package let hash: Bytes32
  /// For whole records, the rank of the put that is displayed; nil for all other records.
  package let rank: WholeRecordRank?

  package init(key: RecordKey, hash: Bytes32, rank: WholeRecordRank?) {
    self.key = key
    self.hash = hash
    self.rank = rank
  }

  /// Returns the hash of a record's fields, which are given as canonical contents. A field that is null counts as
  /// absent, and the field `life` is left out.
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

/// The outcome of a question.
package enum Reply: Sendable {
  case answer(Answer)
  /// One of the two sides refuses the question.
  case refused(LaneReason)
}

extension Answer {
  /// Whether this is a valid answer to the query. It must have the requested form, lane and range. Its items must
  /// ascend and come after the record that the query names. If more pages follow, it must have at least one item.
  package func fits(_ query: Query) -> Bool {
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

  /// Whether the answer fits into one message. Only a list of heads can be too long, because it is not split into
  /// pages.
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
  /// The index of the record's sum among the 256 sums of a digest.
  package var bucket: UInt8 { UInt8(truncatingIfNeeded: raw.word0 >> 56) }
}
