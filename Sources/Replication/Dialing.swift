// Protocol/session.md, "Connecting"

package import Wire

/// The known addresses and when to dial each of them. This is a part of `Peering`.
///
/// Each address is dialled at most once at a time. A device that is already connected, from either side, is not
/// dialled. After a failure, the wait before the next attempt grows exponentially, with full jitter (Brooker,
/// "Exponential Backoff And Jitter", 2015). The first few attempts that fail because the peer hangs up are repeated
/// more quickly: a peer that is under attack closes random connections. All moments are on the steady clock.
package struct Dialing: Sendable {
  package struct Entry: Sendable {
    package let address: String
    /// The device at the address, if known.
    package internal(set) var device: DeviceKey?
    package internal(set) var failures = 0
    /// How many of the attempts since the last lasting connection were repeated quickly.
    var quickRetries = 0
    package internal(set) var nextAttempt: Moment
    package internal(set) var isDialling = false
    package internal(set) var lastFailure: DialFailure?
    /// When a beacon from the device last announced the address.
    package internal(set) var foundAt: Moment?
    var source = Source.person
    /// Whether a handshake has authenticated `device` at this address.
    var isProved = false
    /// When the two devices last admitted each other over this address; nil once that connection has ended.
    var admittedAt: Moment?
  }

  /// The source of an address. If an address has several sources, this is the one for which it is kept longest.
  enum Source {
    case person
    /// Address statements of members. The address is kept as long as members announce it.
    case members
    /// Beacons. The address is kept until it has failed a few times.
    case beacons
  }

  private(set) var entries: [Entry] = []
  /// The devices that misbehaved. A device is not dialled until the moment `until`; `count` is how often it has
  /// misbehaved.
  private var penalties: [DeviceKey: (until: Moment, count: Int)] = [:]
  private var random: SplitMix
  /// Whether this device is revoked. A revoked device dials rarely, and only to find out whether it is still revoked.
  private var isRevoked = false

  init(seed: UInt64) { random = SplitMix(seed: seed) }

  /// Adds an address that the person gave. A known address keeps its dial state.
  mutating func add(_ address: String, of device: DeviceKey?, now: Moment) {
    if let index = index(of: address) {
      if let device { entries[index].device = device }
      entries[index].source = .person
      return
    }
    guard hasRoom else { return }
    entries.append(Entry(address: address, device: device, nextAttempt: now))
  }

  private var hasRoom: Bool { entries.count { $0.source != .beacons } < Self.addressesMax }

  /// Replaces the addresses that members announce with this complete list.
  ///
  /// Addresses that are no longer announced are dropped. Otherwise, a device that moves between networks would leave
  /// behind a growing list of dead addresses.
  mutating func announced(_ addresses: [DeviceKey: [String]], now: Moment) {
    var owners: [String: Set<DeviceKey>] = [:]
    for (device, addresses) in addresses {
      for address in addresses { owners[address, default: []].insert(device) }
    }
    func isLeftOut(_ entry: Entry) -> Bool { entry.source == .members && owners[entry.address] == nil }
    entries.removeAll { isLeftOut($0) && $0.foundAt == nil && !$0.isDialling }
    for index in entries.indices where isLeftOut(entries[index]) && entries[index].foundAt != nil {
      entries[index].source = .beacons
    }
    for (address, devices) in owners.sorted(by: { $0.key < $1.key }) {
      announced(address, of: devices, now)
    }
  }

  private mutating func announced(_ address: String, of devices: Set<DeviceKey>, _ now: Moment) {
    // If several members announce the address, only a handshake shows whose it is. Otherwise, a member could claim
    // another member's address, and the other member would not be dialled while the first one is connected.
    let owner = devices.count == 1 ? devices.first : nil
    if let index = index(of: address) {
      if !entries[index].isProved { entries[index].device = owner }
      if entries[index].source == .beacons { entries[index].source = .members }
    } else if hasRoom {
      entries.append(Entry(address: address, device: owner, nextAttempt: now, source: .members))
    }
  }

  /// Records an address from a device's beacon. The address is due at once and comes before all others. Of the
  /// addresses that only beacons have announced, only the newest few are kept for each device.
  mutating func found(_ address: String, of device: DeviceKey, now: Moment) {
    var entry =
      index(of: address).map { entries.remove(at: $0) }
      ?? Entry(address: address, device: device, nextAttempt: now, source: .beacons)
    entry.device = device
    entry.foundAt = now
    entry.failures = 0
    entry.quickRetries = 0
    entry.nextAttempt = min(entry.nextAttempt, now)
    entries.insert(entry, at: 0)
    let older = entries.filter { $0.source == .beacons && $0.device == device && !$0.isDialling }
      .dropFirst(Limits.foundAddressesMax)
    for entry in older { remove(entry.address) }
  }

  /// Whether a beacon has announced the address since the node was started.
  func isFound(_ address: String) -> Bool {
    entries.contains { $0.address == address && $0.foundAt != nil }
  }

  mutating func remove(_ address: String) { entries.removeAll { $0.address == address } }

  /// Drops the addresses of unwanted devices.
  mutating func forget(_ isUnwanted: (DeviceKey) -> Bool) {
    entries.removeAll { $0.device.map(isUnwanted) ?? false }
  }

  /// Records whether this device is revoked. When it no longer is, every waiting address becomes due at once.
  mutating func update(isRevoked: Bool, now: Moment) {
    if self.isRevoked, !isRevoked { hurry(now: now) }
    self.isRevoked = isRevoked
  }

  /// Returns when the next address is due; nil if the device at every address is connected, being dialled or paused.
  func nextDue(connected: Set<DeviceKey>, paused: Set<DeviceKey>) -> Moment? {
    let underWay = underWay
    return entries.compactMap { entry -> Moment? in
      guard !entry.isDialling else { return nil }
      guard let device = entry.device else { return entry.nextAttempt }
      if connected.contains(device) || paused.contains(device) || underWay.contains(device) { return nil }
      return max(entry.nextAttempt, penalties[device]?.until ?? 0)
    }.min()
  }

  /// Returns the addresses to dial now. They count as being dialled until `failed` or `ended` is called.
  mutating func due(
    now: Moment, connected: Set<DeviceKey>, paused: Set<DeviceKey>
  ) -> [String] {
    var addresses: [String] = []
    var underWay = underWay
    // Addresses with the fewest failures come first, because many dead addresses must not delay a new one.
    let waiting = entries.indices.filter { !entries[$0].isDialling && entries[$0].nextAttempt <= now }
    for index in waiting.sorted(by: { (entries[$0].failures, $0) < (entries[$1].failures, $1) }) {
      if let device = entries[index].device {
        if connected.contains(device) || paused.contains(device) || underWay.contains(device) { continue }
        if let penalty = penalties[device], now < penalty.until { continue }
        underWay.insert(device)
      }
      entries[index].isDialling = true
      addresses.append(entries[index].address)
    }
    return addresses
  }

  /// Records that the device at this address was authenticated and that both sides admitted each other.
  mutating func succeeded(_ address: String, _ device: DeviceKey, now: Moment) {
    guard let index = index(of: address) else { return }
    entries[index].device = device
    entries[index].isProved = true
    entries[index].admittedAt = now
    entries[index].lastFailure = nil
  }

  /// Records the end of an established connection. If the connection lasted, the address is retried soon. If the peer
  /// hangs up each time, the address is retried ever less often, as if the peer did not answer.
  mutating func ended(_ address: String, now: Moment) {
    guard let index = index(of: address) else { return }
    let lasted = entries[index].admittedAt.map { now - $0 >= Self.lastingMilliseconds } ?? false
    if lasted {
      entries[index].failures = 0
      entries[index].quickRetries = 0
    }
    entries[index].admittedAt = nil
    wait(index, now)
  }

  mutating func failed(_ address: String, _ failure: DialFailure, now: Moment) {
    guard let index = index(of: address) else { return }
    entries[index].lastFailure = failure
    guard !mayRetryQuickly(index, failure) else { return retryQuickly(index, now) }
    wait(index, now)
    // If the device is still there, its next beacon adds the address again. If it is not, the address may belong to
    // another machine by now.
    if entries[index].source == .beacons, entries[index].failures >= Self.foundFailuresMax {
      entries.remove(at: index)
    }
  }

  private func mayRetryQuickly(_ index: Int, _ failure: DialFailure) -> Bool {
    guard !isRevoked, entries[index].quickRetries < Limits.quickRetriesMax else { return false }
    switch failure {
    case .notAMember, .turnedAway: return true
    case .refused, .timeout, .noRoute, .unresolved, .newerProtocol, .other: return false
    }
  }

  /// Does not count as a failure, so that the waits after further failures begin with the shortest.
  private mutating func retryQuickly(_ index: Int, _ now: Moment) {
    entries[index].isDialling = false
    entries[index].quickRetries += 1
    entries[index].nextAttempt = now + Moment(random.below(UInt64(Limits.quickRetryMilliseconds))) + 50
  }

  private mutating func wait(_ index: Int, _ now: Moment) {
    entries[index].isDialling = false
    entries[index].nextAttempt = now + delay(failures: entries[index].failures)
    entries[index].failures = min(entries[index].failures + 1, 32)
  }

  /// The devices that are being dialled.
  private var underWay: Set<DeviceKey> { Set(entries.filter(\.isDialling).compactMap(\.device)) }

  /// Stops dialling a device that violated the protocol. The pause lasts ten seconds at first, and doubles with each
  /// violation, up to a day.
  mutating func penalise(_ device: DeviceKey, now: Moment) {
    let count = min((penalties[device]?.count ?? 0) + 1, 32)
    let wait = min(
      Limits.penaltyMillisecondsMin << Moment(count - 1), Limits.penaltyMillisecondsMax)
    penalties[device] = (now + wait, count)
  }

  func isPenalised(_ device: DeviceKey, now: Moment) -> Bool {
    penalties[device].map { now < $0.until } ?? false
  }

  /// Makes every waiting address due at once.
  mutating func hurry(now: Moment) {
    for index in entries.indices { entries[index].nextAttempt = min(entries[index].nextAttempt, now) }
  }

  private func index(of address: String) -> Int? { entries.firstIndex { $0.address == address } }

  private mutating func delay(failures: Int) -> Moment {
    let ceiling =
      isRevoked
      ? Limits.askingMillisecondsMax
      : min(Limits.reconnectMillisecondsMin << Moment(min(failures, 20)), Limits.reconnectMillisecondsMax)
    return Moment(random.below(UInt64(ceiling))) + 50
  }

  private static let addressesMax = 512
  private static let foundFailuresMax = 3
  private static let lastingMilliseconds: Moment = 5_000
}

/// The reason why an address could not be reached.
package enum DialFailure: String, Hashable, Sendable {
  case refused
  case timeout
  case noRoute
  case unresolved
  /// The peer at the address is not a member of this circle, or does not admit this device.
  case notAMember
  /// A member answered, but hung up before the session began.
  case turnedAway
  case newerProtocol
  case other
}
