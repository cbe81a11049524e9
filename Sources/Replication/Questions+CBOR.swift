// Protocol/session.md, "Questions"

import Wire

extension CBORWriter {
  private enum Form {
    static let heads: UInt64 = 0
    static let digests: UInt64 = 1
    static let bucket: UInt64 = 2
    static let inventory: UInt64 = 3
  }

  mutating func question(_ question: Question) {
    switch question {
    case .heads:
      array(1)
      unsigned(Form.heads)
    case .digests:
      array(1)
      unsigned(Form.digests)
    case .bucket(let bucket, let after):
      array(3)
      unsigned(Form.bucket)
      unsigned(UInt64(bucket))
      place(after)
    case .inventory(let after):
      array(2)
      unsigned(Form.inventory)
      place(after)
    }
  }

  mutating func content(_ content: Answer.Content) {
    array(2)
    switch content {
    case .heads(let heads):
      unsigned(Form.heads)
      list(heads) { $0.head($1) }
    case .digests(let sums):
      unsigned(Form.digests)
      byteString(sums.flatMap(\.bytes))
    case .bucket(let records):
      unsigned(Form.bucket)
      list(records) { writer, record in
        writer.array(3)
        writer.key(record.key)
        writer.byteString(record.hash)
      }
    case .inventory(let items):
      unsigned(Form.inventory)
      list(items) { $0.item($1) }
    }
  }

  private mutating func place(_ key: RecordKey?) {
    guard let key else { return null() }
    array(2)
    self.key(key)
  }

  private mutating func key(_ key: RecordKey) {
    unsigned(UInt64(key.kind.rawValue))
    byteString(key.id.raw)
  }

  private mutating func item(_ item: InventoryItem) {
    array(item.rank == nil ? 3 : 8)
    key(item.key)
    byteString(item.hash)
    guard let rank = item.rank else { return }
    integer(rank.updatedAt)
    unsigned(UInt64(rank.nonEmptyFields))
    unsigned(rank.stamp.clock.raw)
    byteString(rank.stamp.device.raw)
    byteString(rank.stamp.set.raw)
  }
}

extension CBORReader {
  mutating func question() throws(WireError) -> Question {
    let start = offset
    let count = try array(max: 3)
    switch (try unsigned(max: 3), count) {
    case (0, 1): return .heads
    case (1, 1): return .digests
    case (2, 3): return .bucket(UInt8(try unsigned(max: 255)), after: try place())
    case (3, 2): return .inventory(after: try place())
    default: throw .unexpected(offset: start)
    }
  }

  mutating func content(_ lane: Lane, headsMax: Int) throws(WireError) -> Answer.Content {
    try array(exactly: 2)
    switch try unsigned(max: 3) {
    case 0: return .heads(try list(max: headsMax) { r throws(WireError) in try r.head(lane) })
    case 1: return .digests(try sums())
    case 2:
      return .bucket(
        try list(max: Limits.answerItemsMax) { r throws(WireError) in
          try r.array(exactly: 3)
          return RecordHash(key: try r.key(), hash: try r.bytes32())
        })
    default:
      return .inventory(
        try list(max: Limits.answerItemsMax) { r throws(WireError) in try r.item() })
    }
  }

  private mutating func sums() throws(WireError) -> [Bytes32] {
    let start = offset
    let bytes = try byteString(max: Answer.digestCount * Bytes32.count)
    var sums: [Bytes32] = []
    var rest = bytes[...]
    while let sum = Bytes32(rest.prefix(Bytes32.count)) {
      sums.append(sum)
      rest = rest.dropFirst(Bytes32.count)
    }
    guard rest.isEmpty, sums.count == Answer.digestCount else { throw .unexpected(offset: start) }
    return sums
  }

  private mutating func place() throws(WireError) -> RecordKey? {
    if try nullIfPresent() { return nil }
    try array(exactly: 2)
    return try key()
  }

  private mutating func key() throws(WireError) -> RecordKey {
    let start = offset
    guard let kind = KindNumber(try unsigned()) else { throw .unexpected(offset: start) }
    return RecordKey(kind: kind, id: RecordID(try bytes16()))
  }

  private mutating func item() throws(WireError) -> InventoryItem {
    let start = offset
    let count = try array(max: 8)
    let key = try key()
    let hash = try bytes32()
    if count == 3 { return InventoryItem(key: key, hash: hash, rank: nil) }
    guard count == 8 else { throw .unexpected(offset: start) }
    let updatedAt = try integer()
    // A plan may state more than there are fields, and decides even then.
    let filled = try unsigned(max: Int(Fields.max))
    let stamp = Stamp(
      clock: Clock(raw: try unsigned()), device: DeviceKey(try bytes32()), set: ChangeSetID(try bytes32()))
    return InventoryItem(
      key: key, hash: hash, rank: WholeRecordRank(updatedAt: updatedAt, nonEmptyFields: filled, stamp: stamp))
  }
}
