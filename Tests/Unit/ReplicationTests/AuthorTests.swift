import Testing
import Vectors
import Wire

@testable import Replication

@Suite struct AuthorTests {
  private func puts(_ count: Int, _ value: Value = .integer(1)) -> [EntryDraft] {
    (0..<count).map { EntryDraft(.put, key(1, UInt64($0)), [(1, value)]) }
  }

  /// The sets form a chain with rising clocks, belong to one operation and contain all entries in order.
  private func check(_ sets: [VerifiedChangeSet], entries: Int) {
    for (before, after) in zip(sets, sets.dropFirst()) {
      #expect(after.header.sequence == before.header.sequence + 1)
      #expect(after.header.previous == before.id)
      #expect(after.header.clock > before.header.clock)
      #expect(after.header.operation == before.header.operation)
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
    for set in sets { #expect(set.raw.byteCount <= Limits.setBytesMax) }
    check(sets, entries: 20)
  }

  @Test func `a transaction is split at the item limit of a set`() throws {
    var alice = author(.alice)
    let list = Value.array(Array(repeating: .null, count: 1_500))
    let sets = try alice.write(puts(30, list), operation: anOperation, wall: 5)
    #expect(sets.count == 3)
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
    let refused: [EntryDraft] = [
      EntryDraft(.put, key(2, 1), [(1, large)]),
      EntryDraft(.put, key(2, 1), [(1, .text(String(repeating: "t", count: 65_537)))]),
      EntryDraft(.put, key(2, 1), [(1, .bytes([UInt8](repeating: 0, count: 49_153)))]),
      EntryDraft(.put, key(2, 1), [(1, .array(Array(repeating: .null, count: 20_000)))]),
      EntryDraft(.put, key(2, 1), [(1, .float(.nan))]),
      EntryDraft(.put, key(2, 1), [(1, .array([.float(-0.0)]))]),
      EntryDraft(.put, key(2, 1), [(1, deep)]),
      EntryDraft(.put, key(2, 1), []),
      EntryDraft(.put, key(2, 1), [(1, .null), (1, .null)]),
      EntryDraft(.put, key(2, 1), [(65_536, .null)]),
      EntryDraft(.put, key(8_192, 1), [(1, .null)]),
      EntryDraft(.delete, key(1, 0)),
    ]
    for draft in refused {
      var alice = author(.alice, clock: Clock(milliseconds: 9))
      let drafts = puts(1_500) + [draft] + (draft.type == .delete ? [EntryDraft(.restore, key(1, 0))] : [])
      #expect(throws: ChangeSetError.self) {
        try alice.write(drafts, operation: anOperation, wall: 5)
      }
      #expect(alice.position.sequence == 0 && alice.position.id == nil)
      #expect(alice.position.clock == Clock(milliseconds: 9))
    }
  }

  @Test func `a write at the maximum clock is refused instead of wrapping around`() throws {
    var alice = author(.alice, clock: Clock(raw: .max - 1))
    #expect(throws: ChangeSetError.self) { try alice.write(puts(1), operation: anOperation, wall: 5) }
    var bob = author(.bob, sequence: UInt64(Int64.max), previous: ChangeSetID(.zero))
    #expect(throws: ChangeSetError.self) { try bob.write(puts(1), operation: anOperation, wall: 5) }
  }
}
