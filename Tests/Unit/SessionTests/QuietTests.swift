import Families
import Replication
import Storage
import Testing
import Vectors
import Wire

@Suite struct QuietTests {
  @Test(arguments: [2, 5])
  func `devices that have converged only send beats`(count: Int) throws {
    let names = (1...count).map { "device \($0)" }
    let world = try World(names)
    world.connectAll()
    for name in names { try world.write(name, insert(record(UInt64(name.count))), insert(setting(1))) }
    world.run(10_000)
    for name in names { #expect(world[name].state() == world[names[0]].state()) }
    world.forgetTraffic()
    world.run(60_000)
    #expect(world.sent.allSatisfy { $0.message.isState })
    let links = count * (count - 1) / 2
    #expect(world.sent.count <= links * 2 * 16, "\(world.sent.count) messages on \(links) links in a minute")
    #expect(world.sent.count >= links * 2 * 9)
  }

  @Test func `one write among five costs a bounded number of messages`() throws {
    let names = (1...5).map { "device \($0)" }
    let world = try World(names)
    world.connectAll()
    world.run(10_000)
    world.forgetTraffic()
    try world.write(names[0], insert(record(1)))
    world.run(1_000)
    for name in names { #expect(world[name].name(record(1)) == "Rome") }
    #expect(world.sent.count(where: \.message.isSets) <= 8)
    #expect(world.sent.count < 120, "\(world.sent.count) messages")
  }

  /// Safety during random events; after that, everything is equal within a bounded time.
  @Test(arguments: 0..<10)
  func `random runs keep records from a free device, and converge`(block: UInt64) throws {
    for seed in (block * 30)..<(block * 30 + 30) {
      try RandomRun(seed: seed).check()
    }
  }
}

/// Writes, disconnects, reconnects and preference changes of three to five devices, the last of which is free.
private final class RandomRun {
  let world: World
  let names: [String]
  let seed: UInt64
  var free: String { names[names.count - 1] }

  init(seed: UInt64) throws {
    self.seed = seed
    var random = SeededRandom(seed: seed)
    names = ["alice", "bob", "carol", "dave", "erin"].prefix(3 + random.below(3)) + []
    world = try World(names, premium: Array(names.dropLast()), seed: seed)
    world.serveBytes = 500 + random.below(4_000)
    world.linkBytesMax = 1_000 + random.below(8_000)
    world.bytesPerMillisecond = 20 + random.below(500)
    world.latency = Moment(1 + random.below(60))
    world.random = random
  }

  func check() throws {
    world.connectAll()
    for _ in 0..<(12 + world.random.below(14)) {
      try act()
      world.run(Moment(world.random.below(400)))
      expectNoRecords()
    }
    heal()
    let isDone = world.run(until: { [names] in Self.isSettled($0, names) }, within: 60_000)
    #expect(isDone, "seed \(seed): not settled a minute after healing")
    expectNoRecords()
    // Messages that were in flight when the last two agreed.
    world.run(1_500)
    world.forgetTraffic()
    world.run(7_000)
    #expect(world.sent.allSatisfy { $0.message.isState }, "seed \(seed): not quiet")
  }

  private func act() throws {
    let name = names[world.random.below(names.count)]
    let other = names[world.random.below(names.count)]
    let number = UInt64(world.random.below(4)) + 1
    switch world.random.below(12) {
    case 0...3:
      for _ in 0...world.random.below(4) { try world.write(name, edit(record(number), "\(world.now)")) }
    case 4: try world.write(name, insert(record(number), name), insert(setting(number), name))
    case 5: try world.write(name, delete(record(number)))
    case 6, 7: world.cut(name, other)
    case 8, 9: if name != other { world.connect(name, other) }
    case 10: world.prefer(name, world.random.below(2) == 0)
    default: world.learn(name, try world.family.certificate(for: "guest \(world.random.below(1_000))"))
    }
  }

  private func heal() {
    for connection in world.connections { world.cut(connection) }
    world.run(10)
    for name in names { world.prefer(name, true) }
    world.connectAll()
  }

  private static func isSettled(_ world: World, _ names: [String]) -> Bool {
    let premium = names.dropLast()
    return names.allSatisfy { name in
      names.allSatisfy { $0 == name || world[name].isInSync(with: world[$0]) }
    }
      && premium.allSatisfy { world[$0].state() == world[names[0]].state() }
      && names.allSatisfy { world[$0].state([.settings]) == world[names[0]].state([.settings]) }
  }

  private func expectNoRecords() {
    let own = world[free].key
    let foreign = world[free].store.heads(.records).filter { $0.log.device != own }
    #expect(foreign.isEmpty, "seed \(seed): records at a free device")
    for name in names.dropLast() {
      let its = world[name].store.heads(.records).filter { $0.log.device == own }
      #expect(its.isEmpty, "seed \(seed): records from a free device")
    }
  }
}
