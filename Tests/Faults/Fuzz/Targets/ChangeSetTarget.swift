import Membership
import RecordTables
import Replication
import Sodium
import Storage
import Wire

/// Change sets: first headers, plans and values as bytes, then validly signed histories with arbitrary content, which
/// two stores receive in different orders.
func fuzzChangeSet(_ input: [UInt8]) throws {
  var choices = Choices(input)
  switch choices.below(4) {
  case 0: try readHeader(choices.rest())
  case 1: try readContent(&choices)
  case 2: try readSet(&choices)
  default: try takeIn(&choices)
  }
}

private func readHeader(_ bytes: [UInt8]) throws {
  guard let header = try? ChangeSetHeader(decoding: bytes) else { return }
  try require(header.encoded == bytes, "a non-canonical header was accepted")
}

private func readSet(_ choices: inout Choices) throws {
  let raw = RawChangeSet(
    header: choices.bytes(max: 8_000), signature: choices.bytes(max: 64), plan: choices.bytes(max: 8_000),
    values: choices.rest())
  guard let set = try? VerifiedChangeSet(verifying: raw) else { return }
  try require(set.header.encoded == raw.header, "a non-canonical set was accepted")
}

// MARK: Plans and values

/// An accepted set can be read cell by cell, stored, and folded; slots can be removed from it, but not altered.
private func readContent(_ choices: inout Choices) throws {
  let forged = ForgedContent(&choices)
  let set: VerifiedChangeSet
  do {
    set = try VerifiedChangeSet(verifying: forged.raw)
  } catch ChangeSetError.valuesMismatch {
    throw BrokenRule("values that the header commits to are refused")
  } catch {
    return
  }
  try readCells(set)
  try alter(set, &choices)
  let gone = Set((0..<set.body.slots.count).filter { _ in choices.flag() })
  let lacking = try remove(gone, from: set)
  let stores = try [set, lacking].map { set in
    let store = try Store.inMemory()
    let report = try store.commit([set], horizon: Clock(milliseconds: Cast.noon))
    try require(
      report.placements == [.place(folds: true)], "a first set was not placed: \(report.placements)")
    try StoreCheck.check(store)
    return store
  }
  for lane in Lane.allCases {
    try require(
      stores[0].digest(lane) == stores[1].digest(lane) && stores[0].heads(lane) == stores[1].heads(lane),
      "\(lane): a set without some values folds to another state")
  }
}

/// Each value that is present is canonical, and all values of one slot are present or none.
private func readCells(_ set: VerifiedChangeSet) throws {
  var slot = 0
  for entry in set.body.entries where !entry.cells.isEmpty {
    let cells = set.body.cells[entry.cells]
    try require(Set(cells.map(\.isAbsent)).count == 1, "some values of a slot are absent, and some are not")
    try require(
      set.body.slots.content(slot) != nil || cells.allSatisfy(\.isAbsent), "a missing slot has values")
    slot += 1
    for cell in cells {
      guard let content = set.body.content(cell) else { continue }
      let value = try? Value(encoded: content)
      try require(value?.encoded == Array(content), "a non-canonical cell was accepted")
    }
  }
  try require(slot == set.body.slots.count, "the values have more slots than the plan")
}

/// Altered values are refused. The set remains valid with its own values.
private func alter(_ set: VerifiedChangeSet, _ choices: inout Choices) throws {
  var values = set.raw.values
  for _ in 0..<1 + choices.below(4) {
    let place = Int(choices.number() & 0xffff)
    switch choices.below(4) {
    case 0 where place < values.count: values[place] ^= choices.byte()
    case 1 where place <= values.count: values.insert(choices.byte(), at: place)
    case 2 where place < values.count: values.remove(at: place)
    case 3 where place < values.count: values.removeLast(values.count - place)
    default: break
    }
  }
  guard values != set.raw.values else { return }
  do {
    _ = try VerifiedChangeSet(verifying: set.raw.with(values))
    throw BrokenRule("altered values were accepted")
  } catch ChangeSetError.valuesMismatch, ChangeSetError.tooLarge(bytes: _) {
    try require(!set.raw.with(values).isIntact(as: set.id), "altered values count as intact")
  }
}

/// Returns the set without some of its slots.
private func remove(_ gone: Set<Int>, from set: VerifiedChangeSet) throws -> VerifiedChangeSet {
  let lacking: VerifiedChangeSet
  do { lacking = try VerifiedChangeSet(verifying: set.raw.with(set.values(without: gone))) } catch {
    throw BrokenRule("a set without the slots \(gone) is refused: \(error)")
  }
  try require(lacking.id == set.id, "a set without some slots has another id")
  try readCells(lacking)
  for slot in gone {
    try require(lacking.body.slots.content(slot) == nil, "a removed slot is still there")
  }
  return lacking
}

/// A set with any plan, and with any contents in as many slots as the plan should have. Its header and signature are
/// valid.
private struct ForgedContent {
  let raw: RawChangeSet

  init(_ choices: inout Choices) {
    let lane: Lane = choices.flag() ? .records : .settings
    let plan = choices.bytes(max: 8_000)
    let salt = Bytes16(3, choices.number())
    var slots = CBORWriter()
    var commitments: [UInt8] = []
    let count = Self.slotCount(plan)
    for _ in 0..<count {
      let content = choices.bytes(max: 4_000)
      let commitment = blake2b256(ChangeSetPrefix.commitment, salt.bytes + content)
      commitments += commitment.bytes
      if choices.below(8) == 7 {
        slots.byteString(commitment)
      } else {
        slots.array(2)
        slots.byteString(salt)
        slots.byteString(content)
      }
    }
    var values = CBORWriter()
    if count > 0 {
      values.array(1)
      values.array(count)
      values.raw(slots.bytes)
    }
    let header = ChangeSetHeader(
      circle: Cast.circle,
      log: LogKey(device: DeviceKey(Cast.mallory), incarnation: Scribe.incarnations[0], lane: lane),
      sequence: 1, previous: nil, clock: Clock(milliseconds: Cast.noon), dependencies: [],
      operation: OperationID(.zero), logBytes: 0,
      content: ContentSummary(
        planBytes: plan.count, planHash: blake2b256(ChangeSetPrefix.plan, plan),
        valuesBytes: values.bytes.count,
        commitmentsHash: count == 0 ? nil : blake2b256(ChangeSetPrefix.values, commitments)))
    raw = RawChangeSet(
      header: header.encoded,
      signature: Cast.mallory.sign(prefix: ChangeSetPrefix.signature.bytes, header.encoded), plan: plan,
      values: values.bytes)
  }

  /// Counts the entries of a plan that list fields, in any form; 0 if it has none.
  private static func slotCount(_ plan: [UInt8]) -> Int {
    var reader = CBORReader(plan)
    guard let pairs = try? reader.map(max: 3) else { return 0 }
    var count = 0
    for _ in 0..<pairs {
      guard let key = try? reader.unsigned() else { return count }
      guard key == 2 else {
        guard (try? reader.skipValue()) != nil else { return count }
        continue
      }
      guard case .array(let entries)? = try? reader.value() else { return count }
      for case .array(let parts) in entries where parts.count >= 4 {
        if case .array(let fields) = parts[3], !fields.isEmpty { count += 1 }
      }
    }
    return min(count, Limits.setEntriesMax)
  }
}

extension RawChangeSet {
  /// The same set with other values.
  fileprivate func with(_ values: [UInt8]) -> RawChangeSet {
    RawChangeSet(header: header, signature: signature, plan: plan, values: values)
  }
}

// MARK: Histories

private func takeIn(_ choices: inout Choices) throws {
  var scribe = Scribe()
  for _ in 0..<24 where !choices.isAtEnd {
    _ = scribe.write(&choices, as: [Cast.alice, Cast.bob, Cast.mallory])
  }
  let horizon = Clock(milliseconds: Cast.noon + Limits.clockDriftMilliseconds)
  var sets = scribe.written.filter { $0.header.circle == Cast.circle }
  guard !sets.isEmpty else { return }
  // Some sets come without some of their values, to both stores.
  for index in sets.indices where choices.below(8) == 7 {
    let slots = Set((0..<sets[index].body.slots.count).filter { _ in choices.flag() })
    sets[index] = try remove(slots, from: sets[index])
  }
  let one = try Store.inMemory()
  for set in sets { _ = try one.commit([set], horizon: horizon) }
  // Sets that came too early are offered again, until no more are accepted.
  let other = try Store.inMemory()
  for _ in sets { _ = try other.commit(sets.reversed(), horizon: horizon) }
  for _ in sets { _ = try one.commit(sets, horizon: horizon) }
  try StoreCheck.checkEqual(one, other)
  try StoreCheck.check(one)
}

/// Invariants of every store, whatever it has received.
enum StoreCheck {
  /// Every query succeeds, and the tables match what the log gives.
  static func check(_ store: Store) throws {
    let before = try state(store)
    for kind in try store.visibleCounts().keys.sorted() {
      _ = try store.records(RecordQuery(kind)).map { try store.origins(of: $0) }
    }
    for lane in Lane.allCases {
      for question in [Question.heads, .digests, .inventory(after: nil)] {
        _ = try store.answer(lane, question)
      }
    }
    _ = try store.rebuild()
    let after = try state(store)
    try require(before == after, "the tables were \(before) and are \(after) after a rebuild")
  }

  static func checkEqual(_ one: Store, _ other: Store) throws {
    let (left, right) = (try state(one), try state(other))
    try require(left == right, "two stores with the same sets hold \(left) and \(right)")
  }

  /// Everything that two stores with the same sets must agree on.
  static func state(_ store: Store) throws -> [String] {
    let lanes = Lane.allCases.map { lane in
      "\(lane) \(store.digest(lane).sum) \(store.heads(lane).map { "\($0)" })"
    }
    let counts = try store.visibleCounts().sorted { $0.key < $1.key }.map {
      "\($0.key.rawValue): \($0.value)"
    }
    return lanes + counts
      + (try store.conflicts().map { "\($0.id) \($0.reason) \($0.losers.count)" }.sorted())
  }
}
