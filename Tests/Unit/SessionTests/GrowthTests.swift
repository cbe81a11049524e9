import Families
import Membership
import Replication
import Sodium
import Testing
import Vectors
import Wire

/// Protocol/growth.md: what a device of this version does with what newer versions send.
@Suite struct GrowthTests {
  private struct Document: Decodable {
    struct Row: Decodable {
      let name, does, bytes: String
      let form: String?
    }

    struct SetRow: Decodable {
      let name, does, header, signature, plan, values: String
    }

    let genesis: String
    let messages, statements, maps: [Row]
    let sets: [SetRow]
  }

  private static func document() throws -> Document { try vectors("growth.json", as: Document.self) }

  @Test func `messages of newer versions are ignored, and the session goes on`() throws {
    for row in try Self.document().messages {
      let world = try World(["alice", "bob"])
      world.connect("alice", "bob")
      world.run(1_000)
      world.inject(try expand(row.bytes), from: "alice", to: "bob")
      world.run(1_000)
      #expect(world.isConnected("alice", "bob") == (row.does != "refused"), "\(row.name)")
      #expect(world["bob"].closes.isEmpty && world["alice"].closes.isEmpty, "\(row.name)")
      guard row.does != "refused" else { continue }
      try world.write("alice", insert(record(1)))
      world.run(1_000)
      #expect(world["bob"].name(record(1)) == "Rome", "\(row.name)")
      #expect(world["alice"].isInSync(with: world["bob"]), "\(row.name)")
    }
  }

  @Test func `a peer that sends little but messages of newer versions is disconnected`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    // [20, bytes]: about 512 KiB
    let message = [0x82, 0x14, 0x5a, 0, 8, 0, 0] + [UInt8](repeating: 0, count: 512 * 1_024)
    for _ in 0..<100 { world.inject(message, from: "alice", to: "bob") }
    world.run(1_000)
    #expect(world.isConnected("alice", "bob"))
    for _ in 0..<60 { world.inject(message, from: "alice", to: "bob") }
    world.run(1_000)
    #expect(!world.isConnected("alice", "bob"))
  }

  @Test func `a message of a newer version does not replace the introduction`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.inject([0x81, 0x14], from: "bob", to: "alice")
    world.run(1_000)
    #expect(!world.isConnected("alice", "bob"))
  }

  @Test func `statements of kinds that are unknown are kept`() throws {
    let document = try Self.document()
    for row in document.statements {
      var circle = try Circle(genesis: Statement(expand(document.genesis)))
      let before = circle.evaluation.members
      let bytes = try expand(row.bytes)
      switch row.does {
      case "kept":
        #expect(try circle.insert(bytes), "\(row.name)")
        #expect(circle.statements(notIn: [circle.genesisID]).map(\.bytes) == [bytes], "\(row.name)")
      case "refused": #expect(throws: StatementError.self, "\(row.name)") { try circle.insert(bytes) }
      default: Issue.record("\(row.does)")
      }
      #expect(circle.evaluation.members == before, "\(row.name)")
    }
  }

  @Test func `statements of kinds that are unknown are passed on`() throws {
    let world = try World()
    world.connect("alice", "bob")
    world.connect("bob", "carol")
    world.run(1_000)
    var body = CBORWriter()
    body.map(4)
    body.unsigned(0)
    body.unsigned(1)
    body.unsigned(1)
    body.byteString(world.family.circle.raw)
    body.unsigned(2)
    body.byteString(world["alice"].key.raw)
    body.unsigned(9)
    body.text("new")
    let signature = Family.key("alice").sign(
      prefix: Array("waymark/statement-11-signature/v1\0".utf8), body.bytes)
    var envelope = CBORWriter()
    envelope.array(3)
    envelope.unsigned(11)
    envelope.byteString(body.bytes)
    envelope.byteString(signature)
    let statement = try Statement(envelope.bytes)
    world.learn("alice", statement)
    world.run(1_000)
    #expect(world["carol"].replica.circle.statement(statement.id)?.bytes == envelope.bytes)
    #expect(world["alice"].isInSync(with: world["bob"]) && world["bob"].isInSync(with: world["carol"]))
  }

  @Test func `new keys of introductions and joins are ignored`() throws {
    for row in try Self.document().maps {
      let bytes = try expand(row.bytes)
      let read: () throws -> Void =
        switch row.form {
        case "introduction": { _ = try Introduction(bytes) }
        case "join": { _ = try JoinRequest(bytes) }
        default: { _ = try JoinReply(bytes) }
        }
      if row.does == "read" {
        #expect(throws: Never.self, "\(row.name)") { try read() }
      } else {
        #expect(throws: WireError.self, "\(row.name)") { try read() }
      }
    }
  }

  @Test func `sets with new kinds and fields are valid`() throws {
    for row in try Self.document().sets {
      let raw = RawChangeSet(
        header: try expand(row.header), signature: try expand(row.signature), plan: try expand(row.plan),
        values: try expand(row.values))
      #expect(throws: Never.self, "\(row.name)") { try VerifiedChangeSet(verifying: raw) }
    }
  }

  @Test func `new kinds and fields pass through a device that does not know them`() throws {
    let world = try World()
    world.connect("alice", "bob")
    world.connect("bob", "carol")
    world.run(1_000)
    let kind = try #require(KindNumber(4_000))
    let unknown = RecordKey(kind: kind, id: record(9).id)
    try world.write(
      "alice", insert(record(1)), EntryDraft(.insert, unknown, [(1, .text("new")), (900, .integer(7))]))
    try world.write("alice", edit(record(1), "of a newer version", field: 60_000))
    world.run(2_000)
    #expect(world["alice"].state() == world["carol"].state())
    #expect(world["alice"].isInSync(with: world["bob"]) && world["bob"].isInSync(with: world["carol"]))
  }
}
