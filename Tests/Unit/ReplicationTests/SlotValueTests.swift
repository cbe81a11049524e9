import Testing
import Wire

@testable import Replication

/// Contents of slots that are handed to a peer that lacks them, and that are put back into a set.
@Suite struct SlotValueTests {
  /// Six slots, so that the salts derive from two hashes of the seed.
  private static let handmade = HandmadeSet(
    entries: (1...6 as ClosedRange<UInt64>).map { HandmadeSet.entry(.put, key(1, $0), [1]) },
    contents: (1...6 as ClosedRange<Int64>).map { HandmadeSet.content([.integer($0)]) })
  private let whole: VerifiedChangeSet
  private let values: [SlotValue]

  init() throws {
    whole = try VerifiedChangeSet(verifying: Self.handmade.raw())
    values = try (0..<6).map { slot in
      SlotValue(
        slot: slot, salt: try #require(Bytes16(Self.handmade.salt(slot))),
        content: Self.handmade.contents[slot])
    }
  }

  private func fill(_ set: VerifiedChangeSet, _ contents: [SlotValue]) -> Slots.Filling {
    set.body.slots.filled(set.raw.values, with: contents, set.header.content)
  }

  /// The set with other values, as a peer would verify it.
  private func verified(_ values: [UInt8]) throws -> VerifiedChangeSet {
    try VerifiedChangeSet(
      verifying: RawChangeSet(
        header: whole.raw.header, signature: whole.raw.signature, plan: whole.raw.plan, values: values))
  }

  @Test(arguments: 0..<6)
  func `a slot is handed out with its own salt, whether the values are complete or not`(slot: Int) throws {
    let value = values[slot]
    #expect(whole.body.slots.value(slot, in: whole.raw.values) == value)
    let gaps = try whole.lacking([slot == 0 ? 1 : 0])
    #expect(gaps.body.slots.value(slot, in: gaps.raw.values) == value)
    let missing = try whole.lacking([slot])
    #expect(missing.body.slots.value(slot, in: missing.raw.values) == nil)
    #expect(missing.body.slots.missingCount == 1)
    for beyond in [-1, 6] { #expect(whole.body.slots.value(beyond, in: whole.raw.values) == nil) }
  }

  @Test func `the contents that match are put back, in any order, and the rest stays as it was`() throws {
    let gaps = try whole.lacking([0, 2, 5])
    let foreign = SlotValue(slot: 6, salt: values[0].salt, content: values[0].content)
    let filling = fill(gaps, [values[5], foreign, values[1], values[0]])
    #expect(filling.filled == [0, 5] && !filling.hasWrong)
    let partly = try verified(try #require(filling.values))
    #expect(partly.id == whole.id && partly.body.slots.missingCount == 1)
    for slot in [0, 1, 3, 4, 5] {
      #expect(partly.body.slots.value(slot, in: partly.raw.values) == values[slot])
    }
    let last = fill(partly, [values[2]])
    let complete = try verified(try #require(last.values))
    #expect(complete.body.isComplete)
    let contents = complete.body.cells.map { complete.body.content($0).map { Array($0) } }
    #expect(contents == [[1], [2], [3], [4], [5], [6]])
  }

  @Test func `a content that does not match is reported and not stored, next to one that does`() throws {
    let gaps = try whole.lacking([2, 3])
    let wrong = [
      SlotValue(slot: 2, salt: values[3].salt, content: values[2].content),
      SlotValue(slot: 2, salt: values[2].salt, content: values[3].content),
      SlotValue(slot: 2, salt: values[3].salt, content: values[3].content),
      SlotValue(slot: 2, salt: values[2].salt, content: []),
    ]
    for value in wrong {
      let alone = fill(gaps, [value])
      #expect(alone.hasWrong && alone.values == nil && alone.filled.isEmpty)
      let mixed = fill(gaps, [value, values[3]])
      #expect(mixed.hasWrong && mixed.filled == [3])
      #expect(try verified(try #require(mixed.values)).body.slots.missingCount == 1)
    }
    // A slot that is here already is not compared, so its sender is not charged.
    let known = fill(gaps, [SlotValue(slot: 1, salt: .zero, content: [9])])
    #expect(!known.hasWrong && known.values == nil)
  }

  @Test func `the lanes of one operation have seeds of their own`() throws {
    var drafts = (1...1_001 as ClosedRange<UInt64>).reversed().map { number in
      EntryDraft(.put, key(1, number), [(1, .integer(1))])
    }
    drafts.append(EntryDraft(.insert, key(8_192, 1), [(1, .integer(1))]))
    let contents = try OperationContents(anOperation, drafts, seed: countedSeeds())
    #expect(contents.entryCount == 1_002)
    let lanes = contents.finish()
    #expect(lanes.map(\.lane) == [.settings, .records])
    #expect(lanes.map(\.contents.count) == [1, 2])
    // Equal seeds would show which values are equal. The seed follows the head of the array and its own.
    let seeds = lanes.flatMap { $0.contents.map { Array($0.values[2..<18]) } }
    #expect(Set(seeds).count == 3)
    #expect(!seeds.contains(Bytes16.zero.bytes))
  }
}
