import Testing
import Wire

@testable import Replication

/// What makes a change set valid: its header, its plan, and values that may have gaps.
@Suite struct ChangeSetTests {
  private static func text(_ text: String) -> [UInt8] { HandmadeSet.content([.text(text)]) }

  /// A set with five slots, whose salts come from two blocks.
  private static let five = HandmadeSet(
    entries: [
      HandmadeSet.entry(.put, key(1, 1), [1]),
      HandmadeSet.entry(.delete, key(1, 2)),
      HandmadeSet.entry(.insert, key(1, 3), [1]),
      HandmadeSet.entry(.insert, key(1, 4), []),
      HandmadeSet.entry(.put, key(1, 5), [2, 3]),
      HandmadeSet.entry(.erase, key(1, 6)),
      HandmadeSet.entry(.put, key(2, 1), [1]),
      HandmadeSet.entry(.put, key(4_096, 1), [1]),
    ],
    contents: [text("a"), text("b"), HandmadeSet.content([.integer(2), .integer(3)]), text("d"), text("e")])

  // MARK: Missing slots

  @Test(arguments: 0..<32)
  func `a set is valid with any of its slots missing, and has the same id`(mask: Int) throws {
    let complete = try VerifiedChangeSet(verifying: Self.five.raw())
    let missing = Set((0..<5).filter { mask >> $0 & 1 == 1 })
    let slots = (0..<5).map { missing.contains($0) ? Self.five.missing($0) : Self.five.slot($0) }
    let values = HandmadeSet.salted(slots)
    let set = try VerifiedChangeSet(verifying: Self.five.raw(values))
    #expect(set.id == complete.id && set.stamp == complete.stamp && set.logBytes == complete.logBytes)
    #expect(set.body.isComplete == missing.isEmpty)
    #expect(set.raw.isIntact(as: complete.id))
    var slot = 0
    for entry in set.body.entries where !entry.cells.isEmpty {
      for cell in entry.cells {
        let expected = missing.contains(slot) ? nil : complete.body.content(complete.body.cells[cell])
        #expect(set.body.content(set.body.cells[cell]) == expected)
      }
      slot += 1
    }
    #expect(slot == 5)
    // The same bytes result, whether the slots are removed at once or one by one.
    if !missing.isEmpty { #expect(complete.values(without: missing) == values) }
    var step = complete
    for slot in missing.sorted(by: >) { step = try step.lacking([slot]) }
    if !missing.isEmpty { #expect(step.raw.values == values) }
    #expect(try step.lacking(missing).raw.values == step.raw.values)
  }

  @Test func `a missing slot is no longer in the bytes, and neither is the seed`() throws {
    let set = try VerifiedChangeSet(verifying: Self.five.raw()).lacking([1])
    #expect(!contains(set.raw.values, Self.text("b")))
    #expect(!contains(set.raw.values, Self.five.seed.bytes))
    #expect(!contains(set.raw.values, Self.five.salt(1)))
    #expect(contains(set.raw.values, Self.five.commitment(1)))
    #expect(contains(set.raw.values, Self.five.salt(0)))
  }

  private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    bytes.indices.contains { bytes[$0...].starts(with: part) }
  }

  @Test(arguments: [[], [0], [0, 1, 2, 3, 4]] as [Set<Int>])
  func `the cells that a set writes are known without their values`(missing: Set<Int>) throws {
    let set = try VerifiedChangeSet(verifying: Self.five.raw()).lacking(missing)
    let writes = set.body.entries.map { set.body.writes(of: $0) }
    #expect(writes.map { $0.map(\.field) } == [[1], [0], [0, 1], [0], [2, 3], [0], [1], [1]])
    // The life is part of the plan, so it is never absent.
    let lives = writes.compactMap { $0.first { $0.field == Fields.life }?.content }
    #expect(lives == [ChangeSetBody.dead, ChangeSetBody.alive, ChangeSetBody.alive, ChangeSetBody.dead])
    #expect(writes.joined().count { $0.content == nil } == (missing.isEmpty ? 0 : missing == [0] ? 1 : 6))
    #expect(set.body.entries.last?.stated == StatedRank(updatedAt: 7, nonEmptyFields: 1))
  }

  // MARK: Unreadable slots

  /// A content of a slot for two fields, and whether it is two values.
  private struct SlotContent {
    let name: String
    let bytes: [UInt8]
    let isReadable: Bool

    init(_ name: String, _ bytes: [UInt8], _ isReadable: Bool) {
      (self.name, self.bytes, self.isReadable) = (name, bytes, isReadable)
    }
  }

  private static let contents: [SlotContent] = [
    SlotContent("two values", [0x82, 0x01, 0x02], true),
    SlotContent("two nulls", [0x82, 0xf6, 0xf6], true),
    SlotContent("nothing", [], false),
    SlotContent("one value", [0x81, 0x01], false),
    SlotContent("three values", [0x83, 0x01, 0x02, 0x03], false),
    SlotContent("no array", [0x01], false),
    SlotContent("an array without its values", [0x82], false),
    SlotContent("a value too few", [0x82, 0x01], false),
    SlotContent("a byte after the array", [0x82, 0x01, 0x02, 0x00], false),
    SlotContent("a long integer", [0x82, 0x18, 0x01, 0x02], false),
    SlotContent("an indefinite array", [0x9f, 0x01, 0x02, 0xff], false),
    SlotContent("a map", [0x82, 0x01, 0xa0], false),
    SlotContent("a tag", [0x82, 0x01, 0xc1, 0x00], false),
    SlotContent("undefined", [0x82, 0x01, 0xf7], false),
    SlotContent("a short float", [0x82, 0x01, 0xf9, 0x3c, 0x00], false),
    SlotContent("NaN", [0x82, 0x01, 0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0], false),
    SlotContent("invalid text", [0x82, 0x01, 0x61, 0xff], false),
    SlotContent(
      "seven arrays in each other", [0x82, 0x01] + [UInt8](repeating: 0x81, count: 7) + [0x01], true),
    SlotContent(
      "eight arrays in each other", [0x82, 0x01] + [UInt8](repeating: 0x81, count: 8) + [0x01], false),
    SlotContent(
      "a text of 65,536 bytes", HandmadeSet.content([.null, .text(String(repeating: "t", count: 65_536))]),
      true),
    SlotContent(
      "a text of 65,537 bytes", HandmadeSet.content([.null, .text(String(repeating: "t", count: 65_537))]),
      false),
    SlotContent(
      "49,152 bytes", HandmadeSet.content([.null, .bytes([UInt8](repeating: 7, count: 49_152))]), true),
    SlotContent(
      "49,153 bytes", HandmadeSet.content([.null, .bytes([UInt8](repeating: 7, count: 49_153))]), false),
    SlotContent(
      "20,000 items", HandmadeSet.content([.null, .array(Array(repeating: .null, count: 19_997))]), true),
    SlotContent(
      "20,001 items", HandmadeSet.content([.null, .array(Array(repeating: .null, count: 19_998))]), false),
  ]

  @Test(arguments: contents.indices)
  func `whatever a slot contains, the set is valid, and fields that can't be read are absent`(index: Int)
    throws
  {
    let (name, bytes, isReadable) = (
      Self.contents[index].name, Self.contents[index].bytes, Self.contents[index].isReadable
    )
    let handmade = HandmadeSet(
      entries: [HandmadeSet.entry(.put, key(1, 1), [1, 2]), HandmadeSet.entry(.put, key(1, 2), [1])],
      contents: [bytes, Self.text("next")])
    let set = try VerifiedChangeSet(verifying: handmade.raw())
    #expect(set.body.isComplete, "\(name)")
    #expect(set.body.cells.map(\.isAbsent) == [!isReadable, !isReadable, false], "\(name)")
    #expect(set.body.content(set.body.cells[2]).map { Array($0) } == Value.text("next").encoded, "\(name)")
    // The slot can be removed like any other, and the plan says the same.
    let lacking = try set.lacking([0])
    #expect(lacking.id == set.id && !lacking.body.isComplete, "\(name)")
    #expect(lacking.body.cells.map(\.field) == set.body.cells.map(\.field), "\(name)")
  }

  // MARK: Values that do not match

  /// Values that are not those of a set with three slots.
  private struct Mismatch {
    let name: String
    let values: @Sendable (HandmadeSet) -> [UInt8]

    init(_ name: String, _ values: @escaping @Sendable (HandmadeSet) -> [UInt8]) {
      (self.name, self.values) = (name, values)
    }

    /// The first two slots in salted form, and the third one complete.
    static func slots(_ name: String, _ slots: @escaping @Sendable (HandmadeSet) -> [HandmadeSet.Slot])
      -> Mismatch
    {
      Mismatch(name) { HandmadeSet.salted(slots($0) + [$0.slot(2)]) }
    }
  }

  private static let mismatches: [Mismatch] = [
    Mismatch("nothing") { _ in [] },
    Mismatch("another seed") { set in altered(set) { $0.seed = Bytes16(5, 6) } },
    Mismatch("another content") { set in altered(set) { $0.contents[1] = text("x") } },
    Mismatch("contents in another order") { set in altered(set) { $0.contents.swapAt(0, 2) } },
    Mismatch("a content too few") { set in altered(set) { $0.contents.removeLast() } },
    Mismatch("a content too many") { set in altered(set) { $0.contents.append(text("x")) } },
    Mismatch("a byte after the values") { $0.values + [0x00] },
    Mismatch("the last byte missing") { Array($0.values.dropLast()) },
    Mismatch("a long length") { [0x98, 0x02] + $0.values.dropFirst() },
    Mismatch("no array") { _ in [0xf6] },
    Mismatch("an empty array") { _ in [0x80] },
    Mismatch("an array of three") { [0x83] + $0.values.dropFirst() + [0xf6] },
    Mismatch("slots after an empty array") { set in HandmadeSet.salted((0..<3).map(set.slot), outer: 0) },
    Mismatch("slots, and something else") { set in
      HandmadeSet.salted((0..<3).map(set.slot), outer: 2) + [0xf6]
    },
    Mismatch("no slots") { _ in HandmadeSet.salted([]) },
    .slots("a slot too few", { [$0.slot(0)] }),
    .slots("a missing slot too many", { [$0.slot(0), $0.slot(1), $0.missing(1)] }),
    .slots("another salt", { [$0.slot(0), .held(salt: $0.salt(2), content: $0.contents[1])] }),
    .slots("another salted content", { [$0.slot(0), .held(salt: $0.salt(1), content: text("x"))] }),
    .slots("another commitment", { [$0.slot(0), .missing(commitment: $0.commitment(2))] }),
    .slots("commitments in another order", { [$0.missing(1), $0.missing(0)] }),
    .slots(
      "a short salt", { [.held(salt: Array($0.salt(0).dropLast()), content: $0.contents[0]), $0.slot(1)] }),
    .slots("a long salt", { [.held(salt: $0.salt(0) + [0], content: $0.contents[0]), $0.slot(1)] }),
    .slots("a short commitment", { [.missing(commitment: Array($0.commitment(0).dropLast())), $0.slot(1)] }),
    .slots("a long commitment", { [.missing(commitment: $0.commitment(0) + [0]), $0.slot(1)] }),
  ]

  private static func altered(_ set: HandmadeSet, _ change: (inout HandmadeSet) -> Void) -> [UInt8] {
    var set = set
    change(&set)
    return set.values
  }

  private static let three = HandmadeSet(
    entries: (1...3).map { HandmadeSet.entry(.put, key(1, UInt64($0)), [1]) },
    contents: [text("a"), text("b"), text("c")])

  @Test(arguments: mismatches.indices)
  func `values that the header does not commit to are refused`(index: Int) throws {
    let name = Self.mismatches[index].name
    let raw = Self.three.raw(Self.mismatches[index].values(Self.three))
    #expect(throws: ChangeSetError.valuesMismatch, "\(name)") { try VerifiedChangeSet(verifying: raw) }
    #expect(throws: ChangeSetError.self, "\(name)") {
      try VerifiedChangeSet(stored: raw, id: ChangeSetID(header: raw.header))
    }
    #expect(!raw.isIntact(as: ChangeSetID(header: raw.header)), "\(name)")
    // The set itself is valid: with other values, it is accepted.
    _ = try VerifiedChangeSet(verifying: Self.three.raw())
  }

  @Test(arguments: [[0x00], [0x80], [0x81, 0x80], [0x82, 0x50] + [UInt8](repeating: 5, count: 16) + [0x80]])
  func `a set without slots has no values`(values: [UInt8]) throws {
    let handmade = HandmadeSet(entries: [HandmadeSet.entry(.delete, key(1, 1))])
    _ = try VerifiedChangeSet(verifying: handmade.raw())
    #expect(throws: ChangeSetError.valuesMismatch) { try VerifiedChangeSet(verifying: handmade.raw(values)) }
  }

  @Test func `the header commits to as many slots as the plan has`() throws {
    let entries = [HandmadeSet.entry(.put, key(1, 1), [1]), HandmadeSet.entry(.put, key(1, 2), [1])]
    let contents = [Self.text("a"), Self.text("b"), Self.text("c")]
    for count in 0...3 {
      let raw = HandmadeSet(entries: entries, contents: Array(contents.prefix(count))).raw()
      if count == 2 {
        _ = try VerifiedChangeSet(verifying: raw)
      } else {
        #expect(throws: ChangeSetError.valuesMismatch, "\(count)") { try VerifiedChangeSet(verifying: raw) }
      }
    }
  }

  // MARK: Header

  private enum Problem { case malformed, invalid, tooLarge }

  /// A change to a valid header of sequence 1, and what is wrong then.
  private struct HeaderChange {
    let name: String
    let problem: Problem?
    let change: @Sendable (inout ChangeSetHeader) -> Void

    init(_ name: String, _ problem: Problem?, _ change: @escaping @Sendable (inout ChangeSetHeader) -> Void) {
      (self.name, self.problem, self.change) = (name, problem, change)
    }

    /// A header of sequence 2, after these bytes of the log.
    init(_ name: String, _ problem: Problem?, second logBytes: UInt64) {
      self.init(name, problem) { header in
        header.sequence = 2
        header.previous = ChangeSetID(.zero)
        header.logBytes = logBytes
      }
    }
  }

  private static let headers: [HeaderChange] = [
    HeaderChange("nothing", nil) { _ in },
    HeaderChange("bytes before the first set", .invalid) { $0.logBytes = 1 },
    HeaderChange("bytes before the second set", nil, second: 1),
    HeaderChange("no bytes before the second set", nil, second: 0),
    HeaderChange("2^62 bytes", nil, second: 1 << 62),
    HeaderChange("2^62 + 1 bytes", .malformed, second: 1 << 62 + 1),
    HeaderChange("2^64 - 1 bytes", .malformed, second: .max),
    HeaderChange("a plan as long as a set", .tooLarge) { $0.content.planBytes = Limits.setBytesMax },
    HeaderChange("a plan longer than a set", .malformed) { $0.content.planBytes = Limits.setBytesMax + 1 },
    HeaderChange("values as long as a set", .tooLarge) { $0.content.valuesBytes = Limits.setBytesMax },
    HeaderChange("values longer than a set", .malformed) { $0.content.valuesBytes = Limits.setBytesMax + 1 },
    HeaderChange("no values", nil) { header in
      header.content.commitmentsHash = nil
      header.content.valuesBytes = 0
    },
    HeaderChange("an id before the first set", .invalid) { $0.previous = ChangeSetID(.zero) },
    HeaderChange("no id before the second set", .invalid) { $0.sequence = 2 },
    HeaderChange("the sequence 0", .invalid) { $0.sequence = 0 },
    HeaderChange("a clock of 0", .invalid) { $0.clock = .zero },
    HeaderChange("the last clock", .invalid) { $0.clock = Clock(raw: .max) },
  ]

  @Test(arguments: headers.indices)
  func `a header follows the rules that need nothing else`(index: Int) throws {
    let (name, problem) = (Self.headers[index].name, Self.headers[index].problem)
    var header = Self.three.header
    Self.headers[index].change(&header)
    let bytes = header.encoded
    var found: Problem?
    do throws(ChangeSetError) {
      let decoded = try ChangeSetHeader(decoding: bytes)
      #expect(decoded == header && decoded.encoded == bytes, "\(name)")
    } catch {
      switch error {
      case .malformed: found = .malformed
      case .invalid: found = .invalid
      case .tooLarge: found = .tooLarge
      default: Issue.record("\(name): \(error)")
      }
    }
    #expect(found == problem, "\(name)")
  }

  @Test(arguments: 0..<15 as Range<UInt64>)
  func `a header has every key, once`(key: UInt64) throws {
    var first = Self.three.header
    first.dependencies = [
      Dependency(
        device: Device.bob.key, incarnation: Device.bob.incarnation, sequence: 1, id: ChangeSetID(.zero))
    ]
    var map = try HandmadeMap(first.encoded)
    guard key != 6 else {
      // A first set has no previous one.
      #expect(map[6] == nil)
      return
    }
    let value = try #require(map[key])
    map[key] = nil
    let isOptional = key == 8
    #expect(((try? ChangeSetHeader(decoding: map.encoded)) != nil) == isOptional)
    map[key] = value
    _ = try ChangeSetHeader(decoding: map.encoded)
    // An unknown key, a key twice, and keys out of order.
    map[15] = [0x00]
    #expect(throws: ChangeSetError.self) { try ChangeSetHeader(decoding: map.encoded) }
    map[15] = nil
    map.items.append((key, value))
    #expect(throws: ChangeSetError.self) { try ChangeSetHeader(decoding: map.encoded) }
    map.items.removeLast()
    map.items.swapAt(0, map.items.count - 1)
    #expect(throws: ChangeSetError.self) { try ChangeSetHeader(decoding: map.encoded) }
  }

  @Test func `length of values and hash of commitments are there together`() throws {
    for key in [12, 13] as [UInt64] {
      var map = try HandmadeMap(Self.three.header.encoded)
      map[key] = nil
      #expect(throws: ChangeSetError.self) { try ChangeSetHeader(decoding: map.encoded) }
      map[12] = nil
      map[13] = nil
      #expect(try ChangeSetHeader(decoding: map.encoded).content.commitmentsHash == nil)
    }
  }

  @Test(arguments: [0, 1, 3] as [UInt8])
  func `a set of another version is refused`(version: UInt8) throws {
    var map = try HandmadeMap(Self.three.header.encoded)
    #expect(map[0] == [0x02])
    map[0] = [version]
    #expect(throws: ChangeSetError.self) { try ChangeSetHeader(decoding: map.encoded) }
  }

  @Test func `a set of the maximum size is accepted, and one byte more is not`() throws {
    // Texts of which the last fills up the set.
    func set(_ last: Int) -> HandmadeSet {
      let texts = [60_000, 60_000, 60_000, 60_000, last].map { Self.text(String(repeating: "t", count: $0)) }
      return HandmadeSet(
        entries: texts.indices.map { HandmadeSet.entry(.put, key(1, UInt64($0)), [1]) }, contents: texts)
    }
    let start = set(20_000)
    let rest = Limits.setBytesMax - start.header.declaredBytes(headerBytes: start.header.encoded.count)
    let fits = try VerifiedChangeSet(verifying: set(20_000 + rest).raw())
    #expect(fits.raw.byteCount == Limits.setBytesMax)
    // With its salts, a set may be longer than it declares.
    let salted = set(20_000 + rest)
    let copy = try VerifiedChangeSet(verifying: salted.raw(HandmadeSet.salted((0..<5).map(salted.slot))))
    #expect(copy.raw.byteCount > Limits.setBytesMax && copy.logBytes == UInt64(Limits.setBytesMax))
    // What a set declares counts, even if its values are missing.
    let large = set(20_001 + rest)
    for values in [large.values, HandmadeSet.salted((0..<5).map(large.missing))] {
      #expect(throws: ChangeSetError.tooLarge(bytes: Limits.setBytesMax + 1)) {
        try VerifiedChangeSet(verifying: large.raw(values))
      }
    }
  }

  @Test func `a plan is not empty`() throws {
    var header = Self.three.header
    header.content.planBytes = 0
    header.content.planHash = blake2b256(ChangeSetPrefix.plan, [])
    let raw = HandmadeSet.signed(header.encoded, plan: [], values: Self.three.values)
    #expect(throws: ChangeSetError.self) { try VerifiedChangeSet(verifying: raw) }
    #expect(throws: ChangeSetError.self) { try ChangeSetHeader(decoding: raw.header) }
  }

  // MARK: Entries of one record

  private static let types: [EntryType] = [.put, .delete, .restore, .insert, .erase]
  /// The types that the entries of one record may have together, and the life that they write.
  private static let combinations: [(types: Set<EntryType>, life: Bool?)] = [
    ([], nil),
    ([.put], nil),
    ([.insert], true),
    ([.delete], false),
    ([.restore], true),
    ([.put, .delete], false),
    ([.put, .restore], true),
    ([.erase], false),
    ([.put, .erase], false),
    ([.insert, .erase], true),
  ]

  @Test(arguments: 0..<32, [1, 3_000, 4_096, 8_191, 8_192, 12_287] as [UInt64])
  func `one record has entries of types that go together`(mask: Int, kind: UInt64) throws {
    let record = key(kind, 1)
    let types = Self.types.filter { mask >> Int($0.rawValue) & 1 == 1 }
    var handmade = HandmadeSet(
      entries: types.map { HandmadeSet.entry($0, record, $0.writesFields ? [1] : nil) })
    handmade.contents = types.filter(\.writesFields).map { _ in Self.text("x") }
    handmade.lane = record.kind.lane
    // Other records on both sides change nothing.
    handmade.entries.insert(HandmadeSet.entry(.delete, key(kind, 0)), at: 0)
    handmade.entries.append(HandmadeSet.entry(.restore, key(kind, 2)))
    let found = try? VerifiedChangeSet(verifying: handmade.raw())
    let allowed = Self.combinations.first { $0.types == Set(types) }
    #expect((found == nil) == (allowed == nil), "\(types)")
    guard let found, let allowed else { return }
    let entries = found.body.entries(of: record)
    #expect(entries.map(\.type) == types)
    let lives = entries.compactMap { entry in
      found.body.writes(of: entry).first { $0.field == Fields.life }?.content
    }
    #expect(lives == allowed.life.map { [$0 ? ChangeSetBody.alive : ChangeSetBody.dead] } ?? [], "\(types)")
  }

  @Test(arguments: types, types)
  func `entries of one record ascend by type, and none comes twice`(first: EntryType, second: EntryType)
    throws
  {
    let entries = [first, second].map { HandmadeSet.entry($0, key(1, 1), $0.writesFields ? [1] : nil) }
    let contents = [first, second].filter(\.writesFields).map { _ in Self.text("x") }
    let isAllowed = first < second && Self.combinations.contains { $0.types == [first, second] }
    let found = try? VerifiedChangeSet(verifying: HandmadeSet(entries: entries, contents: contents).raw())
    #expect((found != nil) == isAllowed)
  }

  @Test func `a rule of the plan comes before the values`() throws {
    let entries = [HandmadeSet.entry(.delete, key(1, 1)), HandmadeSet.entry(.restore, key(1, 1))]
    #expect(throws: ChangeSetError.invalid("two writes to one record's life")) {
      try VerifiedChangeSet(verifying: HandmadeSet(entries: entries).raw([0x00]))
    }
    let lists = [HandmadeSet.entry(.put, key(1, 1), [1]), HandmadeSet.entry(.insert, key(1, 1), [2])]
    #expect(throws: ChangeSetError.invalid("two lists of fields for one record")) {
      try VerifiedChangeSet(verifying: HandmadeSet(entries: lists, contents: [Self.text("x")]).raw())
    }
  }

  @Test(
    arguments: [
      // columns: type, kind, fields, rank, valid
      (0, 1, [1], nil, true), (0, 1, [1, 65_535], nil, true), (3, 1, [], nil, true), (3, 1, [1], nil, true),
      (0, 1, [], nil, false), (0, 1, nil, nil, false), (3, 1, nil, nil, false), (0, 1, [0], nil, false),
      (0, 1, [0, 1], nil, false), (3, 1, [0], nil, false), (0, 1, [65_536], nil, false),
      (0, 1, [2, 1], nil, false),
      (0, 1, [1, 1], nil, false), (1, 1, [1], nil, false), (2, 1, [1], nil, false), (4, 1, [1], nil, false),
      (1, 1, [], nil, false), (5, 1, nil, nil, false), (0, 1, [1], 0, false), (3, 1, [], 0, false),
      (1, 1, nil, 0, false), (0, 4_096, [1], 0, true), (0, 4_096, [1], 65_535, true),
      (3, 4_096, [1], 0, true),
      (3, 4_096, [], 0, true), (0, 4_096, [1], nil, false), (3, 4_096, [1], nil, false),
      (0, 4_096, [1], 65_536, false), (0, 4_096, [], 0, false), (1, 4_096, nil, nil, true),
      (1, 4_096, nil, 0, false),
      (4, 4_096, nil, nil, true), (4, 4_096, nil, 0, false),
    ] as [(UInt8, UInt64, [UInt64]?, UInt64?, Bool)])
  func `an entry has the parts of its type and kind`(
    type: UInt8, kind: UInt64, fields: [UInt64]?, rank: UInt64?, isValid: Bool
  ) throws {
    let entry = HandmadeSet.entry(
      type, key(kind, 1), fields, rank: rank.map { (updatedAt: Int64.min, filled: $0) })
    var handmade = HandmadeSet(entries: [entry])
    if let fields, !fields.isEmpty {
      handmade.contents = [HandmadeSet.content(Array(repeating: .null, count: fields.count))]
    }
    let set = try? VerifiedChangeSet(verifying: handmade.raw())
    #expect((set != nil) == isValid)
    #expect(
      set?.body.entries.first?.stated
        == (isValid ? rank : nil).map {
          StatedRank(updatedAt: .min, nonEmptyFields: Int($0))
        })
  }
}
