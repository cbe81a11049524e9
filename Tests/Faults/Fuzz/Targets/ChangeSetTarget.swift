import Membership
import Replication
import Sodium
import Storage
import Wire

/// Change sets: first headers and bodies as bytes, then validly signed histories with arbitrary content, which two
/// stores receive in different orders.
func fuzzChangeSet(_ input: [UInt8]) throws {
  var choices = Choices(input)
  switch choices.below(4) {
  case 0: try readHeader(choices.rest())
  case 1: try readBody(choices.flag() ? .records : .settings, choices.rest())
  case 2: try readSet(&choices)
  default: try takeIn(&choices)
  }
}

private func readHeader(_ bytes: [UInt8]) throws {
  guard let header = try? ChangeSetHeader(decoding: bytes) else { return }
  try require(header.encoded == bytes, "a non-canonical header was accepted")
}

/// An accepted set can be read cell by cell, signed, stored, and folded.
private func readBody(_ lane: Lane, _ bytes: [UInt8]) throws {
  guard let body = try? ChangeSetBody(decoding: bytes, lane: lane), bytes.count < Limits.setBytesMax - 1_024
  else { return }
  for cell in body.cells {
    let value = try? Value(encoded: body.content(cell))
    try require(value?.encoded == Array(body.content(cell)), "a non-canonical cell was accepted")
  }
  let header = ChangeSetHeader(
    circle: Cast.circle,
    log: LogKey(device: DeviceKey(Cast.mallory), incarnation: Scribe.incarnations[0], lane: lane),
    sequence: 1,
    previous: nil, clock: Clock(milliseconds: Cast.noon), dependencies: [], operation: OperationID(.zero),
    bodyBytes: bytes.count, bodyHash: blake2b256(ChangeSetPrefix.body, bytes))
  let raw = RawChangeSet(
    header: header.encoded,
    signature: Cast.mallory.sign(prefix: ChangeSetPrefix.signature.bytes, header.encoded), body: bytes)
  guard let set = try? VerifiedChangeSet(verifying: raw) else {
    throw BrokenRule("a valid body is rejected once it is signed")
  }
  let store = try Store.inMemory()
  let report = try store.commit([set], horizon: Clock(milliseconds: Cast.noon))
  try require(report.placements == [.place(folds: true)], "a first set was not placed: \(report.placements)")
  try StoreCheck.check(store)
}

private func readSet(_ choices: inout Choices) throws {
  let raw = RawChangeSet(
    header: choices.bytes(max: 8_000), signature: choices.bytes(max: 64), body: choices.rest())
  guard let set = try? VerifiedChangeSet(verifying: raw) else { return }
  try require(set.header.encoded == raw.header, "a non-canonical set was accepted")
}

// MARK: Histories

private func takeIn(_ choices: inout Choices) throws {
  var scribe = Scribe()
  for _ in 0..<24 where !choices.isAtEnd {
    _ = scribe.write(&choices, as: [Cast.alice, Cast.bob, Cast.mallory])
  }
  let horizon = Clock(milliseconds: Cast.noon + Limits.clockDriftMilliseconds)
  let sets = scribe.written.filter { $0.header.circle == Cast.circle }
  guard !sets.isEmpty else { return }
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
