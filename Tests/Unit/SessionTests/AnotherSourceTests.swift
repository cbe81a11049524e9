import Families
import Membership
import Replication
import Storage
import Testing
import Wire

/// What is requested again, or from another peer, and what is not sent although it is requested.
@Suite struct AnotherSourceTests {
  private func wants(_ world: World, by name: String, to other: String) -> Int {
    world.sent.count { $0.from == name && $0.to == other && $0.message.isWant }
  }

  @Test func `what was requested from a peer whose lane closes is requested from another at once`() throws {
    let world = try World()
    for number in 1...3 as ClosedRange<UInt64> { try world.write("bob", insert(record(number))) }
    world.connect("bob", "carol")
    try #require(world.run { $0["carol"].count(.records) == 3 })
    world.meddle = { from, to, message in
      from == "bob" && to == "alice" && (message.isSets || message.isServed) ? [] : [message]
    }
    world.connect("alice", "bob")
    world.run(500)
    world.connect("alice", "carol")
    world.run(500)
    #expect(wants(world, by: "alice", to: "bob") == 1)
    #expect(wants(world, by: "alice", to: "carol") == 0)
    world.prefer("bob", false)
    try #require(world.run(until: { $0["alice"].count(.records) == 3 }, within: 2_000))
    #expect(wants(world, by: "alice", to: "carol") == 1)
  }

  @Test func `a peer that sent nothing for a damaged set is asked for it again after an hour`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    try world.write("alice", insert(record(1)))
    try #require(world.run { $0["bob"].count(.records) == 1 && $0["bob"].isInSync(with: $0["alice"]) })
    let head = try #require(world["bob"].store.heads(.records).first)
    world.meddle = { from, _, message in from == "alice" && message.isSets ? [] : [message] }
    world.forgetTraffic()
    world.turn(world["bob"], [.damaged([head])])
    world.run(60_000)
    #expect(wants(world, by: "bob", to: "alice") == 1)
    world.run(3_500_000)
    #expect(wants(world, by: "bob", to: "alice") == 1)
    world.run(120_000)
    #expect(wants(world, by: "bob", to: "alice") == 2)
    #expect(world["bob"].closes.isEmpty)
  }

  @Test func `a withheld set is not sent, even to a peer that asks for it`() throws {
    let world = try World(["alice", "bob"])
    let alice = world["alice"]
    alice.startAgain()
    let set = try #require(try world.write("alice", insert(setting(1))).first)
    // Bob introduces himself, and does not say what he holds.
    world.meddle = { from, _, message in
      if case .introduction = message { return [message] }
      return from == "bob" ? [] : [message]
    }
    world.connect("alice", "bob")
    world.run(1_000)
    let want = Want(log: set.header.log, from: 1, through: 1, tip: set.id)
    let slots = SetSlots(log: set.header.log, sequence: 1, id: set.id, slots: [0])
    world.inject(.want(.settings, [want]), from: "bob", to: "alice")
    world.inject(.wantValues(.settings, [slots]), from: "bob", to: "alice")
    world.run(1_000)
    #expect(alice.isOpen(.settings, with: world["bob"]))
    #expect(alice.replica.withholds(.settings))
    let sent = world.sent.filter { $0.from == "alice" }
    #expect(sent.allSatisfy { !$0.message.isSets })
    let values = sent.flatMap { sent -> [SetValues] in
      if case .values(_, let sets) = sent.message { sets } else { [] }
    }
    #expect(values.isEmpty)
    // Once he has, it is.
    world.meddle = nil
    try #require(world.run { $0["bob"].count(.settings) == 1 })
    #expect(!alice.replica.withholds(.settings))
  }

  @Test func `a copy of a held statement with another signature ends the session`() throws {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) })
    let held = try #require(world["alice"].replica.circle.statements(notIn: []).last)
    world.inject(.statements([held.bytes], last: false), from: "bob", to: "alice")
    world.run(100)
    #expect(world["alice"].closes.isEmpty)
    var forged = held.bytes
    forged[forged.count - 1] ^= 1
    world.inject(.statements([forged], last: false), from: "bob", to: "alice")
    world.run(100)
    #expect(world["alice"].closes == [.misbehaved("a statement that does not verify")])
  }
}
