import Families
import Replication
import Testing
import Wire

/// What a device knows of a connected peer, as it is shown to people.
@Suite struct PeerFactTests {
  private func connected() throws -> World {
    let world = try World(["alice", "bob"])
    world.connect("alice", "bob")
    try #require(world.run { $0["alice"].isInSync(with: $0["bob"]) && $0["bob"].isInSync(with: $0["alice"]) })
    return world
  }

  @Test func `the skew of a peer's clock is that of its newest summary, ahead or behind`() throws {
    let world = try World(["alice", "bob"])
    let (alice, bob) = (world["alice"], world["bob"])
    bob.clockAhead = 60_000
    world.connect("alice", "bob")
    world.run(1_000)
    let ahead = try #require(alice.session(with: bob)?.clockSkew)
    #expect((59_900...60_000).contains(ahead))
    let behind = try #require(bob.session(with: alice)?.clockSkew)
    #expect((-60_100...(-60_000)).contains(behind))
    // His clock is corrected, and a bit too far.
    bob.clockAhead = -30_000
    world.prefer("bob", false)
    world.run(1_000)
    let corrected = try #require(alice.session(with: bob)?.clockSkew)
    #expect((-30_100...(-30_000)).contains(corrected))
  }

  @Test func `an answer measures the round trip, unless it names a question that was not asked yet`() throws {
    let world = try connected()
    world.run(10_000)
    // What is in flight arrives, and nothing more is sent.
    world.meddle = { _, _, _ in [] }
    world.run(100)
    func session() throws -> Session { try #require(world["alice"].session(with: world["bob"])) }
    func answer(_ token: UInt64) {
      world.inject(.state(nil, token: token, echo: false), from: "bob", to: "alice")
      world.run(12)
    }
    let before = try session()
    let trip = try #require(before.roundTrip)
    let newest = try #require(before.newestAnswered)
    #expect((10...40).contains(trip) && before.echoes > 0)

    answer(.max)
    let invented = try session()
    #expect(invented.roundTrip == trip && invented.echoes == before.echoes)
    #expect(invented.newestAnswered == newest)

    answer(UInt64(clamping: world.now - 9_000))
    let late = try session()
    let lateTrip = try #require(late.roundTrip)
    #expect((9_000...9_020).contains(lateTrip) && late.echoes == before.echoes + 1)
    #expect(late.newestAnswered == newest, "a newer question was answered before")
  }

  @Test func `the peer of a link that is replaced is told that it is a duplicate`() throws {
    let world = try connected()
    world.connect("alice", "bob")
    world.run(2_000)
    let reasons = world.sent.compactMap { sent -> ReasonCode? in
      if case .goodbye(let reason) = sent.message { reason } else { nil }
    }
    #expect(!reasons.isEmpty)
    #expect(reasons.allSatisfy { $0 == .duplicateConnection })
  }

  @Test func `how far two devices are apart is known once the peer has announced its sets`() throws {
    let world = try World(["alice", "bob"])
    for number in 1...3 as ClosedRange<UInt64> { try world.write("alice", insert(record(number))) }
    for number in 4...8 as ClosedRange<UInt64> { try world.write("bob", insert(record(number))) }
    world.meddle = { _, _, message in message.isWant || message.isHeads ? [] : [message] }
    world.connect("alice", "bob")
    world.run(1_000)
    let (alice, bob) = (world["alice"], world["bob"])
    let mine = alice.replica[.records].heads
    let unknown = try #require(alice.session(with: bob)?.records)
    #expect(unknown.isOpen && unknown.behind(mine) == nil)
    world.meddle = { _, _, message in message.isWant ? [] : [message] }
    try #require(world.run { $0["alice"].session(with: $0["bob"])?.records.theirs != nil })
    let known = try #require(alice.session(with: bob)?.records)
    #expect(known.behind(mine) == 5)
    #expect(known.theirs?.behind(mine) == 3)
  }

  @Test func `a peer with equal sets and another digest has announced them, and is not level`() throws {
    let world = try World(["alice", "bob"])
    let (alice, bob) = (world["alice"], world["bob"])
    let wrong = Committed(
      items: [], heads: [], goneHeads: [], settingsDigest: .empty,
      recordsDigest: Digest(sum: Bytes32(1, 2, 3, 4)), newestForeignClock: .zero, nextParkedClock: nil)
    world.turn(bob, [.committed(wrong)])
    world.connect("alice", "bob")
    world.run(10_000)
    for (one, other) in [(alice, bob), (bob, alice)] {
      let holding = try #require(one.replica.holdings[other.key])
      #expect(holding.records.levelAt == nil && holding.records.toldAt != nil)
      #expect(holding.settings.levelAt != nil && holding.settings.toldAt != nil)
      #expect(holding.syncedAt == nil)
    }
  }

  @Test func `devices that stay in sync say so once, and note the time of each comparison`() throws {
    let world = try connected()
    let (alice, bob) = (world["alice"], world["bob"])
    func reports() -> Int { alice.reported { $0 == .inSync(bob.key) } }
    let first = reports()
    #expect(first > 0)
    world.run(60_000)
    #expect(reports() == first)
    let last = try #require(alice.replica.lastSync[bob.key])
    let level = try #require(alice.replica.holdings[bob.key]?.records.levelAt)
    #expect(world.now - last <= 10_000 && world.now - level <= 10_000)
    try world.write("bob", insert(record(1)))
    world.run(10_000)
    #expect(reports() > first)
  }
}
