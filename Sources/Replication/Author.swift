// Protocol/change-set.md, "Writing a set".

package import Sodium
package import Wire

/// One change of a local transaction, before it is written into a change set.
package struct EntryDraft: Sendable {
  package let type: EntryType
  package let key: RecordKey
  /// The fields in ascending order; empty unless `type` is `.put`.
  package let fields: [(field: FieldNumber, value: Value)]

  package init(_ type: EntryType, _ key: RecordKey, _ fields: [(field: FieldNumber, value: Value)] = []) {
    self.type = type
    self.key = key
    // Most drafts are already sorted, and sorting them again would copy the list.
    let isAscending = fields.indices.dropFirst().allSatisfy { fields[$0 - 1].field <= fields[$0].field }
    self.fields = isAscending ? fields : fields.sorted { $0.field < $1.field }
  }
}

/// The operation that a transaction belongs to, as it is written into the bodies of its sets.
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

/// The position at which the next set of our log is written: the end of the log, and what has been folded since the
/// newest set.
package struct AuthorPosition: Sendable {
  package var circle: CircleID
  package var log: LogKey
  package var sequence: UInt64
  package var id: ChangeSetID?
  /// The greatest clock seen in the lane, whether it is the clock of our own newest set or of a folded set.
  package var clock: Clock
  /// The folded heads of other logs that have moved since our own newest set was written, in ascending order.
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

/// Writes change sets: splits a transaction into sets within the limits, chains them and signs them.
package struct Author: Sendable {
  package private(set) var position: AuthorPosition
  private let key: SigningKey

  package init(position: AuthorPosition, key: SigningKey) {
    self.position = position
    self.key = key
  }

  /// Writes the sets of one transaction and returns them in order.
  ///
  /// Every set is within the limits, and all writes to one record stay in one set. Throws if an entry is invalid or if
  /// the writes to one record alone exceed the limits. In these cases, the position stays unchanged.
  ///
  /// - Parameters:
  ///   - wall: the time on the wall clock. The clock of the first set is at least this time.
  ///   - leastClock: a further lower bound for the clocks, taken from the time of change that a profile states.
  package mutating func write(
    _ drafts: consuming [EntryDraft], operation: OperationDraft, wall: Moment, leastClock: Clock = .zero
  ) throws(ChangeSetError) -> [VerifiedChangeSet] {
    let bodies = try Self.bodies(of: consume drafts, operation)
    // Work on a copy, so that an error leaves the position unchanged.
    var next = self
    var sets: [VerifiedChangeSet] = []
    var unseen = position.unseen
    next.position.unseen = []
    while unseen.count > Limits.dependenciesMax {
      let joined = Array(unseen.prefix(Limits.dependenciesMax))
      unseen.removeFirst(Limits.dependenciesMax)
      let empty = BodyEncoder(operation: operation).finish()
      sets.append(try next.seal(empty, joined, operation, wall: wall, least: leastClock))
    }
    for body in bodies {
      sets.append(try next.seal(body, unseen, operation, wall: wall, least: leastClock))
      unseen = []
    }
    self = next
    return sets
  }

  /// Re-authors sets from another log of this device in this log. The new sets have the same operation, bodies and
  /// dependencies, and clocks of at least `least`.
  ///
  /// - Parameter seen: the dependencies, in ascending order, with their clocks. If one set can't hold all of them, sets
  ///   without entries come first and declare the ones that don't fit.
  package mutating func write(
    again bodies: [[UInt8]], of operation: OperationDraft, seen: [(dependency: Dependency, clock: Clock)],
    least: Clock
  ) throws(ChangeSetError) -> [VerifiedChangeSet] {
    var next = self
    var sets: [VerifiedChangeSet] = []
    var rest = seen[...]
    let empty = BodyEncoder(operation: operation).finish()
    let joins = Array(repeating: empty, count: max(0, seen.count - 1) / Limits.dependenciesMax)
    for body in joins + bodies {
      let part = rest.prefix(Limits.dependenciesMax)
      rest = rest.dropFirst(Limits.dependenciesMax)
      next.position.clock = part.reduce(next.position.clock) { max($0, $1.clock) }
      sets.append(try next.seal(body, part.map(\.dependency), operation, wall: 0, least: least))
    }
    self = next
    return sets
  }

  /// Sorts the drafts into the order that entries must have, and splits them between records into bodies within the
  /// limits.
  package static func bodies(
    of drafts: consuming [EntryDraft], _ operation: OperationDraft
  ) throws(ChangeSetError) -> [[UInt8]] {
    var sorted = consume drafts
    sorted.sort { ($0.key, $0.type) < ($1.key, $1.type) }
    var bodies: [[UInt8]] = []
    var encoder = BodyEncoder(operation: operation)
    var start = 0
    while start < sorted.count {
      var end = start + 1
      while end < sorted.count, sorted[end].key == sorted[start].key { end += 1 }
      if try !encoder.append(sorted[start..<end]) {
        bodies.append(encoder.finish())
        encoder = BodyEncoder(operation: operation)
        guard try encoder.append(sorted[start..<end]) else {
          throw .invalid("the changes to one record exceed the limits of a change set")
        }
      }
      start = end
    }
    return bodies + [encoder.finish()]
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
    // Decode what was written, because the author must comply with the rules that every receiver checks.
    let set = try VerifiedChangeSet(sealed: raw)
    position.sequence = header.sequence
    position.id = set.id
    position.clock = clock
    return set
  }
}

/// Encodes entries into one body until a limit of the set is reached.
private struct BodyEncoder {
  private let operation: OperationDraft
  private var entries = CBORWriter(reserving: 4_096)
  private var count = 0
  private var items = BodyEncoder.fixedItems

  /// The number of CBOR items in a body outside its entries. `bytesMax` leaves room for the header, the signature and
  /// framing.
  private static let fixedItems = 8
  private static let bytesMax = Limits.setBytesMax - 16_384

  init(operation: OperationDraft) { self.operation = operation }

  /// Appends the entries of one record. Returns false, and changes nothing, if they do not fit.
  mutating func append(_ drafts: ArraySlice<EntryDraft>) throws(ChangeSetError) -> Bool {
    let held = entries.bytes.count
    var added = 0
    for draft in drafts { added += try Self.write(draft, to: &entries) }
    guard count + drafts.count <= Limits.setEntriesMax, items + added <= Limits.setItemsMax,
      entries.bytes.count <= Self.bytesMax
    else {
      entries.bytes.removeLast(entries.bytes.count - held)
      return false
    }
    count += drafts.count
    items += added
    return true
  }

  /// Writes one entry and returns how many CBOR items it has.
  private static func write(_ draft: EntryDraft, to writer: inout CBORWriter) throws(ChangeSetError) -> Int {
    writer.array(draft.type == .put ? 4 : 3)
    writer.unsigned(UInt64(draft.type.rawValue))
    writer.unsigned(UInt64(draft.key.kind.rawValue))
    writer.byteString(draft.key.id.raw)
    guard draft.type == .put else { return 4 }
    var items = 5
    writer.map(draft.fields.count)
    for (field, value) in draft.fields {
      guard value.isWritable else { throw .invalid("a float that is infinite, NaN or -0.0") }
      writer.unsigned(UInt64(field))
      writer.value(value)
      items += 1 + itemCount(value)
    }
    return items
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

  private static func itemCount(_ value: Value) -> Int {
    guard case .array(let items) = value else { return 1 }
    return items.reduce(1) { $0 + itemCount($1) }
  }
}
