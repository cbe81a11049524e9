import Families
import Replication
import Testing
import Wire

@Suite struct ConnectionTests {
  @Test(arguments: 1...12)
  func `of two links dialled at once both sides keep the same one`(seed: UInt64) throws {
    let world = try World(["alice", "bob"], seed: seed)
    try world.write("alice", insert(record(1)))
    world.latency = Moment(1 + seed * 3)
    let one = world.connect("alice", "bob")
    world.run(Moment(seed % 4) * 5)
    let other = world.connect("bob", "alice")
    world.run(1_000)
    let left = world.connections("alice", "bob")
    try #require(left.count == 1)
    let smaller = world["alice"].key < world["bob"].key ? one : other
    #expect(left.first === smaller)
    #expect(world.sent.contains { $0.message.isGoodbye })
    #expect(world["alice"].isInSync(with: world["bob"]))
    #expect(world["bob"].isInSync(with: world["alice"]))
    #expect(!world["alice"].closes.contains { if case .misbehaved = $0 { true } else { false } })
    #expect(!world["bob"].closes.contains { if case .misbehaved = $0 { true } else { false } })
  }

  @Test(arguments: 1...12)
  func `of two links dialled by one device the newer one is kept`(seed: UInt64) throws {
    let world = try World(["alice", "bob"], seed: seed)
    world.connect("alice", "bob")
    world.run(Moment(seed % 4) * 4)
    world.connect("alice", "bob")
    world.run(1_000)
    #expect(world.connections("alice", "bob").count == 1)
    #expect(world["alice"].isInSync(with: world["bob"]))
    #expect(world["bob"].isInSync(with: world["alice"]))
  }

  @Test func `a half-open link is replaced by a new one`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    // Alice lost the link silently; Bob has not noticed.
    world.turn(world["alice"], [.closed(LinkID(1))])
    try world.write("alice", insert(record(1)))
    world.connect("alice", "bob")
    world.run(1_000)
    #expect(world["bob"].name(record(1)) == "Rome")
    #expect(world["bob"].replica.sessions.count == 1)
  }

  @Test func `a goodbye contains the reason`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    world.inject(.goodbye(.paused), from: "alice", to: "bob")
    world.run(10)
    #expect(world["bob"].session(with: world["alice"])?.goodbye == .paused)
  }

  /// Reasons 99 and 256 belong to a newer version.
  @Test(arguments: [[0x82, 0x0a, 0x18, 0x63], [0x82, 0x0a, 0x19, 0x01, 0x00]] as [[UInt8]])
  func `a goodbye with an unknown reason is ignored`(_ bytes: [UInt8]) throws {
    let message = try Message(decoding: bytes)
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    world.inject(message, from: "alice", to: "bob")
    world.run(10)
    let session = try #require(world["bob"].session(with: world["alice"]))
    #expect(session.goodbye == nil && !session.isClosing)
    try world.write("alice", insert(setting(1)))
    world.run(1_000)
    #expect(world["bob"].count(.settings) == 1)
  }

  @Test func `a device that was offline catches up in both lanes`() throws {
    let world = try World()
    world.connectAll()
    world.run(500)
    world.cut("alice", "carol")
    world.cut("bob", "carol")
    world.run(100)
    for number in 1...20 {
      try world.write(
        number % 2 == 0 ? "alice" : "bob", insert(record(UInt64(number))), insert(setting(UInt64(number))))
      world.run(50)
    }
    try world.write("carol", insert(record(99)))
    world.connect("carol", "bob")
    world.run(2_000)
    #expect(world["carol"].state() == world["alice"].state())
    #expect(world["alice"].name(record(99)) == "Rome")
  }
}
