package import Replication
package import Storage
package import Wire

/// When and where a peer was last connected.
package struct PeerContact: Hashable, Sendable {
  package let time: Moment
  package let address: String?

  package init(time: Moment, address: String?) {
    self.time = time
    self.address = address
  }
}

/// Information about peers that is kept in the store across restarts.
package struct PeerHistory: Sendable {
  package private(set) var seen: [DeviceKey: PeerContact] = [:]
  private var holdings: [DeviceKey: Replica.Holding] = [:]
  /// The names that the user has given to other devices; known on this device only.
  package private(set) var names: [DeviceKey: String] = [:]
  /// The time stated in each device's last accepted beacon.
  package private(set) var beacons: [DeviceKey: Int64] = [:]
  /// The sets that were stored here when this device was last in sync.
  package var syncedSets: SyncedSets
  /// Whether a timer for the next write to the store is running.
  package var isDue = false

  package init(_ store: Store) throws {
    syncedSets = try SyncedSets(store)
    seen = try Self.peerContacts(store)
    holdings = try store.holdings()
    names = try Self.peerNames(store)
    beacons = try Self.beaconTimes(store)
  }

  private static func peerContacts(_ store: Store) throws -> [DeviceKey: PeerContact] {
    var seen: [DeviceKey: PeerContact] = [:]
    for line in try store.metaLines(MetaKey.peerContacts) {
      let words = line.split(separator: " ")
      guard words.count >= 2, let device = DeviceKey(hex: words[0]), let time = Moment(words[1]) else {
        continue
      }
      seen[device] = PeerContact(time: time, address: words.count > 2 ? String(words[2]) : nil)
    }
    return seen
  }

  private static func peerNames(_ store: Store) throws -> [DeviceKey: String] {
    var names: [DeviceKey: String] = [:]
    for line in try store.metaLines(MetaKey.peerNames) {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let device = DeviceKey(hex: parts[0]) else { continue }
      names[device] = String(parts[1])
    }
    return names
  }

  /// Stores the user's name for a device. Nil restores the device's own name.
  package mutating func keep(name: String?, of device: DeviceKey, in store: Store) throws {
    var names = names
    names[device] = name
    try store.setMetaLines(
      MetaKey.peerNames, names.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
    self.names = names
  }

  /// Stores what members are known to hold, if it has changed or if the time of the last sync is more than a minute
  /// newer than the stored one.
  package mutating func keep(_ replica: Replica, _ members: some Sequence<DeviceKey>, in store: Store) throws
  {
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

  /// Stores the times stated in accepted beacons, so that a beacon can't be replayed after a restart.
  package mutating func keep(beacons times: [DeviceKey: Int64], in store: Store) throws {
    guard times != beacons else { return }
    try store.setMetaLines(
      MetaKey.beaconTimes, times.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
    beacons = times
  }

  /// Stores when and where peers were last connected, if an address has changed or a time is more than a minute away
  /// from the stored one.
  package mutating func keep(contacts peers: [DeviceKey: PeerContact], in store: Store) throws {
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
      MetaKey.peerContacts,
      kept.sorted { $0.key < $1.key }.map { device, peer in
        ["\(device)", "\(peer.time)", peer.address ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
      })
    seen = kept
  }

  package static let burstMilliseconds: Int64 = 1_000
  /// The least interval between stored times. Each one costs a write.
  private static let ageMilliseconds: Moment = 60_000
}
