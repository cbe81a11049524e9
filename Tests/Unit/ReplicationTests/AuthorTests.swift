import Testing
import Vectors
import Wire

@testable import Replication

@Suite struct AuthorTests {
  private func puts(_ count: Int, _ value: Value = .integer(1)) -> [EntryDraft] {
    (0..<count).map { EntryDraft(.put, key(1, UInt64($0)), [(1, value)]) }
  }

  /// The sets form a chain with rising clocks, belong to one operation and contain all entries in order. Each states
  /// the bytes of the log before it.
  private func check(_ sets: [VerifiedChangeSet], entries: Int) {
    for (before, after) in zip(sets, sets.dropFirst()) {
      #expect(after.header.sequence == before.header.sequence + 1)
      #expect(after.header.previous == before.id)
      #expect(after.header.clock > before.header.clock)
      #expect(after.header.operation == before.header.operation)
      #expect(after.header.log == before.header.log)
      #expect(after.header.logBytes == before.logBytes)
    }
    let keys = sets.flatMap { $0.body.entries.map(\.key) }
    #expect(keys.count == entries && zip(keys, keys.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test func `a transaction is split at a thousand entries`() throws {
    var alice = author(.alice)
    let sets = try alice.write(puts(2_001), operation: anOperation, wall: 5)
    #expect(sets.map(\.body.entries.count) == [1_000, 1_000, 1])
    check(sets, entries: 2_001)
  }

  @Test func `a transaction is split at the byte limit of a set`() throws {
    var alice = author(.alice)
    let text = Value.text(String(repeating: "t", count: 40_000))
    let sets = try alice.write(puts(20, text), operation: anOperation, wall: 5)
    #expect(sets.count == 4)
    for set in sets {
      let declared = set.header.declaredBytes(headerBytes: set.raw.header.count)
      #expect(declared == set.raw.byteCount && declared <= Limits.setBytesMax)
    }
    check(sets, entries: 20)
  }

  @Test func `a transaction is split at the item limit of a plan`() throws {
    var alice = author(.alice)
    let fields = (1...1_500).map { (field: FieldNumber($0), value: Value.null) }
    let drafts = (0..<30).map { EntryDraft(.put, key(1, UInt64($0)), fields) }
    let sets = try alice.write(drafts, operation: anOperation, wall: 5)
    #expect(sets.map(\.body.entries.count) == [13, 13, 4])
    check(sets, entries: 30)
  }

  @Test func `items inside values don't count against the limit of a plan`() throws {
    var alice = author(.alice)
    let list = Value.array(Array(repeating: .null, count: 1_500))
    let sets = try alice.write(puts(30, list), operation: anOperation, wall: 5)
    #expect(sets.count == 1)
    #expect(sets[0].body.cells.allSatisfy { !$0.isAbsent })
    check(sets, entries: 30)
  }

  @Test func `writes to one record are not split`() throws {
    var alice = author(.alice)
    var drafts = puts(1_000)
    drafts.append(EntryDraft(.restore, key(1, 999)))
    let sets = try alice.write(drafts, operation: anOperation, wall: 5)
    #expect(sets.map(\.body.entries.count) == [999, 2])
    check(sets, entries: 1_001)
  }

  @Test(arguments: [64, 65, 128, 129, 200])
  func `unseen logs beyond the limit are first declared by empty sets`(count: Int) throws {
    let unseen = (0..<count).map {
      Dependency(
        device: DeviceKey(Bytes32(9, 0, 0, UInt64($0))), incarnation: Device.bob.incarnation, sequence: 1,
        id: ChangeSetID(Bytes32(0, 0, 0, UInt64($0))))
    }
    var alice = author(.alice, clock: Clock(milliseconds: 100), unseen: unseen)
    let sets = try alice.write(puts(1), operation: anOperation, wall: 5)
    #expect(sets.flatMap(\.header.dependencies) == unseen)
    #expect(sets.allSatisfy { $0.header.dependencies.count <= Limits.dependenciesMax })
    #expect(sets.dropLast().allSatisfy { $0.body.entries.isEmpty })
    #expect(sets.count == (count + 63) / 64)
    check(sets, entries: 1)
    let more = try alice.write(puts(1), operation: anOperation, wall: 5)
    #expect(more[0].header.dependencies.isEmpty)
  }

  @Test func `only the first set of a transaction declares dependencies`() throws {
    let seen = Dependency(
      device: Device.bob.key, incarnation: Device.bob.incarnation, sequence: 1, id: ChangeSetID(.zero))
    var alice = author(.alice, unseen: [seen])
    let sets = try alice.write(puts(1_500), operation: anOperation, wall: 5)
    #expect(sets.map(\.header.dependencies) == [[seen], []])
  }

  @Test(arguments: [
    // columns: seen ms, seen counter, wall, expected ms, expected counter
    (0, 0, 1_000, 1_000, 0),
    (1_000, 0, 1_000, 1_000, 1),
    (1_000, 7, 999, 1_000, 8),
    (1_000, 0xffff, 1_000, 1_001, 0),
    (1_000, 0xffff, 1_001, 1_001, 0),
    (5_000_000, 3, 10, 5_000_000, 4),
    (1_000, 0, 9_000_000, 9_000_000, 0),
    (1_000, 0, -5, 1_000, 1),
    (0, 0, 0, 0, 1),
  ])
  func `a local clock is above what was seen and not below the wall clock`(
    seen: Int64, counter: UInt64, wall: Int64, milliseconds: Int64, next: UInt16
  ) throws {
    let before = Clock(raw: Clock(milliseconds: seen).raw | counter)
    var alice = author(.alice, clock: before)
    let clock = try alice.write(puts(1), operation: anOperation, wall: wall)[0].header.clock
    #expect(clock.milliseconds == milliseconds && clock.counter == next)
    #expect(alice.position.clock == clock)
  }

  @Test func `a minimum clock raises every set of the write`() throws {
    var alice = author(.alice)
    let least = Clock(milliseconds: 700)
    let sets = try alice.write(puts(1_001), operation: anOperation, wall: 5, leastClock: least)
    #expect(sets.map(\.header.clock) == [least, least.next])
  }

  @Test func `a refused write leaves no trace, even if the sets before it were valid`() throws {
    let large = Value.array(Array(repeating: .text(String(repeating: "t", count: 60_000)), count: 5))
    let deep = (0..<9).reduce(Value.null) { inner, _ in .array([inner]) }
    let one = key(2, 1)
    let refused: [[EntryDraft]] = [
      [EntryDraft(.put, one, [(1, large)])],
      [EntryDraft(.put, one, [(1, .text(String(repeating: "t", count: 65_537)))])],
      [EntryDraft(.put, one, [(1, .bytes([UInt8](repeating: 0, count: 49_153)))])],
      [EntryDraft(.put, one, [(1, .array(Array(repeating: .null, count: 20_000)))])],
      [EntryDraft(.put, one, [(1, .float(.nan))])],
      [EntryDraft(.put, one, [(1, .array([.float(-0.0)]))])],
      [EntryDraft(.put, one, [(1, deep)])],
      [EntryDraft(.put, one, [])],
      [EntryDraft(.put, one, [(1, .null), (1, .null)])],
      [EntryDraft(.put, one, [(0, .bool(true))])],
      [EntryDraft(.insert, one, [(0, .bool(true)), (1, .null)])],
      [EntryDraft(.put, one, [(65_536, .null)])],
      [EntryDraft(.put, key(8_192, 1), [(1, .null)])],
      [EntryDraft(.delete, key(1, 0)), EntryDraft(.restore, key(1, 0))],
      [EntryDraft(.insert, key(1, 0), [(1, .null)])],
      [EntryDraft(.erase, one), EntryDraft(.delete, one)],
      [EntryDraft(.erase, one), EntryDraft(.erase, one)],
    ]
    for drafts in refused {
      var alice = author(.alice, clock: Clock(milliseconds: 9))
      #expect(throws: ChangeSetError.self, "\(drafts)") {
        try alice.write(puts(1_500) + drafts, operation: anOperation, wall: 5)
      }
      #expect(alice.position.sequence == 0 && alice.position.id == nil)
      #expect(alice.position.clock == Clock(milliseconds: 9))
      #expect(alice.position.logBytes == 0)
    }
  }

  @Test func `a log at its maximum length takes no set`() throws {
    var alice = author(.alice, sequence: 1, previous: ChangeSetID(.zero), logBytes: Limits.logBytesMax)
    let last = try alice.write(puts(1), operation: anOperation, wall: 5)
    #expect(last[0].header.logBytes == Limits.logBytesMax)
    #expect(throws: ChangeSetError.self) { try alice.write(puts(1), operation: anOperation, wall: 5) }
  }

  @Test func `a write at the maximum clock is refused instead of wrapping around`() throws {
    var alice = author(.alice, clock: Clock(raw: .max - 1))
    #expect(throws: ChangeSetError.self) { try alice.write(puts(1), operation: anOperation, wall: 5) }
    var bob = author(.bob, sequence: UInt64(Int64.max), previous: ChangeSetID(.zero))
    #expect(throws: ChangeSetError.self) { try bob.write(puts(1), operation: anOperation, wall: 5) }
  }

  // MARK: Values

  /// The seed of a set with complete values.
  private func seed(of set: VerifiedChangeSet) throws -> Bytes16 {
    var reader = CBORReader(set.raw.values)
    try reader.array(exactly: 2)
    return try reader.bytes16()
  }

  @Test func `each set has a seed of its own`() throws {
    var alice = author(.alice)
    let first = try alice.write(puts(2_500), operation: anOperation, wall: 5)
    let second = try alice.write(puts(1), operation: anOperation, wall: 5)
    let seeds = try (first + second).map { try seed(of: $0) }
    #expect(seeds.count == 4 && Set(seeds).count == 4)
    #expect(Set(try second.map { try seed(of: $0) }).isDisjoint(with: try first.map { try seed(of: $0) }))
  }

  @Test func `the same values under another seed have other commitments`() throws {
    let seeds = [Bytes16(0, 1), Bytes16(0, 2)]
    let sets = try seeds.map { seed in
      var alice = author(.alice, seed: { seed })
      return try alice.write(puts(2), operation: anOperation, wall: 5)[0]
    }
    #expect(sets[0].raw.plan == sets[1].raw.plan)
    #expect(sets[0].header.content.commitmentsHash != sets[1].header.content.commitmentsHash)
    #expect(sets[0].raw.values != sets[1].raw.values)
  }

  @Test(arguments: [1, 3, 4, 5, 8, 9, 1_000])
  func `the header commits to every slot, with the salts of the seed`(count: Int) throws {
    var alice = author(.alice, seed: { Bytes16(5, 5) })
    let set = try alice.write(puts(count), operation: anOperation, wall: 5)[0]
    let contents = (0..<count).map { _ in HandmadeSet.content([.integer(1)]) }
    let handmade = HandmadeSet(entries: [], contents: contents)
    #expect(set.raw.values == handmade.values)
    #expect(set.header.content.valuesBytes == handmade.values.count)
    #expect(set.header.content.commitmentsHash == handmade.header.content.commitmentsHash)
    #expect(set.body.slots.count == count)
  }

  @Test func `only entries with fields have a slot`() throws {
    var alice = author(.alice)
    let set = try alice.write(
      [
        EntryDraft(.delete, key(1, 1)), EntryDraft(.restore, key(1, 2)), EntryDraft(.erase, key(1, 3)),
        EntryDraft(.insert, key(1, 4)), EntryDraft(.insert, key(1, 5), [(2, .integer(5))]),
        EntryDraft(.put, key(1, 6), [(1, .integer(6)), (3, .null)]),
      ], operation: anOperation, wall: 5)[0]
    #expect(set.body.slots.count == 2)
    #expect(set.body.entries.map(\.cells.count) == [0, 0, 0, 0, 1, 2])
    #expect(set.body.cells.map { set.body.content($0).map { Array($0) } } == [[0x05], [0x06], [0xf6]])
  }

  @Test func `a set without fields has no values`() throws {
    var alice = author(.alice)
    let drafts = [EntryDraft(.erase, key(1, 1)), EntryDraft(.insert, key(1, 2))]
    let set = try alice.write(drafts, operation: anOperation, wall: 5)[0]
    #expect(set.raw.values.isEmpty)
    #expect(set.header.content.valuesBytes == 0 && set.header.content.commitmentsHash == nil)
    #expect(set.body.isComplete)
    let empty = try alice.write([], operation: anOperation, wall: 5)[0]
    #expect(empty.raw.values.isEmpty && empty.body.entries.isEmpty)
  }

  @Test(
    arguments: [
      // columns: fields, time of change, number of fields that are not empty
      ([(1, .integer(70)), (2, .text("Ann"))], 70, 2),
      ([(1, .integer(-5)), (2, .null), (3, .text("")), (4, .bytes([])), (5, .array([]))], -5, 1),
      ([(1, .integer(.max)), (2, .bool(false)), (3, .integer(0))], .max, 3),
      ([(1, .integer(.min))], .min, 1),
      ([(1, .text("70")), (2, .text("Ann"))], 0, 2),
      ([(1, .null), (2, .text("Ann"))], 0, 1),
      ([(2, .text("Ann"))], 0, 1),
      ([(2, .null)], 0, 0),
    ] as [([(FieldNumber, Value)], Int64, Int)])
  func `a whole record states its rank in the plan`(
    fields: [(FieldNumber, Value)], updatedAt: Int64, filled: Int
  ) throws {
    var alice = author(.alice)
    for type in [EntryType.put, .insert] {
      let draft = EntryDraft(type, key(4_096, 1), fields.map { (field: $0.0, value: $0.1) })
      let entry = try alice.write([draft], operation: anOperation, wall: 5)[0].body.entries[0]
      #expect(entry.stated == StatedRank(updatedAt: updatedAt, nonEmptyFields: filled))
    }
    // A record that merges field by field states none.
    let put = EntryDraft(.put, key(1, 1), fields.map { (field: $0.0, value: $0.1) })
    #expect(try alice.write([put], operation: anOperation, wall: 5)[0].body.entries[0].stated == nil)
  }

  @Test(arguments: [[], [0], [1], [0, 1, 2]] as [Set<Int>])
  func `re-authored sets have the same contents, and lack the same slots`(missing: Set<Int>) throws {
    var alice = author(.alice)
    let original = try alice.write(
      [
        EntryDraft(.put, key(1, 1), [(1, .integer(1))]), EntryDraft(.insert, key(1, 2), [(1, .integer(2))]),
        EntryDraft(.put, key(1, 3), [(1, .integer(3))]), EntryDraft(.erase, key(1, 4)),
      ], operation: anOperation, wall: 5)[0].lacking(missing)
    var next = author(Device(1, incarnationNumber: 2))
    let sets = try next.write(
      again: [ChangeSetContent(of: original)], of: anOperation, seen: [], least: original.header.clock)
    let set = try #require(sets.first)
    #expect(sets.count == 1)
    #expect(set.raw.plan == original.raw.plan && set.raw.values == original.raw.values)
    #expect(set.header.content == original.header.content)
    #expect(set.header.log.incarnation.number == 2 && set.header.logBytes == 0)
    let declared = set.header.declaredBytes(headerBytes: set.raw.header.count)
    #expect(next.position.logBytes == UInt64(declared))
    _ = try VerifiedChangeSet(verifying: set.raw)
  }
}
