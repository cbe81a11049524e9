import Families
import Replication
import Testing
import Wire

@Suite struct ConvergenceTests {
  @Test func `two devices converge on one record and both report it`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    try world.write("alice", insert(record(1), "Rome"))
    try #require(world.run { $0["bob"].name(record(1)) == "Rome" })
    world.run(1_000)
    #expect(world["alice"].state() == world["bob"].state())
    #expect(world["alice"].isInSync(with: world["bob"]))
    #expect(world["bob"].isInSync(with: world["alice"]))
    #expect(world["alice"].replica.lastSync[world["bob"].key] != nil)
  }

  @Test func `one's own set is pushed without a request`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    world.forgetTraffic()
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    #expect(world.sent.first?.message.isSets == true)
    #expect(!world.sent.contains { $0.message.isWant })
    #expect(world.sent.count(where: \.message.isSets) == 1)
  }

  @Test func `equal devices that reconnect send one summary each`() throws {
    let world = try World(["alice", "bob"])
    let first = world.connect("alice", "bob")
    for number in 1...50 { try world.write("alice", insert(record(UInt64(number)))) }
    world.run(10_000)
    if let first { world.cut(first) }
    world.run(100)
    world.forgetTraffic()
    world.connect("bob", "alice")
    world.run(1_000)
    #expect(world["alice"].isInSync(with: world["bob"]))
    #expect(world["bob"].isInSync(with: world["alice"]))
    let bytes = world.sent.reduce(0) { $0 + $1.bytes }
    #expect(
      world.sent.count == 3, "the responder's introduction and two summaries: \(world.sent.map(\.message))")
    #expect(bytes <= 2_048, "\(bytes) bytes")
  }

  @Test func `a device with a new write is not in sync before the peer has it`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    #expect(world["alice"].isInSync(with: world["bob"]))
    try world.write("alice", insert(record(1)))
    #expect(!world["alice"].isInSync(with: world["bob"]))
    #expect(world["alice"].session(with: world["bob"])?.records.isDigestEqual == nil)
  }

  @Test func `conflicting edits give the same winner and the same list everywhere`() throws {
    let world = try World()
    world.connectAll()
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    for connection in world.connections { world.cut(connection) }
    world.run(10)
    try world.write("alice", edit(record(1), "Roma"))
    try world.write("bob", edit(record(1), "Rom"))
    try world.write("carol", edit(record(1), "Rome"), edit(record(2), "never inserted"))
    world.connectAll()
    world.run(2_000)
    #expect(world["alice"].state() == world["bob"].state())
    #expect(world["alice"].state() == world["carol"].state())
    #expect(world["alice"].conflictCount == 1)
  }

  @Test func `a device in the middle relays what two that never meet have written`() throws {
    let world = try World()
    world.connect("alice", "bob")
    world.run(500)
    try world.write("alice", insert(record(1), "by Alice"), insert(setting(1), "dark"))
    world.run(500)
    world.cut("alice", "bob")
    world.run(500)
    try world.write("carol", insert(record(2), "by Carol"))
    world.connect("bob", "carol")
    world.run(1_000)
    #expect(world["carol"].name(record(1)) == "by Alice")
    world.cut("bob", "carol")
    world.connect("alice", "bob")
    world.run(1_000)
    #expect(world["alice"].name(record(2)) == "by Carol")
    #expect(world["alice"].state() == world["carol"].state())
  }

  @Test func `sets learnt from a peer are announced and requested, not pushed`() throws {
    let world = try World()
    world.connect("alice", "bob")
    world.connect("bob", "carol")
    world.run(1_000)
    world.forgetTraffic()
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    let between = world.sent.filter { [$0.from, $0.to].contains("carol") && !$0.message.isState }
    let heads = between.firstIndex { $0.from == "bob" && $0.message.isHeads }
    let want = between.firstIndex { $0.from == "carol" && $0.message.isWant }
    let sets = between.firstIndex { $0.from == "bob" && $0.message.isSets }
    #expect([heads, want, sets] == [0, 1, 2])
  }

  @Test(arguments: [(8, 8), (9, 5), (12, 5)])
  func `one's own set is pushed to all of up to eight peers, and to some of more`(peers: Int, pushed: Int)
    throws
  {
    let names = ["alice"] + (1...peers).map { "peer \($0)" }
    let world = try World(names)
    for name in names.dropFirst() { world.connect("alice", name) }
    world.run(2_000)
    world.forgetTraffic()
    try world.write("alice", insert(record(1)))
    #expect(world.sent.count(where: \.message.isSets) == pushed)
    #expect(world.sent.count(where: \.message.isHeads) == peers - pushed)
    world.run(2_000)
    for name in names { #expect(world[name].name(record(1)) == "Rome") }
  }

  @Test func `a push that is lost is found at the next beat`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    world.meddle = { _, _, message in message.isSets ? [] : [message] }
    try world.write("bob", insert(record(1)))
    world.meddle = { _, _, message in message.isState ? [] : [message] }
    world.run(100)
    world.meddle = nil
    #expect(world["alice"].name(record(1)) == nil)
    try #require(world.run(until: { $0["alice"].name(record(1)) != nil }, within: 6_500))
  }

  @Test func `a transaction too large to push is announced and requested`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    world.run(1_000)
    world.forgetTraffic()
    let long = String(repeating: "x", count: 30_000)
    try world.write("alice", (1...10).map { insert(record($0), long) })
    world.run(1_000)
    #expect(world.sent.first?.message.isHeads == true)
    #expect(world["bob"].name(record(10)) == long)
  }

  @Test func `one seed gives one run`() throws {
    func run(seed: UInt64) throws -> UInt64 {
      let world = try World(seed: seed)
      world.connectAll()
      try world.write("alice", insert(record(1)))
      world.run(10_000)
      return world.trace
    }
    #expect(try run(seed: 3) == run(seed: 3))
    #expect(try run(seed: 3) != run(seed: 4))
  }
}
