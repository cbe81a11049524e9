import Sodium
import Wire

@testable import Replication

/// Change sets that are written item by item, so that they may break rules that `Author` follows.
struct HandmadeSet {
  /// The entries of the plan, encoded.
  var entries: [[UInt8]]
  /// The content of each slot.
  var contents: [[UInt8]] = []
  var seed = Bytes16(5, 5)
  var lane = Lane.records

  var plan: [UInt8] {
    var writer = CBORWriter()
    writer.map(entries.isEmpty ? 1 : 2)
    writer.unsigned(0)
    writer.text("edit")
    if !entries.isEmpty {
      writer.unsigned(2)
      writer.array(entries.count)
      for entry in entries { writer.raw(entry) }
    }
    return writer.bytes
  }

  /// The complete values.
  var values: [UInt8] {
    guard !contents.isEmpty else { return [] }
    var writer = CBORWriter()
    writer.array(2)
    writer.byteString(seed)
    writer.array(contents.count)
    for content in contents { writer.byteString(content) }
    return writer.bytes
  }

  func salt(_ slot: Int) -> [UInt8] {
    let number = slot / 4
    let block = Blake2b512.hash(
      Array("waymark/salts/v1\0".utf8) + seed.bytes
        + [UInt8(number >> 24), UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)])
    return Array(block[slot % 4 * 16..<slot % 4 * 16 + 16])
  }

  func commitment(_ slot: Int) -> [UInt8] {
    Blake2b256.bytes(Blake2b256.hash(Array("waymark/commitment/v1\0".utf8) + salt(slot) + contents[slot]))
  }

  var header: ChangeSetHeader {
    let commitments = contents.indices.flatMap(commitment)
    return ChangeSetHeader(
      circle: testCircle, log: Device.alice.log(lane), sequence: 1, previous: nil,
      clock: Clock(milliseconds: 5), dependencies: [], operation: operation(1), logBytes: 0,
      content: ContentSummary(
        planBytes: plan.count, planHash: blake2b256(ChangeSetPrefix.plan, plan), valuesBytes: values.count,
        commitmentsHash: contents.isEmpty ? nil : blake2b256(ChangeSetPrefix.values, commitments)))
  }

  /// The signed set with its complete values, or with others.
  func raw(_ values: [UInt8]? = nil) -> RawChangeSet {
    Self.signed(header.encoded, plan: plan, values: values ?? self.values)
  }

  static func signed(_ header: [UInt8], plan: [UInt8], values: [UInt8]) -> RawChangeSet {
    RawChangeSet(
      header: header,
      signature: Device.alice.signing.sign(prefix: Array("waymark/change-set-signature/v1\0".utf8), header),
      plan: plan, values: values)
  }

  // MARK: Parts

  /// One entry: its type, its record, its fields if it lists any, and its rank if it states one.
  static func entry(
    _ type: UInt8, _ record: RecordKey, _ fields: [UInt64]? = nil,
    rank: (updatedAt: Int64, filled: UInt64)? = nil
  ) -> [UInt8] {
    var writer = CBORWriter()
    writer.array(3 + (fields == nil ? 0 : 1) + (rank == nil ? 0 : 2))
    writer.unsigned(UInt64(type))
    writer.unsigned(UInt64(record.kind.rawValue))
    writer.byteString(record.id.raw)
    if let fields {
      writer.array(fields.count)
      for field in fields { writer.unsigned(field) }
    }
    if let rank {
      writer.integer(rank.updatedAt)
      writer.unsigned(rank.filled)
    }
    return writer.bytes
  }

  static func entry(_ type: EntryType, _ record: RecordKey, _ fields: [UInt64]? = nil) -> [UInt8] {
    let isRanked = fields != nil && record.kind.mergeClass == .wholeRecord
    return entry(type.rawValue, record, fields, rank: isRanked ? (7, 1) : nil)
  }

  /// The content of a slot with these values.
  static func content(_ values: [Value]) -> [UInt8] { Value.array(values).encoded }

  /// A slot of values of which some may be missing.
  enum Slot {
    case held(salt: [UInt8], content: [UInt8])
    case missing(commitment: [UInt8])
  }

  /// Values in which each slot has its own salt, or is missing.
  static func salted(_ slots: [Slot], outer: Int = 1) -> [UInt8] {
    var writer = CBORWriter()
    writer.array(outer)
    writer.array(slots.count)
    for slot in slots {
      switch slot {
      case .held(let salt, let content):
        writer.array(2)
        writer.byteString(salt)
        writer.byteString(content)
      case .missing(let commitment): writer.byteString(commitment)
      }
    }
    return writer.bytes
  }

  func slot(_ number: Int) -> Slot { .held(salt: salt(number), content: contents[number]) }
  func missing(_ number: Int) -> Slot { .missing(commitment: commitment(number)) }
}

/// A CBOR map whose items are changed one by one.
struct HandmadeMap {
  var items: [(key: UInt64, value: [UInt8])] = []

  init(_ bytes: [UInt8]) throws {
    var reader = CBORReader(bytes)
    var key: UInt64?
    for _ in 0..<(try reader.map(max: 32)) {
      let next = try reader.nextKey(after: key)
      items.append((next, Array(bytes[try reader.skipValue()])))
      key = next
    }
  }

  /// The encoded value of a key; nil removes the item, and a new key is put into its place in the order of keys.
  subscript(key: UInt64) -> [UInt8]? {
    get { items.first { $0.key == key }?.value }
    set {
      items.removeAll { $0.key == key }
      guard let newValue else { return }
      items.insert((key, newValue), at: items.firstIndex { $0.key > key } ?? items.count)
    }
  }

  var encoded: [UInt8] {
    var writer = CBORWriter()
    writer.map(items.count)
    for (key, value) in items {
      writer.unsigned(key)
      writer.raw(value)
    }
    return writer.bytes
  }
}
