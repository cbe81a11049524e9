import Engine
import Families
import Membership
import Replication
import Storage
import Testing
import Wire

/// When a store notes what other devices hold.
@Suite struct KeptHoldingTests {
  private let store: Store
  private let circle: Circle
  private let bob = DeviceKey(Family.key("bob"))
  private let carol = DeviceKey(Family.key("carol"))

  init() throws {
    let family = try Family(founder: "alice")
    store = try Store.inMemory()
    circle = try Circle(
      statements: [family.genesis, try family.certificate(for: "bob")], developmentIssuer: nil)
  }

  private func replica(_ holdings: [DeviceKey: Replica.Holding]) -> Replica {
    let empty = Replica.LaneState(heads: [], digest: .empty)
    var replica = Replica(
      device: DeviceKey(Family.key("alice")), circle: circle, preference: true, localPremium: .none,
      settings: empty, records: empty, newestForeignClock: .zero, seed: 1)
    replica.holdings = holdings
    return replica
  }

  private func holding(syncedAt time: Moment) -> Replica.Holding {
    var holding = Replica.Holding()
    holding.syncedAt = time
    return holding
  }

  private func synced(_ device: DeviceKey) throws -> Moment? { try store.holdings()[device]?.syncedAt }

  @Test func `the time of the last sync is stored again when it is more than a minute newer`() throws {
    var history = try PeerHistory(store)
    for (time, stored) in [(100_000, 100_000), (160_000, 100_000), (160_001, 160_001)] as [(Moment, Moment)] {
      try history.keep(replica([bob: holding(syncedAt: time)]), [bob], in: store)
      #expect(try synced(bob) == stored, "synced at \(time)")
    }
    // The same after a restart, which knows what is stored.
    var again = try PeerHistory(store)
    try again.keep(replica([bob: holding(syncedAt: 200_000)]), [bob], in: store)
    #expect(try synced(bob) == 160_001)
    try again.keep(replica([bob: holding(syncedAt: 220_002)]), [bob], in: store)
    #expect(try synced(bob) == 220_002)
  }

  @Test func `what a device holds is stored as soon as it changes in either lane`() throws {
    var history = try PeerHistory(store)
    try history.keep(replica([bob: holding(syncedAt: 100_000)]), [bob], in: store)
    for (number, lane) in Lane.allCases.enumerated() {
      let time = Moment(100_001 + number)
      let log = LogKey(device: bob, incarnation: Incarnation(Bytes16(1, 1)), lane: lane)
      let head = LogHead(log: log, sequence: 1, id: ChangeSetID(Bytes32(1, 1, 1, 1)), foldedSequence: 0)
      var news = history
      var changed = holding(syncedAt: time)
      changed[lane].heads = Heads([head])
      try news.keep(replica([bob: changed]), [bob], in: store)
      #expect(try synced(bob) == time, "\(lane)")
    }
  }

  @Test func `nothing is stored about a device that is no member`() throws {
    var history = try PeerHistory(store)
    let both = [bob: holding(syncedAt: 100_000), carol: holding(syncedAt: 100_000)]
    try history.keep(replica(both), [bob], in: store)
    #expect(try Set(store.holdings().keys) == [bob])
    // Once it is one, it is.
    try history.keep(replica(both), [bob, carol], in: store)
    #expect(try Set(store.holdings().keys) == [bob, carol])
  }
}
