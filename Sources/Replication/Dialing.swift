// Protocol/session.md, "Connecting"

package import Wire

/// The known addresses and when to dial each: a part of `Peering`.
///
/// Each address has at most one attempt at a time; a device that is connected, from either side, is not dialled.
/// Failures back off exponentially with full jitter (Brooker, "Exponential Backoff And Jitter", 2015). All moments are
/// on the steady clock.
package struct Dialing: Sendable {
  package struct Entry: Sendable {
    package let address: String
    /// The device at the address, if known.
    package internal(set) var device: DeviceKey?
    package internal(set) var failures = 0
    package internal(set) var nextAttempt: Moment
    package internal(set) var isDialling = false
    package internal(set) var lastFailure: DialFailure?
    /// When a beacon of the device last announced it.
    package internal(set) var foundAt: Moment?
    var source = Source.person
    /// Whether a handshake has authenticated `device` at this address.
    var isProved = false
    /// When the two devices last admitted each other over this address; nil once that connection has ended.
    var admittedAt: Moment?
  }

  /// Where an address comes from. If it has several sources, the one that keeps it longest.
  enum Source {
    case person
    /// Address statements of members; kept as long as they announce it.
    case members
    /// Kept until it has failed a few times.
    case beacons
  }

  private(set) var entries: [Entry] = []
  /// Devices that misbehaved: not dialled until that moment. `count` is how often they misbehaved.
  private var penalties: [DeviceKey: (until: Moment, count: Int)] = [:]
  private var random: SplitMix
  /// Whether this device is revoked. It then dials rarely, only to find out whether it still is.
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
  /// Addresses that are no longer announced are dropped: a device that moves between networks would otherwise leave
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
    // If several members announce it, only a handshake shows whose it is. Otherwise a member could claim another's
    // address, and the other would not be dialled while the first is connected.
    let owner = devices.count == 1 ? devices.first : nil
    if let index = index(of: address) {
      if !entries[index].isProved { entries[index].device = owner }
      if entries[index].source == .beacons { entries[index].source = .members }
    } else if hasRoom {
      entries.append(Entry(address: address, device: owner, nextAttempt: now, source: .members))
    }
  }

  /// Records an address from a beacon of the device: it is due at once and before others. Only the newest few such
  /// addresses of a device are kept.
  mutating func found(_ address: String, of device: DeviceKey, now: Moment) {
    var entry =
      index(of: address).map { entries.remove(at: $0) }
      ?? Entry(address: address, device: device, nextAttempt: now, source: .beacons)
    entry.device = device
    entry.foundAt = now
    entry.failures = 0
    entry.nextAttempt = min(entry.nextAttempt, now)
    entries.insert(entry, at: 0)
    let older = entries.filter { $0.source == .beacons && $0.device == device && !$0.isDialling }
      .dropFirst(Limits.foundAddressesMax)
    for entry in older { remove(entry.address) }
  }

  /// Whether a beacon has announced the address in this run of the node.
  func isFound(_ address: String) -> Bool {
    entries.contains { $0.address == address && $0.foundAt != nil }
  }

  mutating func remove(_ address: String) { entries.removeAll { $0.address == address } }

  /// Drops the addresses of unwanted devices.
  mutating func forget(_ isUnwanted: (DeviceKey) -> Bool) {
    entries.removeAll { $0.device.map(isUnwanted) ?? false }
  }

  /// Records whether this device is revoked. Once it no longer is, every waiting address is due at once.
  mutating func update(isRevoked: Bool, now: Moment) {
    if self.isRevoked, !isRevoked { hurry(now: now) }
    self.isRevoked = isRevoked
  }

  /// When the next address is due; nil if every address is connected, being dialled or paused.
  func nextDue(connected: Set<DeviceKey>, paused: Set<DeviceKey>) -> Moment? {
    let underWay = underWay
    return entries.compactMap { entry -> Moment? in
      guard !entry.isDialling else { return nil }
      guard let device = entry.device else { return entry.nextAttempt }
      if connected.contains(device) || paused.contains(device) || underWay.contains(device) { return nil }
      return max(entry.nextAttempt, penalties[device]?.until ?? 0)
    }.min()
  }

  /// Returns the addresses to dial now. They count as being dialled until `failed` or `ended`.
  mutating func due(
    now: Moment, connected: Set<DeviceKey>, paused: Set<DeviceKey>
  ) -> [String] {
    var addresses: [String] = []
    var underWay = underWay
    // Fewest failures first: many dead addresses must not delay a new one.
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

  /// Records the end of an established connection. One that lasted is retried soon; a peer that hangs up each time
  /// backs off like one that does not answer.
  mutating func ended(_ address: String, now: Moment) {
    guard let index = index(of: address) else { return }
    let lasted = entries[index].admittedAt.map { now - $0 >= Self.lastingMilliseconds } ?? false
    if lasted { entries[index].failures = 0 }
    entries[index].admittedAt = nil
    wait(index, now)
  }

  mutating func failed(_ address: String, _ failure: DialFailure, now: Moment) {
    guard let index = index(of: address) else { return }
    entries[index].lastFailure = failure
    wait(index, now)
    // If the device is still there, another beacon adds the address again; if not, it may belong to another machine.
    if entries[index].source == .beacons, entries[index].failures >= Self.foundFailuresMax {
      entries.remove(at: index)
    }
  }

  private mutating func wait(_ index: Int, _ now: Moment) {
    entries[index].isDialling = false
    entries[index].nextAttempt = now + delay(failures: entries[index].failures)
    entries[index].failures = min(entries[index].failures + 1, 32)
  }

  /// Devices that are being dialled.
  private var underWay: Set<DeviceKey> { Set(entries.filter(\.isDialling).compactMap(\.device)) }

  /// Stops dialling a device that violated the protocol: for ten seconds, doubled each time up to a day.
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

/// Why an address could not be reached.
package enum DialFailure: String, Hashable, Sendable {
  case refused
  case timeout
  case noRoute
  case unresolved
  /// The peer at the address is not a member of this circle, or does not admit this device.
  case notAMember
  /// A member answers and hangs up before the session begins.
  case turnedAway
  case newerProtocol
  case other
}
