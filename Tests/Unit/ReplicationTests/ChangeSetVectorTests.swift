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
    }
  }

  @Test func `the cells of a body are the values that were written`() throws {
    for vector in file.accepted {
      let expected = try vector.write.entries.map { try $0.draft() }
        .sorted { ($0.key, $0.type) < ($1.key, $1.type) }
      let bodies = try vector.sets.map { try VerifiedChangeSet(verifying: try $0.raw()).body }
      let entries = bodies.flatMap { body in body.entries.map { (body, $0) } }
      #expect(entries.count == expected.count, "\(vector.name)")
      for ((body, entry), draft) in zip(entries, expected) {
        #expect(entry.type == draft.type && entry.key == draft.key, "\(vector.name)")
        let cells = body.cells[entry.cells]
        #expect(cells.map(\.field) == draft.fields.map(\.field), "\(vector.name)")
        #expect(
          cells.map { Array(body.content($0)) } == draft.fields.map(\.value.encoded), "\(vector.name)")
      }
    }
  }

  @Test func `sets exactly at the limits are accepted`() throws {
    for vector in file.atTheLimits {
      #expect(try VerifiedChangeSet(verifying: try vector.raw()).id.description == vector.id)
    }
  }

  @Test func `each broken rule is detected by its own check`() throws {
    #expect(file.refused.count > 120)
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
      switch error {
      case .tooLarge: return "size"
      case .bodyMismatch: return "body_hash"
      case .badSignature: return "signature"
      case .malformed, .invalid:
        return (try? ChangeSetHeader(decoding: raw.header)) == nil ? "header" : "body"
      }
    }
  }

  @Test func `a set with any one byte changed is refused`() throws {
    let raw = try file.accepted[2].sets[0].raw()
    for index in raw.header.indices {
      var header = raw.header
      header[index] ^= 1
      #expect(Self.stage(of: RawChangeSet(header: header, signature: raw.signature, body: raw.body)) != nil)
    }
    for index in raw.body.indices {
      var body = raw.body
      body[index] ^= 0x80
      #expect(Self.stage(of: RawChangeSet(header: raw.header, signature: raw.signature, body: body)) != nil)
    }
  }

  @Test func `header and body truncated anywhere are refused before any other check`() throws {
    let raw = try file.accepted[2].sets[0].raw()
    for count in raw.header.indices {
      #expect(throws: ChangeSetError.self) { try ChangeSetHeader(decoding: Array(raw.header[..<count])) }
    }
    for count in raw.body.indices {
      #expect(throws: ChangeSetError.self) {
        try ChangeSetBody(decoding: Array(raw.body[..<count]), lane: .records)
      }
    }
  }
}
