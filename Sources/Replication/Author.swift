// Protocol/change-set.md, "Writing a set".

package import Sodium
package import Wire

/// One change of a local transaction, before it is written into a change set.
package struct EntryDraft: Sendable {
  package let type: EntryType
  package let key: RecordKey
  /// The fields in ascending order, without the life; empty unless `type` is `.put` or `.insert`.
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
  /// The declared bytes of the log so far.
  package var logBytes: UInt64
  /// The folded heads of other logs that have moved since our own newest set was written, in ascending order.
  package var unseen: [Dependency]
  /// The declared bytes that the log may hold: its share of the author's quota.
  package var logBytesMax: UInt64

  package init(
    circle: CircleID, log: LogKey, sequence: UInt64, id: ChangeSetID?, clock: Clock,
    logBytes: UInt64, unseen: [Dependency], logBytesMax: UInt64 = .max
  ) {
    self.logBytesMax = logBytesMax
    self.circle = circle
    self.log = log
    self.sequence = sequence
    self.id = id
    self.clock = clock
    self.logBytes = logBytes
    self.unseen = unseen
  }
}

/// Writes change sets: splits a transaction into sets within the limits, chains them and signs them.
package struct Author {
  package private(set) var position: AuthorPosition
  private let key: SigningKey
  /// The contents of the sets of the current transaction that have not been written yet, the last one first.
  private var pending: [ChangeSetContent] = []
  private var operation: OperationID?
  /// Returns new random bytes, from which the salts of one set derive.
  package let seed: () -> Bytes16

  /// - Parameter seed: returns new random bytes, from which the salts of one set derive.
  package init(position: AuthorPosition, key: SigningKey, seed: @escaping () -> Bytes16) {
    self.position = position
    self.key = key
    self.seed = seed
  }

  /// Writes the sets of one transaction and returns them in order.
  ///
  /// Every set is within the limits, and all writes to one record stay in one set. Throws if an entry is invalid or if
  /// the writes to one record alone exceed the limits. In these cases, the position stays unchanged.
  ///
  /// - Parameters: as of `nextSet`.
  package mutating func write(
    _ drafts: consuming [EntryDraft], operation: OperationDraft, wall: Moment, leastClock: Clock = .zero
  ) throws(ChangeSetError) -> [VerifiedChangeSet] {
    // Work on a copy, so that an error leaves the position unchanged.
    var next = self
    next.begin(try ChangeSetContent.split(consume drafts, operation, seed: seed), of: operation)
    var sets: [VerifiedChangeSet] = []
    while let set = try next.nextSet(wall: wall, leastClock: leastClock) { sets.append(set) }
    self = next
    return sets
  }

  /// Begins a transaction, whose sets `nextSet` then returns one by one.
  package mutating func begin(_ contents: [ChangeSetContent], of operation: OperationDraft) {
    let joins = max(0, position.unseen.count - 1) / Limits.dependenciesMax
    pending = contents.reversed() + Array(repeating: ChangeSetContent.empty(operation), count: joins)
    self.operation = operation.id
  }

  /// Writes the next set of the transaction; returns nil after the last one. Dependencies that don't fit in one set are
  /// declared by sets without entries, which come first.
  ///
  /// - Parameters:
  ///   - wall: the time on the wall clock. The clock of the first set is at least this time.
  ///   - leastClock: a further lower bound for the clocks, taken from the time of change that a profile states.
  package mutating func nextSet(
    wall: Moment, leastClock: Clock = .zero
  ) throws(ChangeSetError) -> VerifiedChangeSet? {
    guard let content = pending.popLast(), let operation else { return nil }
    let seen = Array(position.unseen.prefix(Limits.dependenciesMax))
    position.unseen.removeFirst(seen.count)
    let set = try seal(content, seen, operation, wall: wall, least: leastClock)
    guard !set.body.cells.contains(where: \.isAbsent) else {
      throw .invalid("a value exceeds the limits of a field")
    }
    return set
  }

  /// Re-authors sets from another log of this device in this log. The new sets have the same operation, contents and
  /// dependencies, and clocks of at least `least`.
  ///
  /// - Parameter seen: the dependencies, in ascending order, with their clocks. If one set can't hold all of them, sets
  ///   without entries come first and declare the ones that don't fit.
  package mutating func write(
    again contents: [ChangeSetContent], of operation: OperationDraft,
    seen: [(dependency: Dependency, clock: Clock)],
    least: Clock
  ) throws(ChangeSetError) -> [VerifiedChangeSet] {
    var next = self
    var sets: [VerifiedChangeSet] = []
    var rest = seen[...]
    let joins = Array(
      repeating: ChangeSetContent.empty(operation), count: max(0, seen.count - 1) / Limits.dependenciesMax)
    for content in joins + contents {
      let part = rest.prefix(Limits.dependenciesMax)
      rest = rest.dropFirst(Limits.dependenciesMax)
      next.position.clock = part.reduce(next.position.clock) { max($0, $1.clock) }
      sets.append(try next.seal(content, part.map(\.dependency), operation.id, wall: 0, least: least))
    }
    self = next
    return sets
  }

  private mutating func seal(
    _ content: ChangeSetContent, _ dependencies: [Dependency], _ operation: OperationID, wall: Moment,
    least: Clock
  ) throws(ChangeSetError) -> VerifiedChangeSet {
    let clock = max(Clock.ticking(after: position.clock, wall: wall), least)
    let header = ChangeSetHeader(
      circle: position.circle, log: position.log, sequence: position.sequence + 1,
      previous: position.id, clock: clock, dependencies: dependencies, operation: operation,
      logBytes: position.logBytes, content: content.summary)
    let bytes = header.encoded
    // No device would store the set, so it must not be signed.
    guard position.logBytes + UInt64(header.declaredBytes(headerBytes: bytes.count)) <= position.logBytesMax
    else { throw .beyondQuota(position.log.lane) }
    let raw = RawChangeSet(
      header: bytes, signature: key.sign(prefix: ChangeSetPrefix.signature.bytes, bytes), plan: content.plan,
      values: content.values)
    // Decode what was written, because the author must comply with the rules that every receiver checks.
    let set = try VerifiedChangeSet(sealed: raw)
    position.sequence = header.sequence
    position.id = set.id
    position.clock = clock
    position.logBytes = set.logBytes
    return set
  }
}
