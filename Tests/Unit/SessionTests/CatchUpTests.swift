import Families
import Replication
import Testing
import Wire

@Suite struct CatchUpTests {
  static func worldBehind(by count: UInt64) throws -> World {
    let world = try World(["alice", "bob"])
    for number in 1...count { try world.write("alice", insert(record(number % 100), "\(number)")) }
    world.serveBytes = 8 * 1024
    world.linkBytesMax = 32 * 1024
    world.bytesPerMillisecond = 100
    return world
  }

  @Test func `thousands of sets come in chunks that the link can hold`() throws {
    let world = try Self.worldBehind(by: 2_000)
    world.connect("alice", "bob")
    try #require(world.run { $0["bob"].isInSync(with: $0["alice"]) })
    let chunks = world.sent.filter(\.message.isSets)
    #expect(chunks.reduce(0) { $0 + $1.message.setCount } == 2_000)
    #expect(chunks.count > 20)
    #expect(chunks.allSatisfy { $0.bytes < 16 * 1024 })
    #expect(world.sent.count(where: \.message.isWant) == 1)
    #expect(Set(chunks.map(\.at)).count > 10, "a full link must be waited for")
    #expect(world["alice"].state() == world["bob"].state())
  }

  @Test func `a catch-up resumes after a disconnect`() throws {
    let world = try Self.worldBehind(by: 1_000)
    world.connect("alice", "bob")
    try #require(world.run { $0["bob"].count(.records) > 300 })
    world.cut("alice", "bob")
    let held = world["bob"].count(.records)
    #expect(held < 1_000)
    world.run(100)
    world.forgetTraffic()
    world.connect("bob", "alice")
    try #require(world.run { $0["bob"].isInSync(with: $0["alice"]) })
    #expect(world.sent.reduce(0) { $0 + $1.message.setCount } == Int(1_000 - held))
    #expect(world["bob"].duplicates == 0)
  }

  @Test func `a link that drains while sets are read for it gets one answer, with one end marker`() throws {
    let world = try World(["alice", "bob"])
    try world.write("alice", insert(record(1)))
    let link = try #require(world.connect("alice", "bob")).link
    world.run(1_000)
    let head = try #require(world["alice"].replica[.records].heads.sorted.first)
    let want = Want(log: head.log, from: 1, through: head.sequence, tip: head.id)
    world.forgetTraffic()
    let wanted = Input.received(link, .want(.records, [want]))
    world.turn(world["alice"], [wanted, wanted, .drained(link)])
    #expect(world.sent.count(where: \.message.isServed) == 1)
  }

  @Test func `a device that was away receives nothing twice from two peers with the same sets`() throws {
    let world = try World()
    world.connect("alice", "bob")
    for number in 1...200 {
      try world.write(number % 2 == 0 ? "alice" : "bob", insert(record(UInt64(number))))
      if number % 20 == 0 { world.run(100) }
    }
    world.run(7_000)
    world.serveBytes = 4 * 1024
    world.connect("carol", "alice")
    world.connect("carol", "bob")
    try #require(
      world.run { $0["carol"].isInSync(with: $0["alice"]) && $0["carol"].isInSync(with: $0["bob"]) })
    #expect(world["carol"].duplicates == 0)
    #expect(world["carol"].state() == world["alice"].state())
  }

  @Test func `the dependency of one peer's sets that another peer sends is waited for`() throws {
    let world = try World()
    world.connect("alice", "bob")
    try world.write("alice", insert(record(1)))
    world.run(500)
    world.cut("alice", "bob")
    world.run(100)
    try world.write("bob", edit(record(1), "Roma"))
    // Carol receives Alice's head from Alice first; Bob's set depends on it and is faster.
    world.meddle = { from, to, message in
      from == "alice" && to == "carol" && (message.isSets || message.isServed) ? [] : [message]
    }
    world.connect("alice", "carol")
    world.run(100)
    world.meddle = nil
    world.connect("bob", "carol")
    world.run(500)
    #expect(!world.sent.contains { $0.from == "carol" && $0.to == "bob" && $0.message.isWant })
    world.cut("alice", "carol")
    world.run(500)
    #expect(world["carol"].name(record(1)) == "Roma")
  }

  @Test func `a set written during a catch-up arrives too, and once`() throws {
    let world = try Self.worldBehind(by: 500)
    world.connect("alice", "bob")
    try #require(world.run { $0["bob"].count(.records) > 100 })
    try world.write("alice", insert(record(1_000)))
    try #require(world.run { $0["bob"].isInSync(with: $0["alice"]) })
    #expect(world["bob"].duplicates == 0)
    #expect(world.sent.reduce(0) { $0 + $1.message.setCount } == 501)
  }
}
