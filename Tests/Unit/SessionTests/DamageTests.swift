import Families
import Replication
import SQLite
import Testing
import Wire

import LogStorage
@testable import Storage

/// Damaged change sets are requested again from peers that have them, with the existing messages.
@Suite struct DamageTests {
  /// Alice, Bob and optionally Carol in sync, with three sets of Alice's.
  private func world(_ names: [String] = ["alice", "bob"]) throws -> World {
    let world = try World(names)
    world.connectAll()
    for number in 1...3 { try world.write("alice", insert(record(UInt64(number)))) }
    world.run(10_000)
    world.forgetTraffic()
    return world
  }

  /// Alters the bytes of sets as a disk does, lets a check find them, and notifies the replica.
  private func damage(
    _ device: Device, in world: World, _ numbers: ClosedRange<Int> = 2...2, column: String = "plan"
  ) throws {
    try device.store.connection.execute(
      """
      UPDATE change_sets SET \(column) = CAST(x'00' || substr(\(column), 2) AS BLOB)
      WHERE number BETWEEN \(numbers.lowerBound) AND \(numbers.upperBound)
      """)
    _ = try device.store.check(after: 0, setsMax: .max, bytesMax: .max)
    #expect(device.store.damagedSets.count == numbers.count)
    tell(device, in: world)
  }

  private func tell(_ device: Device, in world: World) {
    world.turn(device, [.damaged(device.store.damagedSets.map(\.head))])
  }

  private func wants(_ world: World, by name: String) -> Int {
    world.sent.count { if case .want = $0.message { $0.from == name } else { false } }
  }

  @Test(arguments: ["alice", "bob"], ["header", "signature", "plan", "field_values"])
  func `a damaged set is requested by its id, whether it is our own or another's`(
    _ name: String, column: String
  ) throws {
    let world = try world()
    let device = world[name]
    try damage(device, in: world, column: column)
    world.run(2_000)
    #expect(device.store.damagedSets.isEmpty)
    #expect(wants(world, by: name) == 1)
    #expect(world.sent.count { $0.message.isSets } == 1)
    #expect(device.state() == world["alice"].state())
    #expect(try device.store.check(after: 0, setsMax: .max, bytesMax: .max).damaged == 0)
  }

  @Test func `several damaged sets of a log are repaired one after another`() throws {
    let world = try world()
    try damage(world["bob"], in: world, 1...3)
    // The shell reports each one that was replaced.
    for _ in 1...3 {
      world.run(500)
      tell(world["bob"], in: world)
    }
    world.run(2_000)
    #expect(world["bob"].store.damagedSets.isEmpty)
    #expect(wants(world, by: "bob") == 3)
  }

  @Test func `a peer that lost the set too is asked once and remains a peer, and another one sends it`()
    throws
  {
    let world = try world(["alice", "bob", "carol"])
    for name in ["alice", "carol"] {
      let device = world[name]
      try device.store.connection.execute("UPDATE change_sets SET plan = x'00' WHERE number = 2")
    }
    world.cut("bob", "carol")
    world.run(1_000)
    _ = try world["carol"].store.check(after: 0, setsMax: .max, bytesMax: .max)
    tell(world["carol"], in: world)
    world.run(20_000)
    // Alice has served nothing, and notices this.
    #expect(world["alice"].store.damagedSets.count == 1)
    #expect(world["carol"].store.damagedSets.count == 1)
    #expect(wants(world, by: "carol") == 1)
    try world.write("alice", insert(record(9)))
    world.run(2_000)
    #expect(world["carol"].name(record(9)) == "Rome")
    #expect(world["alice"].closes.isEmpty && world["carol"].closes.isEmpty)
    world.connect("bob", "carol")
    world.run(10_000)
    #expect(world["carol"].store.damagedSets.isEmpty)
  }

  @Test func `a damaged set of a closed lane is requested once the lane opens`() throws {
    let world = try world()
    world.prefer("bob", false)
    world.run(1_000)
    try damage(world["bob"], in: world)
    world.run(10_000)
    #expect(world["bob"].store.damagedSets.count == 1)
    #expect(wants(world, by: "bob") == 0)
    world.prefer("bob", true)
    world.run(10_000)
    #expect(world["bob"].store.damagedSets.isEmpty)
  }
}
