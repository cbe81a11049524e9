import Families
import Membership
import RecordTables
import Replication
import Storage
import Testing
import Vectors
import Wire

/// Copies of copies that write and meet in random order.
@Suite struct DeepForkTests {
  private static let copies = ["alice", "second", "third", "fourth"]

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `however deep a log forks, and in whatever order devices meet, all converge`(seed: UInt64) throws {
    let world = try World(["alice", "bob", "carol", "dave"], seed: seed)
    var random = SeededRandom(seed: seed)
    world.connectAll()
    for number in 1...4 { try world.write("alice", insert(record(UInt64(number)))) }
    try #require(world.run { world in Set(["bob", "carol", "dave"].map { world[$0].state() }).count == 1 })
    cutAll(world)
    // Each copy is made from a copy that has written since: forks upon forks.
    for (index, copy) in Self.copies.enumerated().dropFirst() {
      let original = Self.copies[Int(random.below(index))]
      try world.add(copy, knowing: world.statements, copyOf: world[original])
      for name in Self.copies[...index] { try write(world, name, &random) }
    }
    // Every copy meets one of the others now and then; none meets all.
    for _ in 0..<10 {
      let copy = Self.copies[random.below(Self.copies.count)]
      let friend = ["bob", "carol", "dave"][random.below(3)]
      world.connect(copy, friend)
      world.run(Moment(random.below(400)))
      if random.below(2) == 0 { try write(world, copy, &random) }
      if random.below(3) == 0 { cutAll(world) }
    }
    try expectAgreement(world, &random)
  }

  private func cutAll(_ world: World) {
    for connection in world.connections where connection.isOpen { world.cut(connection) }
    world.run(20)
  }

  private func write(_ world: World, _ name: String, _ random: inout SeededRandom) throws {
    for _ in 0...random.below(3) {
      let key = record(UInt64(1 + random.below(4)))
      try world.write(name, edit(key, "\(name) \(random.below(1_000))"))
    }
  }

  private func expectAgreement(_ world: World, _ random: inout SeededRandom) throws {
    let everyone = Self.copies + ["bob", "carol", "dave"]
    // Devices with one key take turns; the others stay connected.
    for round in 0..<3 {
      for copy in Self.copies.sorted(by: { _, _ in random.below(2) == 0 }) {
        cutAll(world)
        for (one, other) in [("bob", "carol"), ("carol", "dave")] { world.connect(one, other) }
        world.connect(copy, ["bob", "carol", "dave"][random.below(3)])
        if round == 0 { try prove(world) }
        world.run(15_000)
      }
    }
    for name in everyone.dropFirst() {
      #expect(world[name].state() == world["alice"].state(), "\(name) differs")
    }
    let proofs = Set(everyone.map { world[$0].replica.circle.evaluation.forkProofs.map(\.log) })
    #expect(proofs.count == 1)
    #expect(proofs.first?.isEmpty == false)
    #expect(Set(everyone.map { world[$0].replica.circle.setHash }).count == 1)
    #expect(world["bob"].store.heads(.records).count >= 2)
  }

  /// A device that has seen a fork tells the circle.
  private func prove(_ world: World) throws {
    for device in world.devices {
      for fork in device.forks {
        let proof = try ForkProof.statement(
          circle: world.family.circle, (fork.set.raw.header, fork.set.raw.signature),
          (fork.sibling.raw.header, fork.sibling.raw.signature))
        world.learn(device.name, proof)
      }
    }
  }
}
