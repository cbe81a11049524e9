import Families
import Replication
import Storage
import Testing
import Wire

/// Costs that do not depend on the machine: bytes and messages. `make bench` measures the rest.
@Suite struct CostTests {
  /// Bytes of all messages since a moment, including the channel's overhead for each: its length and its tag.
  private func bytes(_ world: World) -> Int { world.sent.reduce(0) { $0 + $1.bytes + 18 } }

  @Test func `a change in a mesh of eight transfers at most two and a half bytes per useful byte`() throws {
    let names = (1...8).map { "device \($0)" }
    let world = try World(names)
    world.connectAll()
    world.run(10_000)
    // The first changes teach every device which peer sends what.
    for number in 1...3 {
      try world.write(names[0], insert(record(UInt64(number))))
      world.run(1_000)
    }
    world.forgetTraffic()
    let changes = 20
    var useful = 0
    for number in 1...changes {
      let sets = try world.write(names[0], edit(record(1), "\(number)"))
      useful += sets.reduce(0) { $0 + $1.raw.byteCount } * (names.count - 1)
      world.run(250)
    }
    for name in names { #expect(world[name].name(record(1)) == "\(changes)") }
    #expect(Double(bytes(world)) <= 2.5 * Double(useful), "\(bytes(world)) bytes for \(useful)")
    #expect(!world.sent.contains { $0.message.isHeads })
  }

  @Test(arguments: [1, 30, 200])
  func `however far apart, devices compare after a change as soon as it has arrived`(latency: Moment) throws {
    let names = (1...5).map { "device \($0)" }
    let world = try World(names)
    world.latency = latency
    world.connectAll()
    world.run(20_000)
    // The first changes teach every device which peer sends what, and how long an answer takes.
    for number in 1...5 {
      try world.write(names[0], insert(record(UInt64(number))))
      world.run(10_000)
    }
    world.forgetTraffic()
    try world.write(names[0], edit(record(1), "Oslo"))
    world.run(3_000)
    for name in names { #expect(world[name].name(record(1)) == "Oslo") }
    #expect(world.sent.allSatisfy { $0.message.isSets || $0.message.isState })
    try #require(
      world.run(
        until: { world in names.dropFirst().allSatisfy { world[names[0]].isInSync(with: world[$0]) } },
        within: 5_000))
  }

  /// In both directions, since one side asks and the other answers.
  @Test(arguments: ["alice", "bob"], [2, 7, 15] as [Moment])
  func `rapid changes are compared along the way, without lists`(author: String, apart: Moment) throws {
    let world = try World(["alice", "bob"])
    world.latency = 1
    world.connectAll()
    world.run(10_000)
    try world.write(author, insert(record(1)))
    world.run(1_000)
    world.forgetTraffic()
    let changes = 100
    for number in 1...changes {
      try world.write(author, edit(record(1), "\(number)"))
      world.run(apart)
    }
    #expect(world.sent.allSatisfy { $0.message.isSets || $0.message.isState })
    #expect(bytes(world) < 450 * changes, "\(bytes(world) / changes) bytes a change")
    world.run(100)
    #expect(world["bob"].name(record(1)) == world["alice"].name(record(1)))
  }

  @Test func `a device that no longer receives from others is updated directly again`() throws {
    let names = ["alice", "bob", "carol"]
    let world = try World(names)
    world.connectAll()
    world.run(10_000)
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    // Alice no longer reaches Carol, and Bob did not see that connection end.
    world.cut("alice", "carol")
    world.run(100)
    world.forgetTraffic()
    try world.write("alice", edit(record(1), "Oslo"))
    try #require(world.run(until: { $0["carol"].name(record(1)) == "Oslo" }, within: 500))
    world.run(1_000)
    world.forgetTraffic()
    // From now on changes reach Carol without a comparison first.
    try world.write("alice", edit(record(1), "Bern"))
    try #require(world.run(until: { $0["carol"].name(record(1)) == "Bern" }, within: 60))
    let toCarol = world.sent.filter { $0.to == "carol" }
    #expect(toCarol.contains { $0.message.isHeads })
  }

  @Test func `one change between two devices takes at most four hundred and twenty bytes in total`() throws {
    let world = try World(["alice", "bob"])
    world.connectAll()
    world.run(10_000)
    try world.write("alice", insert(record(1)))
    world.run(1_000)
    world.forgetTraffic()
    let changes = 20
    for number in 1...changes {
      try world.write("alice", edit(record(1), "\(number)"))
      world.run(100)
    }
    #expect(bytes(world) / changes <= 500)
    #expect(world.sent.count <= changes * 3 + 4, "\(world.sent.count) messages for \(changes) changes")
    world.forgetTraffic()
    // One after another without a pause: they are compared once in a while.
    for number in 1...changes {
      try world.write("alice", edit(record(1), "again \(number)"))
      world.run(5)
    }
    world.run(1_000)
    #expect(bytes(world) / changes <= 420, "\(bytes(world) / changes) bytes a change")
  }

  @Test func `equal devices find this within one round trip and two thousand bytes`() throws {
    let world = try World(["alice", "bob"])
    world.connectAll()
    for number in 1...100 { try world.write("alice", insert(record(UInt64(number)))) }
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) })
    world.cut("alice", "bob")
    world.run(1_000)
    world.forgetTraffic()
    world.connect("alice", "bob")
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) && $0["bob"].isInSync(with: $0["alice"]) })
    #expect(bytes(world) <= 2_000)
    #expect(world.sent.count <= 4, "\(world.sent.count) messages")
    #expect(!world.sent.contains { $0.message.isHeads || $0.message.isWant || $0.message.isSets })
  }

  @Test(arguments: [1, 100]) func `a device that has caught up agrees at once, without waiting for more`(
    missed: Int
  )
    throws
  {
    let world = try World(["alice", "bob"])
    world.connectAll()
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) })
    world.cut("alice", "bob")
    world.run(1_000)
    for name in ["alice", "bob"] {
      for number in 1...missed {
        try world.write(name, insert(record(UInt64(number) + (name == "bob" ? 1_000 : 0))))
      }
    }
    world.run(1_000)
    world.latency = 1
    let begun = world.now
    world.connect("alice", "bob")
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) && $0["bob"].isInSync(with: $0["alice"]) })
    #expect(world.now - begun < 20, "it took \(world.now - begun) ms, where each way takes one or two")
  }

  @Test func `a question about the state is confirmed in few bytes, and only as it was asked`() throws {
    let world = try World(["alice", "bob"])
    world.connectAll()
    world.run(20_000)
    let answers = world.sent.filter { sent in
      if case .state(nil, _, echo: false) = sent.message { sent.bytes < 16 } else { false }
    }
    #expect(!answers.isEmpty)
    // Confirming a question that was never asked has no effect.
    try world.write("alice", insert(record(1)))
    world.inject(Message.state(nil, token: 12_345, echo: false), from: "bob", to: "alice")
    world.run(6)
    #expect(!world["alice"].isInSync(with: world["bob"]))
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) })
  }
}
