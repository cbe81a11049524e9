import Families
import Membership
import Replication
import Sodium
import Testing
import Wire

/// Cuts that name a set which no device holds, or holds yet.
struct UnknownTipTests {
  private func cut(_ world: World, at tip: ChangeSetID) throws -> Statement {
    let log = LogKey(device: world["carol"].key, incarnation: world["carol"].incarnation, lane: .settings)
    return try Statement(
      signing: LogCut(circle: world.family.circle, log: log, tip: tip, issued: 5), with: Family.key("carol"))
  }

  @Test func `devices agree on a log that is cut at a missing set`() throws {
    let world = try World()
    world.connect("carol", "bob")
    world.run(500)
    try world.write("carol", insert(setting(1)))
    try #require(world.run { $0["bob"].count(.settings) == 1 })
    world.cut("carol", "bob")
    world.learn("alice", try cut(world, at: ChangeSetID(Bytes32(0, 0, 0, 9))))
    world.connect("alice", "bob")
    #expect(world.run { $0["alice"].isInSync(with: $0["bob"]) && $0["bob"].isInSync(with: $0["alice"]) })
    #expect(world["alice"].state() == world["bob"].state())
  }

  @Test func `the kept prefix of a cut log changes when its tip arrives`() throws {
    let world = try World()
    world.connect("carol", "bob")
    world.run(500)
    let first = try world.write("carol", insert(setting(1)))
    try world.write("carol", insert(setting(2)))
    try #require(world.run { $0["bob"].count(.settings) == 2 })
    world.cut("carol", "bob")
    world.learn("alice", try cut(world, at: try #require(first.first).id))
    world.connect("alice", "bob")
    #expect(world.run { $0["alice"].isInSync(with: $0["bob"]) && $0["bob"].isInSync(with: $0["alice"]) })
    #expect(world["alice"].state() == world["bob"].state())
    #expect(world["alice"].count(.settings) == 1)
  }

  @Test func `sets that a cut certainly excludes are not requested`() throws {
    let world = try World()
    world.connect("carol", "bob")
    world.connect("alice", "bob")
    world.run(500)
    let first = try world.write("carol", insert(setting(1)))
    let second = try world.write("carol", insert(setting(2)))
    try #require(world.run { $0["alice"].count(.settings) == 2 })
    world.cut("carol", "bob")
    world.learn("alice", try cut(world, at: try #require(first.first).id))
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) })
    #expect(world["alice"].count(.settings) == 1)
    let tip = try #require(second.first)
    world.forgetTraffic()
    world.inject(
      .heads(
        .settings, [LogHead(log: tip.header.log, sequence: 2, id: tip.id, foldedSequence: 2)], complete: false
      ),
      from: "bob", to: "alice")
    world.run(2_000)
    #expect(world.sent.count(where: \.message.isWant) == 0)
  }
}
