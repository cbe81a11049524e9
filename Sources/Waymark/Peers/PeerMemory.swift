import Engine
import Membership
import Replication
import Storage
import Wire

/// When and where a peer was last connected; kept, so that a restart does not make it forgotten.
struct SeenPeer: Hashable, Sendable {
  var time: Moment
  var address: String?
}

/// What of the peers is in the store, so that a restart does not make it forgotten.
struct Remembered: Sendable {
  private(set) var seen: [DeviceKey: SeenPeer] = [:]
  private var holdings: [DeviceKey: Replica.Holding] = [:]
  /// What the person calls other devices on this one.
  var names: [DeviceKey: String] = [:]
  /// The time in the last beacon that was believed of each.
  private(set) var beacons: [DeviceKey: Int64] = [:]
  /// What was here when this device was last in sync is not kept yet.
  var isSeenNews = false
  /// A timer is under way.
  var isDue = false

  /// - Parameter names: what the person calls other devices on this one.
  init(_ store: Store, names: [DeviceKey: String]) throws {
    seen = try Self.seenPeers(store)
    holdings = try store.holdings()
    self.names = names
    beacons = try Self.beaconTimes(store)
  }

  private static func seenPeers(_ store: Store) throws -> [DeviceKey: SeenPeer] {
    var seen: [DeviceKey: SeenPeer] = [:]
    for line in try store.metaLines(MetaKey.seenPeers) {
      let words = line.split(separator: " ")
      guard words.count >= 2, let device = DeviceKey(hex: words[0]), let time = Moment(words[1]) else {
        continue
      }
      seen[device] = SeenPeer(time: time, address: words.count > 2 ? String(words[2]) : nil)
    }
    return seen
  }

  /// Keeps what is news: holdings of members and the last connection of each.
  mutating func keep(_ replica: Replica, _ members: some Sequence<DeviceKey>, in store: Store) throws {
    let members = Set(members)
    for (device, holding) in replica.holdings.sorted(by: { $0.key < $1.key }) {
      guard members.contains(device) else { continue }
      let last = holdings[device]
      let isNews = Lane.allCases.contains { holding[$0].heads != last?[$0].heads }
      let age = (holding.syncedAt ?? 0) - (last?.syncedAt ?? 0)
      guard isNews || age > Self.ageMilliseconds else { continue }
      try store.keep(holding, of: device)
      holdings[device] = holding
    }
  }

  private static func beaconTimes(_ store: Store) throws -> [DeviceKey: Int64] {
    var times: [DeviceKey: Int64] = [:]
    for line in try store.metaLines(MetaKey.beaconTimes) {
      let words = line.split(separator: " ")
      guard words.count == 2, let device = DeviceKey(hex: words[0]), let time = Int64(words[1]) else {
        continue
      }
      times[device] = time
    }
    return times
  }

  /// What was heard is not believed again after a restart.
  mutating func keep(beacons times: [DeviceKey: Int64], in store: Store) throws {
    guard times != beacons else { return }
    try store.setMetaLines(
      MetaKey.beaconTimes, times.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
    beacons = times
  }

  /// Keeps when and where peers were last connected, as far as it is news.
  mutating func keep(seen peers: [DeviceKey: SeenPeer], in store: Store) throws {
    var kept = seen
    for (device, peer) in peers {
      let last = kept[device]
      guard peer.address != last?.address || abs(peer.time - (last?.time ?? 0)) > Self.ageMilliseconds else {
        continue
      }
      kept[device] = peer
    }
    guard kept != seen else { return }
    try store.setMetaLines(
      MetaKey.seenPeers,
      kept.sorted { $0.key < $1.key }.map { device, peer in
        ["\(device)", "\(peer.time)", peer.address ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
      })
    seen = kept
  }

  static let burstMilliseconds: Int64 = 1_000
  /// Times are kept only this often: each time costs a write.
  private static let ageMilliseconds: Moment = 60_000
}

extension Node {
  /// Keeps soon what peers are known to hold: once for a burst.
  func rememberSoon() {
    guard !remembered.isDue else { return }
    remembered.isDue = true
    timers.after(milliseconds: Remembered.burstMilliseconds) { [weak self] in
      self?.assumeIsolated { $0.remember() }
    }
  }

  /// Keeps what peers are known to hold, as far as it is news. After a crash less is known than was: that claims too
  /// little, never too much.
  func remember() {
    remembered.isDue = false
    guard replicator.isOpen, broken == nil, !replicator.disk.isFull else { return }
    let before = remembered
    do {
      try store.atOnce {
        let members = circle.evaluation.members.keys
        try remembered.keep(replica, members, in: store)
        if network != nil { try remembered.keep(seen: seenPeers(among: members), in: store) }
        if let times = network?.finder?.discovery.times { try remembered.keep(beacons: times, in: store) }
        if remembered.isSeenNews { try rememberSeenSets() }
      }
    } catch {
      remembered = before
      replicator.storeFailed(error)
    }
  }

  private func seenPeers(among devices: some Sequence<DeviceKey>) -> [DeviceKey: SeenPeer] {
    let inspection = peerInspection(wall())
    var seen: [DeviceKey: SeenPeer] = [:]
    for device in devices {
      guard let time = inspection.lastSeen(of: device) else { continue }
      seen[device] = SeenPeer(time: time, address: inspection.lastAddress(of: device))
    }
    return seen
  }
}
