// Protocol/change-set.md, "Writing a set".

package import Sodium
package import Wire

/// One change of a local transaction, before it has a place in a set.
package struct EntryDraft: Sendable {
  package let type: EntryType
  package let key: RecordKey
  /// Ascending fields; empty unless `type` is put.
  package let fields: [(field: FieldNumber, value: Value)]

  package init(_ type: EntryType, _ key: RecordKey, _ fields: [(field: FieldNumber, value: Value)] = []) {
    self.type = type
    self.key = key
    self.fields = fields.sorted { $0.field < $1.field }
  }
}

/// What a person did, as the author writes it down.
package struct OperationDraft: Sendable {
  package let id: OperationID
  package let verb: String
  package let target: OperationID?

  package init(id: OperationID, verb: String, target: OperationID? = nil) {
    self.id = id
    self.verb = verb
    self.target = target
  }
}

/// The end of one's own log, and what one has seen since writing it: what the next set is built on.
package struct AuthorPosition: Sendable {
  package var circle: CircleID
  package var log: LogKey
  package var sequence: UInt64
  package var id: ChangeSetID?
  /// The clock of the newest set seen in the lane, own or folded.
  package var clock: Clock
  /// Folded heads of other logs that changed since the own head was written, ascending.
  package var unseen: [Dependency]

  package init(
    circle: CircleID, log: LogKey, sequence: UInt64, id: ChangeSetID?, clock: Clock, unseen: [Dependency]
  ) {
    self.circle = circle
    self.log = log
    self.sequence = sequence
    self.id = id
    self.clock = clock
    self.unseen = unseen
  }
}

/// Writes change sets: cuts a transaction into sets within the limits, chains and signs them.
package struct Author: Sendable {
  package private(set) var position: AuthorPosition
  private let key: SigningKey

  package init(position: AuthorPosition, key: SigningKey) {
    self.position = position
    self.key = key
  }

  /// The sets of one transaction, in order. Every set is within the limits; an entry that alone is beyond
  /// them is refused.
  ///
  /// - Parameters:
  ///   - wall: milliseconds since 1970; the first clock is at least this.
  ///   - leastClock: raises the first clock further (a profile's own time of change).
  package mutating func write(
    _ drafts: [EntryDraft], operation: OperationDraft, wall: Moment, leastClock: Clock = .zero
  ) throws(ChangeSetError) -> [VerifiedChangeSet] {
    var sets: [VerifiedChangeSet] = []
    var unseen = position.unseen
    while unseen.count > Limits.dependenciesMax {
      let joined = Array(unseen.prefix(Limits.dependenciesMax))
      unseen.removeFirst(Limits.dependenciesMax)
      sets.append(
        try seal(BodyEncoder.empty(operation), joined, operation, wall: wall, least: leastClock))
    }
    var encoder = BodyEncoder(operation: operation)
    for draft in drafts.sorted(by: { ($0.key, $0.type) < ($1.key, $1.type) }) {
      if try encoder.append(draft) { continue }
      sets.append(try seal(encoder.finish(), unseen, operation, wall: wall, least: leastClock))
      unseen = []
      encoder = BodyEncoder(operation: operation)
      guard try encoder.append(draft) else { throw .invalid("one entry beyond the limits of a set") }
    }
    sets.append(try seal(encoder.finish(), unseen, operation, wall: wall, least: leastClock))
    position.unseen = []
    return sets
  }

  private mutating func seal(
    _ body: [UInt8], _ dependencies: [Dependency], _ operation: OperationDraft, wall: Moment, least: Clock
  ) throws(ChangeSetError) -> VerifiedChangeSet {
    let clock = max(Clock.ticking(after: position.clock, wall: wall), least)
    let header = ChangeSetHeader(
      circle: position.circle, log: position.log, sequence: position.sequence + 1,
      previous: position.id, clock: clock, dependencies: dependencies, operation: operation.id,
      bodyBytes: body.count, bodyHash: blake2b256(ChangeSetPrefix.body, body))
    let bytes = header.encoded
    let raw = RawChangeSet(
      header: bytes, signature: key.sign(prefix: ChangeSetPrefix.signature.bytes, bytes), body: body)
    // Reading back what was written holds the author to the rules that every receiver applies.
    let set = try VerifiedChangeSet(verifying: raw)
    position.sequence = header.sequence
    position.id = set.id
    position.clock = clock
    return set
  }
}

/// Collects entries until a limit of the set is reached.
private struct BodyEncoder {
  private let operation: OperationDraft
  private var entries = CBORWriter(reserving: 4_096)
  private var count = 0
  private var items = BodyEncoder.fixedItems

  /// Items of a body around its entries, and room for a header, signature and framing.
  private static let fixedItems = 8
  private static let bytesMax = Limits.setBytesMax - 16_384

  init(operation: OperationDraft) { self.operation = operation }

  static func empty(_ operation: OperationDraft) -> [UInt8] { BodyEncoder(operation: operation).finish() }

  /// False if the entry has no room any more; nothing is changed then.
  mutating func append(_ draft: EntryDraft) throws(ChangeSetError) -> Bool {
    var writer = CBORWriter(reserving: 128)
    writer.array(draft.type == .put ? 4 : 3)
    writer.unsigned(UInt64(draft.type.rawValue))
    writer.unsigned(UInt64(draft.key.kind.rawValue))
    writer.byteString(draft.key.id.raw)
    var added = 4
    if draft.type == .put {
      writer.map(draft.fields.count)
      added += 1
      for (field, value) in draft.fields {
        writer.unsigned(UInt64(field))
        writer.value(value)
        added += 1 + itemCount(value)
      }
    }
    guard count < Limits.setEntriesMax, items + added <= Limits.setItemsMax,
      entries.bytes.count + writer.bytes.count <= Self.bytesMax
    else { return false }
    entries.raw(writer.bytes)
    count += 1
    items += added
    return true
  }

  func finish() -> [UInt8] {
    var writer = CBORWriter(reserving: entries.bytes.count + 64)
    writer.map(1 + (operation.target == nil ? 0 : 1) + (count == 0 ? 0 : 1))
    writer.unsigned(0)
    writer.text(operation.verb)
    if let target = operation.target {
      writer.unsigned(1)
      writer.byteString(target.raw)
    }
    if count > 0 {
      writer.unsigned(2)
      writer.array(count)
      writer.raw(entries.bytes)
    }
    return writer.bytes
  }

  private func itemCount(_ value: Value) -> Int {
    guard case .array(let items) = value else { return 1 }
    return items.reduce(1) { $0 + itemCount($1) }
  }
}
