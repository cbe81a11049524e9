// Protocol/session.md, "Connecting"

package import Wire

/// When to dial which address: the part of `Peering` that keeps addresses.
///
/// One address is dialled by one attempt at a time; a device that is connected, from either side, is not
/// dialled at all. Failures wait longer each time, with full jitter (Brooker, "Exponential Backoff And
/// Jitter", 2015). All moments are of the steady clock.
package struct Dialing: Sendable {
  package struct Entry: Sendable {
    package let address: String
    /// Whose address it is, once known.
    package internal(set) var device: DeviceKey?
    package internal(set) var failures = 0
    package internal(set) var nextAttempt: Moment
    package internal(set) var isDialling = false
    package internal(set) var lastFailure: DialFailure?
    /// When a beacon of the device last named it.
    package internal(set) var foundAt: Moment?
    var source = Source.person
    /// A handshake has shown whose address it is.
    var isProved = false
    /// When the device there was last let in, and let this one in.
    var admittedAt: Moment?
  }

  /// Who has named an address: the one of them whose word lasts longest.
  enum Source {
    case person
    /// Of themselves, as long as they do.
    case members
    /// Until it has failed.
    case beacons
  }

  private(set) var entries: [Entry] = []
  /// Devices left alone until a moment because they misbehaved, and how often they did.
  private var penalties: [DeviceKey: (until: Moment, count: Int)] = [:]
  private var random: SplitMix
  /// This device is out of the circle: it dials seldom, only to ask whether it still is.
  private var isRevoked = false

  init(seed: UInt64) { random = SplitMix(seed: seed) }

  /// Learns an address; one known already keeps its state.
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

  /// Takes over what the members announce of themselves, all of it. What nobody names any more is forgotten: a device
  /// that moves about would leave ever more addresses behind, where nothing answers.
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
    // Of several who name it, only the handshake can say whose it is: else one could claim what is another's, and that
    // one would not be dialled as long as the first is connected.
    let owner = devices.count == 1 ? devices.first : nil
    if let index = index(of: address) {
      if !entries[index].isProved { entries[index].device = owner }
      if entries[index].source == .beacons { entries[index].source = .members }
    } else if hasRoom {
      entries.append(Entry(address: address, device: owner, nextAttempt: now, source: .members))
    }
  }

  /// A beacon of the device has named an address: it is dialled at once and before others. Of each device only the
  /// newest few are kept.
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

  /// Whether a beacon has named the address in this run of the node.
  func isFound(_ address: String) -> Bool {
    entries.contains { $0.address == address && $0.foundAt != nil }
  }

  mutating func remove(_ address: String) { entries.removeAll { $0.address == address } }

  /// Forgets the addresses of devices that are not wanted any more.
  mutating func forget(_ isUnwanted: (DeviceKey) -> Bool) {
    entries.removeAll { $0.device.map(isUnwanted) ?? false }
  }

  /// Says whether this device is out of the circle; once it is in again, every waiting address is due at once.
  mutating func update(isRevoked: Bool, now: Moment) {
    if self.isRevoked, !isRevoked { hurry(now: now) }
    self.isRevoked = isRevoked
  }

  /// When to look again; nil if every address is connected, under way, or to be left alone.
  func nextDue(connected: Set<DeviceKey>, paused: Set<DeviceKey>) -> Moment? {
    let underWay = underWay
    return entries.compactMap { entry -> Moment? in
      guard !entry.isDialling else { return nil }
      guard let device = entry.device else { return entry.nextAttempt }
      if connected.contains(device) || paused.contains(device) || underWay.contains(device) { return nil }
      return max(entry.nextAttempt, penalties[device]?.until ?? 0)
    }.min()
  }

  /// The addresses to dial now; they count as being dialled until `failed` or `ended`.
  mutating func due(
    now: Moment, connected: Set<DeviceKey>, paused: Set<DeviceKey>
  ) -> [String] {
    var addresses: [String] = []
    var underWay = underWay
    // What has failed least comes first: an address that is new is not kept waiting by many that are dead.
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

  /// The handshake showed whose address it is.
  mutating func succeeded(_ address: String, _ device: DeviceKey, now: Moment) {
    guard let index = index(of: address) else { return }
    entries[index].device = device
    entries[index].isProved = true
    entries[index].admittedAt = now
    entries[index].lastFailure = nil
  }

  /// A connection that had been made is gone. One that lasted is tried again soon; a peer that hangs up each
  /// time is left alone longer each time, like one that does not answer.
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
    // A beacon comes again where somebody is; an address without one may be another machine's by now.
    if entries[index].source == .beacons, entries[index].failures >= Self.foundFailuresMax {
      entries.remove(at: index)
    }
  }

  private mutating func wait(_ index: Int, _ now: Moment) {
    entries[index].isDialling = false
    entries[index].nextAttempt = now + delay(failures: entries[index].failures)
    entries[index].failures = min(entries[index].failures + 1, 32)
  }

  /// Devices that an attempt is under way to.
  private var underWay: Set<DeviceKey> { Set(entries.filter(\.isDialling).compactMap(\.device)) }

  /// A peer sent what no correct node sends: ten seconds of silence, doubled each time, up to a day.
  mutating func penalise(_ device: DeviceKey, now: Moment) {
    let count = min((penalties[device]?.count ?? 0) + 1, 32)
    let wait = min(
      Limits.penaltyMillisecondsMin << Moment(count - 1), Limits.penaltyMillisecondsMax)
    penalties[device] = (now + wait, count)
  }

  func isPenalised(_ device: DeviceKey, now: Moment) -> Bool {
    penalties[device].map { now < $0.until } ?? false
  }

  /// A person asks for it: every waiting address is due at once.
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
  /// Something answers there, but it is not a device of this circle, or lets this one not in.
  case notAMember
  /// A member answers there, and hangs up on this device.
  case turnedAway
  case newerProtocol
  case other
}
