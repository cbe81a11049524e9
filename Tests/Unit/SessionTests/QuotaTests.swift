import Families
import Membership
import Replication
import Storage
import Testing
import Wire

/// A member that writes more than its quota: the others store what is within it, do not ask for the rest again and
/// again, and receive it after a grant.
@Suite struct QuotaTests {
  private let world: World
  private var mallory: Device { world["mallory"] }
  private var bob: Device { world["bob"] }

  init() throws {
    world = try World(
      ["alice", "bob", "mallory"], quotas: DeviceQuotas(settings: 1 << 20, records: 8_000))
    mallory.ignoresQuotas = true
  }

  /// Mallory writes sets, most of which are beyond its quota.
  private func exceed(_ count: Int = 100) throws {
    for number in 1...count { try world.write("mallory", insert(record(UInt64(number)))) }
  }

  private func grant(_ bytes: UInt64, on device: String) throws {
    world.learn(
      device,
      try Statement(
        signing: Grant(
          circle: world.family.circle, issuer: DeviceKey(world.family.root), device: mallory.key,
          lane: .records,
          bytes: bytes, issued: 3), with: world.family.root))
  }

  private var setsToBob: Int { world.sent.filter { $0.to == "bob" }.reduce(0) { $0 + $1.message.setCount } }

  @Test func `a log is stored up to the quota, and the honest devices agree`() throws {
    try exceed()
    try world.write("alice", insert(record(1_000)))
    world.connectAll()
    world.run(5_000)
    let stored = bob.store.quotaUsages().first { $0.device == mallory.key }
    #expect(stored.map { $0.bytes > 3_000 && $0.bytes <= 4_000 } == true)
    #expect(world["alice"].state() == bob.state())
    #expect(bob.isInSync(with: world["alice"]))
    #expect(bob.reported { $0 == .quotaExceeded(mallory.key, .records) } == 1)
    #expect(world.isConnected("bob", "mallory"), "a peer is not to blame for sets beyond a quota")
  }

  @Test func `what is beyond the quota is not requested in one session after another`() throws {
    try exceed(400)
    // The connection is slow enough that the rest of the request can still be replaced.
    (world.bytesPerMillisecond, world.linkBytesMax, world.serveBytes) = (100, 16 * 1024, 8 * 1024)
    for round in 1...3 {
      world.forgetTraffic()
      let connection = try #require(world.connect("bob", "mallory"))
      world.run(20_000)
      // At first the answer is cut short, and later nothing is requested.
      #expect(round == 1 ? setsToBob < 200 : setsToBob == 0)
      world.cut(connection)
      world.run(1_000)
    }
    // Of a log that has grown, only the new tip is requested.
    try world.write("mallory", insert(record(9_000)))
    world.forgetTraffic()
    world.connect("bob", "mallory")
    world.run(20_000)
    #expect(setsToBob == 1)
  }

  @Test(arguments: ["bob", "alice"])
  func `a grant makes the devices request what they dropped`(_ admin: String) throws {
    try exceed()
    world.connectAll()
    world.run(5_000)
    #expect(bob.count(.records) < 20)
    try grant(1 << 30, on: admin)
    world.run(10_000)
    #expect(bob.count(.records) == 100)
    #expect(bob.state() == mallory.state())
    #expect(bob.state() == world["alice"].state())
  }

  @Test func `another branch of a log beyond its quota is received`() throws {
    try exceed(3)
    let copy = try world.add("copy", knowing: world.statements, copyOf: mallory)
    copy.ignoresQuotas = true
    world.connect("bob", "mallory")
    world.run(5_000)
    try exceed(60)
    world.run(5_000)
    #expect(bob.count(.records) < 20)
    // The other copy of Mallory's data writes on the branch that it has, within the quota.
    for number in 1...4 { try world.write("copy", insert(record(UInt64(500 + number)))) }
    world.run(100)
    for connection in world.connections { world.cut(connection) }
    world.connect("bob", "copy")
    world.run(20_000)
    let tips = bob.store.heads(.records).filter { $0.log.device == mallory.key }
    #expect(tips.count == 2)
    #expect(tips.map(\.sequence).contains(7))
  }
}
