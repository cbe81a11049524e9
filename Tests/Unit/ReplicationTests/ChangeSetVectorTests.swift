import Sodium
import Testing
import Vectors
import Wire

@testable import Replication

@Suite struct ChangeSetVectorTests {
  private let file: ChangeSetVectors

  init() throws { file = try vectors("change-sets.json", as: ChangeSetVectors.self) }

  @Test func `accepted sets are read with the ids and contents from Python`() throws {
    for vector in file.accepted {
      let operation = try #require(OperationID(hex: vector.write.operation))
      for (index, sealed) in vector.sets.enumerated() {
        let set = try VerifiedChangeSet(verifying: try sealed.raw())
        #expect(set.id.description == sealed.id, "\(vector.name)")
        #expect(set.header.encoded == set.raw.header, "\(vector.name)")
        #expect(set.header.circle.description == file.circle, "\(vector.name)")
        #expect(
          set.header.declaredBytes(headerBytes: set.raw.header.count) == sealed.declaredBytes,
          "\(vector.name)")
        #expect(set.body.isComplete, "\(vector.name)")
        #expect(set.header.operation == operation, "\(vector.name)")
        #expect(set.header.sequence == UInt64(vector.write.sequence)! + UInt64(index) + 1, "\(vector.name)")
        #expect(set.body.verb == vector.write.verb, "\(vector.name)")
        #expect(set.body.target?.description == vector.write.target, "\(vector.name)")
        let stored = try VerifiedChangeSet(stored: set.raw, id: set.id)
        #expect(stored.header == set.header && stored.body.verb == set.body.verb, "\(vector.name)")
      }
    }
  }

  @Test func `the author writes the same bytes as Python`() throws {
    for vector in file.accepted {
      let write = vector.write
      var author = try file.author(of: vector)
      let sets = try author.write(
        try write.entries.map { try $0.draft() },
        operation: OperationDraft(
          id: try #require(OperationID(hex: write.operation)), verb: write.verb,
          target: write.target.flatMap { OperationID(hex: $0) }),
        wall: write.wall, leastClock: Clock(raw: try #require(UInt64(write.leastClock))))
      #expect(sets.map(\.raw) == (try vector.sets.map { try $0.raw() }), "\(vector.name)")
      #expect(author.position.id == sets.last?.id, "\(vector.name)")
      #expect(author.position.unseen.isEmpty, "\(vector.name)")
      let declared = vector.sets.reduce(0) { $0 + UInt64($1.declaredBytes ?? 0) }
      #expect(author.position.logBytes == UInt64(write.logBytes)! + declared, "\(vector.name)")
    }
  }

  @Test func `the cells of a set are the values that were written`() throws {
    for vector in file.accepted {
      let expected = try vector.write.entries.map { (draft: try $0.draft(), stated: try $0.statedRank()) }
        .sorted { ($0.draft.key, $0.draft.type) < ($1.draft.key, $1.draft.type) }
      let bodies = try vector.sets.map { try VerifiedChangeSet(verifying: try $0.raw()).body }
      let entries = bodies.flatMap { body in body.entries.map { (body, $0) } }
      #expect(entries.count == expected.count, "\(vector.name)")
      for ((body, entry), (draft, stated)) in zip(entries, expected) {
        #expect(entry.type == draft.type && entry.key == draft.key, "\(vector.name)")
        #expect(entry.stated == stated, "\(vector.name)")
        let cells = body.cells[entry.cells]
        #expect(cells.map(\.field) == draft.fields.map(\.field), "\(vector.name)")
        #expect(
          cells.map { body.content($0).map { Array($0) } } == draft.fields.map(\.value.encoded),
          "\(vector.name)")
      }
    }
  }

  @Test func `a copy without some slots has the same id, and the values of the others`() throws {
    #expect(file.copies.count > 10)
    for copy in file.copies {
      let sealed = file.accepted[copy.accepted].sets[copy.set]
      let complete = try VerifiedChangeSet(verifying: try sealed.raw())
      let raw = RawChangeSet(
        header: complete.raw.header, signature: complete.raw.signature, plan: complete.raw.plan,
        values: try expand(copy.values))
      let set = try VerifiedChangeSet(verifying: raw)
      let absent = Set(copy.absent)
      #expect(set.id.description == sealed.id, "\(copy.name)")
      #expect(set.body.isComplete == absent.isEmpty, "\(copy.name)")
      #expect(raw.isIntact(as: set.id), "\(copy.name)")
      #expect(set.body.slots.count == complete.body.slots.count, "\(copy.name)")
      #expect(Self.absentSlots(set) == absent, "\(copy.name)")
      for (cell, original) in zip(set.body.cells, complete.body.cells) where !cell.isAbsent {
        #expect(set.body.content(cell) == complete.body.content(original), "\(copy.name)")
      }
      if !absent.isEmpty { #expect(complete.values(without: absent) == raw.values, "\(copy.name)") }
      #expect(try VerifiedChangeSet(stored: raw, id: set.id).header == set.header, "\(copy.name)")
    }
  }

  @Test func `a set whose slots contain something else is valid, and these fields are absent`() throws {
    #expect(file.unreadable.count > 40)
    for vector in file.unreadable {
      let set = try VerifiedChangeSet(verifying: try vector.raw())
      #expect(set.id.description == vector.id, "\(vector.name)")
      #expect(set.body.isComplete, "\(vector.name)")
      #expect(Self.absentSlots(set) == Set(vector.absent), "\(vector.name)")
    }
  }

  /// The slots all of whose fields are absent. The fields of any other slot must be present.
  private static func absentSlots(_ set: VerifiedChangeSet) -> Set<Int> {
    var absent: Set<Int> = []
    for (slot, entry) in set.body.entries.filter({ !$0.cells.isEmpty }).enumerated() {
      let cells = set.body.cells[entry.cells]
      if cells.contains(where: \.isAbsent) { absent.insert(slot) }
      #expect(Set(cells.map { set.body.content($0) == nil }).count == 1)
    }
    return absent
  }

  @Test func `sets exactly at the limits are accepted`() throws {
    for vector in file.atTheLimits {
      #expect(try VerifiedChangeSet(verifying: try vector.raw()).id.description == vector.id)
    }
  }

  @Test func `each broken rule is detected by its own check`() throws {
    #expect(file.refused.count > 240)
    for vector in file.refused {
      let comment = Comment(rawValue: "\(vector.flag): \(vector.name)")
      let raw = try vector.raw()
      let found = Self.stage(of: raw)
      #expect(found == vector.stage, comment)
    }
  }

  /// The check that refuses the set; nil if none does.
  private static func stage(of raw: RawChangeSet) -> String? {
    do {
      _ = try VerifiedChangeSet(verifying: raw)
      return nil
    } catch {
      let isHeader = (try? ChangeSetHeader(decoding: raw.header)) == nil
      switch error {
      // The header may declare too large a size, or the bytes themselves may be too many.
      case .tooLarge: return isHeader ? "header" : "size"
      case .planMismatch: return "plan_hash"
      case .badSignature: return "signature"
      case .malformed, .invalid: return isHeader ? "header" : "plan"
      case .valuesMismatch: return "values"
      case .beyondQuota: return "quota"
      }
    }
  }

  @Test func `a set with any one byte changed is refused`() throws {
    let raw = try file.accepted[2].sets[0].raw()
    for index in raw.header.indices {
      var header = raw.header
      header[index] ^= 1
      let altered = RawChangeSet(header: header, signature: raw.signature, plan: raw.plan, values: raw.values)
      #expect(Self.stage(of: altered) != nil)
    }
    for index in raw.plan.indices {
      var plan = raw.plan
      plan[index] ^= 0x80
      let altered = RawChangeSet(header: raw.header, signature: raw.signature, plan: plan, values: raw.values)
      #expect(Self.stage(of: altered) == "plan_hash")
    }
    let copies = try file.copies.filter { $0.accepted == 2 }.map { try expand($0.values) }
    for values in [raw.values] + copies {
      for index in values.indices {
        var values = values
        values[index] ^= 0x80
        let altered = RawChangeSet(
          header: raw.header, signature: raw.signature, plan: raw.plan, values: values)
        #expect(Self.stage(of: altered) == "values")
      }
    }
  }

  @Test func `header, plan and values truncated anywhere are refused`() throws {
    let raw = try file.accepted[2].sets[0].raw()
    let header = try ChangeSetHeader(decoding: raw.header)
    for count in raw.header.indices {
      #expect(throws: ChangeSetError.self) { try ChangeSetHeader(decoding: Array(raw.header[..<count])) }
    }
    for count in raw.plan.indices {
      #expect(throws: ChangeSetError.self) {
        try ChangeSetBody(plan: Array(raw.plan[..<count]), values: [], lane: .records) { _ in Slots.none }
      }
    }
    for count in raw.values.indices {
      #expect(throws: ChangeSetError.valuesMismatch) {
        try Slots(reading: Array(raw.values[..<count]), header.content)
      }
    }
  }
}
