// Protocol/change-set.md, "Plan" and "Values"

package import Wire

/// The plan and the values of a change set, and what a header states about them.
package struct ChangeSetContent: Sendable {
  package let plan: [UInt8]
  package let values: [UInt8]
  package let summary: ContentSummary

  /// Creates the content of a set that has been verified. Slots that are missing stay missing.
  package init(of set: VerifiedChangeSet) {
    plan = set.raw.plan
    values = set.raw.values
    summary = set.header.content
  }

  fileprivate init(plan: [UInt8], values: [UInt8], commitments: [UInt8]) {
    self.plan = plan
    self.values = values
    summary = ContentSummary(
      planBytes: plan.count, planHash: blake2b256(ChangeSetPrefix.plan, plan), valuesBytes: values.count,
      commitmentsHash: commitments.isEmpty ? nil : blake2b256(ChangeSetPrefix.values, commitments))
  }

  /// Returns the content of a set without entries.
  package static func empty(_ operation: OperationDraft) -> ChangeSetContent {
    // Without fields there is no slot, so no seed is needed.
    ContentEncoder(operation: operation, seed: .zero).finish()
  }

  /// Sorts the drafts into the order that entries must have, and splits them between records into contents within the
  /// limits of a set.
  ///
  /// - Parameter seed: returns new random bytes for each content.
  package static func split(
    _ drafts: consuming [EntryDraft], _ operation: OperationDraft, seed: () -> Bytes16
  ) throws(ChangeSetError) -> [ChangeSetContent] {
    var splitter = ContentSplitter(operation, seed: seed())
    try forEachRecord(consume drafts) { (entries) throws(ChangeSetError) in
      try splitter.append(entries, seed: seed)
    }
    return splitter.finish()
  }
}

/// Sorts drafts into the order that entries must have, and calls `body` with those of each record.
private func forEachRecord(
  _ drafts: consuming [EntryDraft], _ body: (ArraySlice<EntryDraft>) throws(ChangeSetError) -> Void
) throws(ChangeSetError) {
  var sorted = consume drafts
  sorted.sort { ($0.key, $0.type) < ($1.key, $1.type) }
  var start = 0
  while start < sorted.count {
    var end = start + 1
    while end < sorted.count, sorted[end].key == sorted[start].key { end += 1 }
    try body(sorted[start..<end])
    start = end
  }
}

/// Encodes the entries of one lane, record by record, into contents within the limits of a set.
struct ContentSplitter {
  private var contents: [ChangeSetContent] = []
  private var encoder: ContentEncoder
  private let operation: OperationDraft

  init(_ operation: OperationDraft, seed: Bytes16) {
    self.operation = operation
    encoder = ContentEncoder(operation: operation, seed: seed)
  }

  /// Appends the entries of one record, whose key is above those before it.
  mutating func append(_ entries: ArraySlice<EntryDraft>, seed: () -> Bytes16) throws(ChangeSetError) {
    guard try !encoder.append(entries) else { return }
    contents.append(encoder.finish())
    encoder = ContentEncoder(operation: operation, seed: seed())
    guard try encoder.append(entries) else {
      throw .invalid("the changes to one record exceed the limits of a change set")
    }
  }

  consuming func finish() -> [ChangeSetContent] { contents + [encoder.finish()] }
}

/// The entries of an operation, encoded into the contents of its change sets while they are collected. They take less
/// memory than drafts, of which an import may have very many.
package struct OperationContents {
  package let operation: OperationDraft
  package private(set) var entryCount = 0
  private var splitters: [Lane: ContentSplitter] = [:]
  private var last: RecordKey?
  /// Returns new random bytes for each content.
  private let seed: () -> Bytes16

  package init(_ operation: OperationDraft, seed: @escaping () -> Bytes16) {
    self.operation = operation
    self.seed = seed
  }

  /// Creates the contents of an operation from drafts in any order.
  package init(
    _ operation: OperationDraft, _ drafts: consuming [EntryDraft], seed: @escaping () -> Bytes16
  ) throws(ChangeSetError) {
    self.init(operation, seed: seed)
    try forEachRecord(consume drafts) { (entries) throws(ChangeSetError) in try append(entries) }
  }

  /// Appends all entries of one record. Records must come in ascending order of their keys.
  package mutating func append(_ entries: ArraySlice<EntryDraft>) throws(ChangeSetError) {
    guard let key = entries.first?.key else { return }
    precondition(last.map { $0 < key } ?? true, "records that are not in the order of their keys")
    last = key
    let lane = key.kind.lane
    try splitters[lane, default: ContentSplitter(operation, seed: seed())].append(entries, seed: seed)
    entryCount += entries.count
  }

  /// Returns the contents for each lane that has entries.
  package consuming func finish() -> [(lane: Lane, contents: [ChangeSetContent])] {
    var found: [(lane: Lane, contents: [ChangeSetContent])] = []
    for lane in Lane.allCases {
      if let splitter = splitters.removeValue(forKey: lane) { found.append((lane, splitter.finish())) }
    }
    return found
  }
}

/// Encodes entries into one plan and its slots until a limit of the set is reached.
private struct ContentEncoder {
  private let operation: OperationDraft
  private let seed: Bytes16
  private var salts: Salts
  private var hash = CommitmentHash()
  private var entries = CBORWriter(reserving: 4_096)
  private var slots = CBORWriter(reserving: 16_384)
  private var commitments: [UInt8] = []
  private var count = 0
  private var items = ContentEncoder.fixedItems

  /// The number of CBOR items in a plan outside its entries. `bytesMax` leaves room for the header, the signature and
  /// framing.
  private static let fixedItems = 8
  private static let bytesMax = Limits.setBytesMax - 16_384

  init(operation: OperationDraft, seed: Bytes16) {
    self.operation = operation
    self.seed = seed
    salts = Salts(seed: seed)
  }

  /// Appends the entries of one record. Returns false, and changes nothing, if they do not fit.
  mutating func append(_ drafts: ArraySlice<EntryDraft>) throws(ChangeSetError) -> Bool {
    let held = (entries.bytes.count, slots.bytes.count, commitments.count)
    var added = 0
    for draft in drafts { added += try write(draft) }
    guard count + drafts.count <= Limits.setEntriesMax, items + added <= Limits.setItemsMax,
      entries.bytes.count + slots.bytes.count <= Self.bytesMax
    else {
      entries.bytes.removeLast(entries.bytes.count - held.0)
      slots.bytes.removeLast(slots.bytes.count - held.1)
      commitments.removeLast(commitments.count - held.2)
      return false
    }
    count += drafts.count
    items += added
    return true
  }

  /// Writes one entry and its slot, and returns how many CBOR items the entry has.
  private mutating func write(_ draft: EntryDraft) throws(ChangeSetError) -> Int {
    let isRanked = draft.type.writesFields && draft.key.kind.mergeClass == .wholeRecord
    let parts = isRanked ? 6 : draft.type.writesFields ? 4 : 3
    entries.array(parts)
    entries.unsigned(UInt64(draft.type.rawValue))
    entries.unsigned(UInt64(draft.key.kind.rawValue))
    entries.byteString(draft.key.id.raw)
    guard draft.type.writesFields else { return 1 + parts }
    entries.array(draft.fields.count)
    for (field, _) in draft.fields { entries.unsigned(UInt64(field)) }
    if isRanked {
      let rank = Self.rank(of: draft.fields)
      entries.integer(rank.updatedAt)
      entries.unsigned(UInt64(rank.nonEmptyFields))
    }
    if !draft.fields.isEmpty { try writeSlot(draft.fields) }
    return 1 + parts + draft.fields.count
  }

  private mutating func writeSlot(_ fields: [(field: FieldNumber, value: Value)]) throws(ChangeSetError) {
    var content = CBORWriter(reserving: 256)
    content.array(fields.count)
    for (_, value) in fields {
      guard value.isWritable else { throw .invalid("a float that is infinite, NaN or -0.0") }
      content.value(value)
    }
    slots.byteString(content.bytes)
    let slot = commitments.count / Bytes32.count
    commitments.append(contentsOf: hash.commitment(salt: salts[slot], content.bytes[...]))
  }

  /// Returns the rank to state for a whole record. A time of change that is missing or has the wrong type counts as 0.
  private static func rank(of fields: [(field: FieldNumber, value: Value)]) -> StatedRank {
    let time = fields.first { $0.field == Fields.wholeRecordUpdatedAt }?.value
    let updatedAt = if case .integer(let milliseconds)? = time { milliseconds } else { Int64(0) }
    return StatedRank(updatedAt: updatedAt, nonEmptyFields: fields.count { !$0.value.isEmpty })
  }

  func finish() -> ChangeSetContent {
    var plan = CBORWriter(reserving: entries.bytes.count + 64)
    plan.map(1 + (operation.target == nil ? 0 : 1) + (count == 0 ? 0 : 1))
    plan.unsigned(0)
    plan.text(operation.verb)
    if let target = operation.target {
      plan.unsigned(1)
      plan.byteString(target.raw)
    }
    if count > 0 {
      plan.unsigned(2)
      plan.array(count)
      plan.raw(entries.bytes)
    }
    let slotCount = commitments.count / Bytes32.count
    var values = CBORWriter(reserving: slots.bytes.count + 32)
    if slotCount > 0 {
      values.array(2)
      values.byteString(seed)
      values.array(slotCount)
      values.raw(slots.bytes)
    }
    return ChangeSetContent(plan: plan.bytes, values: values.bytes, commitments: commitments)
  }
}
