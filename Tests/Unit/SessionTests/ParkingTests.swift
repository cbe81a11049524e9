import Families
import Replication
import Storage
import Testing
import Wire

@Suite struct ParkingTests {
  static let hour: Moment = 3_600_000

  @Test func `a set far in the future is kept, relayed, and folded when its time comes`() throws {
    let world = try World()
    world["alice"].clockAhead = Self.hour
    world.connect("alice", "bob")
    world.connect("bob", "carol")
    world.run(500)
    try world.write("alice", insert(record(1)))
    world.run(500)
    for name in ["bob", "carol"] {
      #expect(world[name].count(.records) == 1)
      #expect(world[name].name(record(1)) == nil)
      #expect(world[name].store.heads(.records).first?.parked == 1)
    }
    // Bob and Carol are equal; Alice has folded what they have not.
    #expect(world["bob"].isInSync(with: world["carol"]))
    #expect(!world["alice"].isInSync(with: world["bob"]))
    world.run(Self.hour - Limits.clockDriftMilliseconds - 2_000)
    #expect(world["bob"].name(record(1)) == nil)
    world.run(2_000)
    #expect(world["bob"].name(record(1)) == "Rome")
    world.run(10_000)
    #expect(world["alice"].isInSync(with: world["bob"]))
    #expect(world["carol"].state() == world["alice"].state())
  }

  @Test func `a set that depends on a parked set is parked with it`() throws {
    let world = try World()
    world["alice"].clockAhead = Self.hour
    world["bob"].clockAhead = Self.hour
    world.connect("alice", "bob")
    world.run(500)
    try world.write("alice", insert(record(1)))
    world.run(500)
    try world.write("bob", edit(record(1), "Roma"))
    world.run(500)
    world.connect("bob", "carol")
    world.run(500)
    #expect(world["carol"].count(.records) == 2)
    #expect(world["carol"].name(record(1)) == nil)
    world.run(Self.hour)
    #expect(world["carol"].name(record(1)) == "Roma")
  }

  @Test func `a parked set does not advance one's own clock`() throws {
    let world = try World(["alice", "bob"])
    world["alice"].clockAhead = Self.hour
    world.connect("alice", "bob")
    world.run(500)
    try world.write("alice", insert(record(1)))
    world.run(500)
    let own = try world.write("bob", insert(record(2)))
    #expect(own.allSatisfy { $0.header.clock.milliseconds == world.now })
  }

  @Test func `a device that starts folds what became due while it was stopped`() throws {
    let world = try World(["alice", "bob"])
    world["alice"].clockAhead = Self.hour
    let connection = world.connect("alice", "bob")
    world.run(500)
    try world.write("alice", insert(record(1)))
    world.run(500)
    if let connection { world.cut(connection) }
    world.run(100)
    _ = world["bob"].takeTimers(.max)
    world.run(Self.hour)
    #expect(world["bob"].name(record(1)) == nil)
    world.turn(world["bob"], [.started])
    #expect(world["bob"].name(record(1)) == "Rome")
  }
}
