import Families
import Membership
import Replication
import Storage
import Testing
import Wire

/// A member that forks its log as often as it can: others must not have to wait for it.
@Suite struct ForkFloodTests {
  /// Sets of one log that all follow the first.
  private func star(_ world: World, of name: String, _ count: Int) throws -> [VerifiedChangeSet] {
    let log = LogKey(device: world[name].key, incarnation: Incarnation(Bytes16(66, 6)), lane: .settings)
    func set(_ number: Int, after last: VerifiedChangeSet?) throws -> VerifiedChangeSet {
      let position = AuthorPosition(
        circle: world.family.circle, log: log, sequence: last?.header.sequence ?? 0, id: last?.id,
        clock: last?.header.clock ?? .zero, logBytes: last?.logBytes ?? 0, unseen: [])
      var author = Author(position: position, key: Family.key(name), seed: Family.seed)
      let operation = OperationDraft(id: OperationID(Bytes16(9, UInt64(number))), verb: "test")
      return try author.write(
        [insert(setting(UInt64(number)))], operation: operation, wall: world.now)[0]
    }
    let first = try set(0, after: nil)
    return try [first] + (1...count).map { try set($0, after: first) }
  }

  @Test
  func `a log with three hundred branches is sent in few rounds, and each tip is announced a few times`()
    throws
  {
    let world = try World(["alice", "bob", "mallory"])
    world.connect("alice", "bob")
    world.connect("alice", "mallory")
    world.run(10_000)
    world.forgetTraffic()
    let sets = try star(world, of: "mallory", 300)
    for start in stride(from: 0, to: sets.count, by: 75) {
      let part = Array(sets[start..<min(start + 75, sets.count)])
      world.inject(.sets(.settings, part), from: "mallory", to: "alice")
      world.run(20)
    }
    try #require(world.run(until: { $0["alice"].count(.settings) == sets.count }, within: 10_000))
    try world.write("alice", insert(setting(5_000)))
    try #require(
      world.run(
        until: {
          $0["bob"].count(.settings) == $0["alice"].count(.settings) && $0["bob"].count(.settings) > 301
        },
        within: 10_000))
    let wants = world.sent.count { $0.from == "bob" && $0.message.isWant }
    #expect(wants <= 12, "\(wants) rounds")
    let told = world.sent.reduce(0) { sum, sent in
      guard sent.from == "alice", sent.to == "bob", case .heads(_, let heads, _) = sent.message else {
        return sum
      }
      return sum + heads.count
    }
    #expect(told <= 1_800, "\(told) heads for 300 branches")
    #expect(world["bob"].store.heads(.settings).count == world["alice"].store.heads(.settings).count)
    try #require(world.run(until: { $0["alice"].isInSync(with: $0["bob"]) }, within: 15_000))
  }

  @Test func `one moved tip of a forked log is announced with another, and the rest stay known`() throws {
    let world = try World(["alice", "bob", "mallory"])
    world.connect("alice", "bob")
    world.connect("alice", "mallory")
    world.run(10_000)
    let sets = try star(world, of: "mallory", 20)
    world.inject(.sets(.settings, Array(sets.dropLast())), from: "mallory", to: "alice")
    try #require(
      world.run(until: { $0["alice"].isInSync(with: $0["bob"]) && $0["bob"].count(.settings) == 20 }))
    world.forgetTraffic()
    world.inject(.sets(.settings, [sets[20]]), from: "mallory", to: "alice")
    try #require(world.run(until: { $0["bob"].count(.settings) == 21 }, within: 1_000))
    let told = world.sent.compactMap { sent -> Int? in
      guard sent.from == "alice", sent.to == "bob", case .heads(_, let heads, _) = sent.message else {
        return nil
      }
      return heads.count
    }
    #expect(told == [2])
    let theirs = world["bob"].session(with: world["alice"])?[.settings].theirs
    #expect(theirs?.tipCount(of: sets[0].header.log) == 20)
  }
}
