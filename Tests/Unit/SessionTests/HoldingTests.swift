import Families
import Replication
import Testing
import Wire

/// What a device may assume that another holds: only what the other has acknowledged.
@Suite struct HoldingTests {
  private func held(_ world: World) -> UInt64 {
    let heads = world["alice"].replica.holdings[world["bob"].key]?[.records].heads
    return heads?.sorted.filter { $0.log.device == world["alice"].key }.map(\.sequence).max() ?? 0
  }

  private func inSync() throws -> World {
    let world = try World(["alice", "bob"])
    try world.write("alice", insert(record(1)))
    world.connect("alice", "bob")
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) })
    return world
  }

  @Test func `a change that was sent counts as held only once the peer has acknowledged it`() throws {
    let world = try inSync()
    #expect(held(world) == 1)
    world.meddle = { from, _, message in from == "bob" ? [] : [message] }
    try world.write("alice", insert(record(2)))
    world.run(1_000)
    #expect(world["bob"].count(.records) == 2, "it has arrived")
    #expect(held(world) == 1, "but Alice can't know")
    world.meddle = nil
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) })
    #expect(held(world) == 2)
  }

  @Test func `a peer whose store was restored withdraws its acknowledgements`() throws {
    let world = try inSync()
    try world.write("bob", insert(record(3)))
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) && held($0) == 1 })
    // Messages about the change that are still in flight must arrive before the injected one.
    world.run(500)
    let own = world["bob"].replica[.records].heads.sorted.filter { $0.log.device == world["bob"].key }
    #expect(own.count == 1)
    world.inject(.heads(.records, own, complete: true), from: "bob", to: "alice")
    world.run(12)
    #expect(held(world) == 0)
  }

  @Test func `a disconnected peer is still known to hold what it acknowledged`() throws {
    let world = try inSync()
    world.cut("alice", "bob")
    world.run(100)
    try world.write("alice", insert(record(2)))
    #expect(held(world) == 1)
  }
}
