import Families
import Replication
import Storage
import Testing
import Wire

/// Copies of one device's data that write at the same time, and peers that meet them one after another.
@Suite struct ForkTests {
  /// Alice and Bob with some sets in common, and a copy of Alice's data that has never connected.
  private func world(with copies: [String]) throws -> World {
    let world = try World()
    world.connectAll()
    for number in 1...5 { try world.write("alice", insert(record(UInt64(number)))) }
    try #require(world.run { Self.agree($0, ["alice", "bob", "carol"]) })
    for copy in copies { try world.add(copy, knowing: world.statements, copyOf: world["alice"]) }
    return world
  }

  private static func agree(_ world: World, _ names: [String]) -> Bool {
    Set(names.map { world[$0].state() }).count == 1
  }

  /// Closes all links and opens new ones.
  private func meet(_ world: World, _ pairs: (String, String)...) {
    for connection in world.connections where connection.isOpen { world.cut(connection) }
    world.run(100)
    for (one, other) in pairs { world.connect(one, other) }
    world.run(20_000)
  }

  @Test func `a fork reaches all devices, and all hold both branches`() throws {
    let world = try world(with: ["copy"])
    meet(world)
    try world.write("alice", edit(record(1), "by Alice"))
    try world.write("copy", edit(record(1), "by the copy"))
    try world.write("copy", edit(record(2), "by the copy too"))
    meet(world, ("alice", "bob"), ("copy", "carol"))
    #expect(!Self.agree(world, ["bob", "carol"]))
    meet(world, ("bob", "carol"))
    #expect(Self.agree(world, ["bob", "carol"]))
    #expect(world["bob"].isInSync(with: world["carol"]))
    #expect(world["bob"].store.heads(.records).count == 2)
    #expect(world["bob"].conflictCount == 1)
    meet(world, ("bob", "alice"), ("carol", "copy"))
    #expect(Self.agree(world, ["alice", "bob", "carol", "copy"]))
  }

  @Test(arguments: [1, 2, 30, 300])
  func `a fork far back is found by asking for earlier sets`(sets: Int) throws {
    let world = try world(with: ["copy"])
    meet(world)
    for number in 1...sets { try world.write("alice", edit(record(1), "alice \(number)")) }
    for number in 1...(sets + 3) { try world.write("copy", edit(record(2), "copy \(number)")) }
    meet(world, ("alice", "bob"), ("copy", "carol"))
    world.forgetTraffic()
    meet(world, ("bob", "carol"))
    #expect(Self.agree(world, ["bob", "carol"]))
    #expect(world["bob"].count(.records) == UInt64(5 + sets + sets + 3))
    let carried = world.sent.reduce(0) { $0 + $1.message.setCount }
    #expect(carried <= 12 * (sets + 10), "\(carried) sets were sent")
  }

  @Test func `three copies write, and all converge`() throws {
    let world = try world(with: ["second", "third"])
    meet(world)
    for (index, name) in ["alice", "second", "third"].enumerated() {
      for number in 1...(index * 7 + 1) { try world.write(name, edit(record(1), "\(name) \(number)")) }
    }
    try world.write("bob", edit(record(1), "by Bob"))
    meet(world, ("bob", "alice"), ("carol", "second"))
    meet(world, ("bob", "third"), ("carol", "alice"))
    meet(world, ("bob", "carol"))
    #expect(Self.agree(world, ["bob", "carol"]))
    #expect(world["bob"].store.heads(.records).count == 4)
    meet(world, ("bob", "second"), ("carol", "third"))
    meet(world, ("bob", "alice"))
    #expect(Self.agree(world, ["alice", "bob", "carol", "second", "third"]))
  }

  @Test func `both branches keep growing, and pushes reach all devices`() throws {
    let world = try world(with: ["copy"])
    meet(world, ("alice", "bob"), ("copy", "carol"), ("bob", "carol"))
    for round in 1...10 {
      try world.write("bob", edit(record(3), "bob \(round)"))
      world.run(50)
      try world.write("carol", edit(record(4), "carol \(round)"))
      world.run(50)
    }
    try world.write("alice", edit(record(1), "late"))
    world.run(10_000)
    #expect(Self.agree(world, ["alice", "bob", "carol", "copy"]))
    #expect(world["copy"].name(record(1)) == "late")
  }
}
