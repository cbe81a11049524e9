import Membership
import Replication
import Storage
import Wire

/// When and where a peer was last connected; kept, so that a restart does not make it forgotten.
struct SeenPeer: Hashable, Sendable {
  var time: Moment
  var address: String?
}

extension Node {
  static func seenPeers(_ store: Store) throws -> [DeviceKey: SeenPeer] {
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

  /// When a device was last connected: now, if it is.
  func lastSeen(of device: DeviceKey, _ now: Moment) -> Moment? {
    if replica.session(with: device) != nil { return now }
    return network?.lastSeen[device] ?? remembered.seen[device]?.time
  }

  func lastAddress(of device: DeviceKey) -> String? {
    network?.lastAddress[device] ?? remembered.seen[device]?.address
  }

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
    guard replicator.isOpen, broken == nil, !isDiskFull else { return }
    let before = remembered
    do {
      try store.atOnce {
        try rememberHoldings()
        try rememberSeen()
        try rememberBeacons()
        if remembered.isSeenNews { try rememberSeenSets() }
      }
    } catch {
      remembered = before
      storeFailed(error)
    }
  }

  private func rememberHoldings() throws {
    for (device, holding) in replica.holdings.sorted(by: { $0.key < $1.key }) {
      guard circle.evaluation.isMember(device) else { continue }
      let last = remembered.holdings[device]
      let isNews = Lane.allCases.contains { holding[$0].heads != last?[$0].heads }
      let age = (holding.syncedAt ?? 0) - (last?.syncedAt ?? 0)
      guard isNews || age > Remembered.ageMilliseconds else { continue }
      try store.keep(holding, of: device)
      remembered.holdings[device] = holding
    }
  }

  static func beaconTimes(_ store: Store) throws -> [DeviceKey: Int64] {
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
  private func rememberBeacons() throws {
    guard let times = network?.finder?.discovery.times, times != remembered.beacons else { return }
    try store.setMetaLines(
      MetaKey.beaconTimes, times.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
    remembered.beacons = times
  }

  private func rememberSeen() throws {
    let now = wall()
    var seen = remembered.seen
    for device in circle.evaluation.members.keys {
      guard network != nil, let time = lastSeen(of: device, now) else { continue }
      let last = seen[device]
      let address = lastAddress(of: device)
      guard address != last?.address || abs(time - (last?.time ?? 0)) > Remembered.ageMilliseconds else {
        continue
      }
      seen[device] = SeenPeer(time: time, address: address)
    }
    guard seen != remembered.seen else { return }
    try store.setMetaLines(
      MetaKey.seenPeers,
      seen.sorted { $0.key < $1.key }.map { device, peer in
        ["\(device)", "\(peer.time)", peer.address ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
      })
    remembered.seen = seen
  }
}

/// What of the peers is in the store.
struct Remembered: Sendable {
  var seen: [DeviceKey: SeenPeer] = [:]
  var holdings: [DeviceKey: Replica.Holding] = [:]
  /// What the person calls other devices on this one.
  var names: [DeviceKey: String] = [:]
  /// The time in the last beacon that was believed of each.
  var beacons: [DeviceKey: Int64] = [:]
  /// What was here when this device was last in sync is not kept yet.
  var isSeenNews = false
  /// A timer is under way.
  var isDue = false

  static let burstMilliseconds: Int64 = 1_000
  /// Times are kept only this often: each time costs a write.
  static let ageMilliseconds: Moment = 60_000
}
