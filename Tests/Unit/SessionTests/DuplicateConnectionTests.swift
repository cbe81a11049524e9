import Replication
import Testing
import Wire

@Suite struct DuplicateConnectionTests {
  /// Alice and Bob, who are connected twice: the second connection begins `gap` milliseconds after the first one.
  private func connectedTwice(
    _ first: (String, String), _ second: (String, String), gap: Moment
  ) throws -> World {
    let world = try World(["alice", "bob"])
    world.connect(first.0, first.1)
    world.run(gap)
    world.connect(second.0, second.1)
    world.run(2_000)
    return world
  }

  private func dialler(_ world: World) -> String? {
    world.connections("alice", "bob").first?.ends.first?.device.name
  }

  @Test(arguments: [0, 1, 7, 1_000, 4_000]) func `of two that begin at about the same time, one stays`(
    gap: Moment
  ) throws {
    for (first, second) in [(("alice", "bob"), ("bob", "alice")), (("bob", "alice"), ("alice", "bob"))] {
      let world = try connectedTwice(first, second, gap: gap)
      #expect(world.connections("alice", "bob").count == 1)
      let smaller = world["alice"].key < world["bob"].key ? "alice" : "bob"
      #expect(dialler(world) == smaller)
      #expect(world["alice"].isInSync(with: world["bob"]))
    }
  }

  @Test(arguments: [10_100, 60_000, 3_600_000]) func `replaces one that is old`(gap: Moment) throws {
    for (first, second) in [
      (("alice", "bob"), ("bob", "alice")), (("bob", "alice"), ("alice", "bob")),
      (("alice", "bob"), ("alice", "bob")),
    ] {
      let world = try connectedTwice(first, second, gap: gap)
      #expect(world.connections("alice", "bob").map(\.link) == [LinkID(2)])
      #expect(world["alice"].isInSync(with: world["bob"]))
    }
  }

  @Test func `never ends both, however old the first one is`() throws {
    for gap in Array<Moment>(4_980...5_020) + (9_980...10_020) {
      for (first, second) in [(("alice", "bob"), ("bob", "alice")), (("bob", "alice"), ("alice", "bob"))] {
        let world = try connectedTwice(first, second, gap: gap)
        #expect(world.connections("alice", "bob").count == 1, "\(first.0) first, \(gap) ms")
      }
    }
  }

  @Test(arguments: ["alice", "bob"]) func `of a copied device replaces that of the other copy`(
    dialler: String
  ) throws {
    let world = try World(["alice", "bob"])
    try world.add("copy", knowing: world.statements, copyOf: world["bob"])
    world.connect(dialler, dialler == "alice" ? "bob" : "alice")
    world.run(60_000)
    world.connect("copy", "alice")
    world.run(2_000)
    #expect(world.isConnected("copy", "alice") && !world.isConnected("bob", "alice"))
    // And back: neither copy is refused for as long as the other one is connected.
    world.run(60_000)
    world.connect("alice", "bob")
    world.run(2_000)
    #expect(world.isConnected("bob", "alice") && !world.isConnected("copy", "alice"))
  }
}
