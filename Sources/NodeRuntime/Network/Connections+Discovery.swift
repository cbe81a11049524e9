// Protocol/discovery.md

import Engine
import Home
import Membership
import Reasons
import Replication
import ServiceDiscovery
import Sodium
import Synchronization
import Transport
import Wire

/// The state of discovery on local networks: sockets, keys, and when to send beacons.
struct BeaconSchedule {
  /// The UDP port on which all nodes receive beacons.
  static let port: UInt16 = 7_433

  /// The ways in which beacons travel: datagrams, if the port could be opened, and DNS services, if this build has them.
  let carriers: [any BeaconCarrier]
  /// Why the port could not be opened; nil if it is open.
  let trouble: SystemError?
  let keys: BeaconKeyring
  var discovery: Discovery
  var places: [BeaconInterface] = []
  /// The members whose beacons were rejected because their clocks differ too much, with the number of milliseconds by
  /// which each clock is ahead.
  var clocks: [DeviceKey: Int64] = [:]
}

/// The keys for beacons, which may be used on any thread: the thread that receives beacons needs them to drop those of
/// strangers.
final class BeaconKeyring: Sendable {
  private let keys: Mutex<BeaconKeys>

  init(_ keys: BeaconKeys) { self.keys = Mutex(keys) }

  func update(_ members: [(device: DeviceKey, transport: TransportKey)]) {
    keys.withLock { $0.update(members) }
  }

  func open(_ datagram: [UInt8]) -> (sender: DeviceKey, beacon: Beacon)? {
    guard Beacon.isPlausible(datagram) else { return nil }
    let keys = keys.withLock { $0 }
    return keys.open(datagram)
  }

  func seal(_ beacon: Beacon, to devices: [DeviceKey], by signer: SigningKey) -> [UInt8] {
    let keys = keys.withLock { $0 }
    return keys.seal(beacon, to: Set(devices), by: signer, nonce: random16(), secret: random16())
  }
}

extension Connections {
  // MARK: Starting

  /// Starts to discover peers, and makes this node discoverable.
  func beginDiscovery() {
    let keyring = BeaconKeyring(BeaconKeys(circle: circle.id, transport: identity.transport))
    let onQueue = loop.onQueue
    let received: @Sendable ([UInt8], BeaconOrigin) -> Void = { [keyring] beacon, origin in
      guard let (device, beacon) = keyring.open(beacon) else { return }
      onQueue { $0.connections.received(beacon, of: device, from: origin) }
    }
    let services = serviceBeacons(
      received: received,
      failed: { failure in
        onQueue { $0.connections.logger.info("network", "beacons are not published as services: \(failure)") }
      }, random: randomSeed)
    var carriers = [services].compactMap(\.self)
    var trouble: SystemError?
    do throws(SystemError) {
      carriers.append(
        try BeaconSockets(port: BeaconSchedule.port) { datagram, source in
          received(datagram, .datagram(source))
        })
    } catch {
      trouble = error
      logger.warning("network", "other devices can't be found by datagrams on this network: \(error)")
    }
    serving?.beacons = BeaconSchedule(
      carriers: carriers, trouble: trouble, keys: keyring,
      discovery: Discovery(seed: randomSeed(), times: remembered.beacons))
    for carrier in carriers { carrier.start() }
    membersMayHaveChanged()
  }

  /// Updates the keys of beacons, because only members may send and read beacons.
  func membersMayHaveChanged() {
    guard let beacons = serving?.beacons else { return }
    let evaluation = circle.evaluation
    let others = member == nil ? [] : evaluation.members.values.filter { $0.device != identity.device }
    beacons.keys.update(others.map { ($0.device, $0.transport) })
    serving?.beacons?.discovery.forget { !evaluation.isMember($0) }
    serving?.beacons?.clocks = beacons.clocks.filter { evaluation.isMember($0.key) }
    lookForPeersSoon()
  }

  /// Starts a new round of beacons, because a peer is or may be missing.
  func lookForPeersSoon() {
    serving?.beacons?.discovery.begin(now: loop.steady)
    scheduleBeacons()
  }

  // MARK: Interfaces

  /// Checks this machine's addresses, now and every few seconds.
  func watchInterfaces() {
    guard let before = serving, transport.hasInterfaces else { return }
    // If the system gives no answer, keep the last list of interfaces: an empty list would end all connections.
    let interfaces = transport.interfaces ?? before.interfaces
    if interfaces != before.interfaces {
      serving?.interfaces = interfaces
      serving?.lastingAddresses = nil
      serving?.leaveLostAddresses()
      if serving?.moveBeacons() == true { lookForPeersSoon() }
    } else if before.lastingAddresses == nil {
      serving?.lastingAddresses = before.isCutOff ? [] : before.reachableAddresses
    }
    // Announce only addresses that have lasted a while. Otherwise, a loose plug would cause a new signed statement each
    // time.
    if member != nil, let lasting = serving?.lastingAddresses, !lasting.isEmpty { try? announce(lasting) }
    loop.schedule(.interfaces, after: Limits.interfaceMilliseconds) { $0.connections.watchInterfaces() }
  }

  // MARK: Sending

  var missingPeers: [DeviceKey] {
    let connected = replica.connectedDevices()
    return circle.evaluation.members.keys.filter { device in
      device != identity.device && !connected.contains(device) && !peering.isPaused(device)
        && !peering.isPenalised(device, now: loop.time)
    }
  }

  private func scheduleBeacons() {
    guard let due = serving?.beacons?.discovery.nextDue else { return }
    loop.schedule(.beacons, after: due - loop.steady) { $0.connections.sendBeacons() }
  }

  private func sendBeacons() {
    let missing = member == nil ? [] : missingPeers
    counters.beaconsSent +=
      serving?.sendBeacons(to: missing, by: identity.signing, wall: loop.wall, now: loop.steady) ?? 0
    scheduleBeacons()
  }

  // MARK: Receiving

  /// Handles a member's beacon. The beacon only suggests an address to dial; the handshake proves which device is
  /// there.
  private func received(_ beacon: Beacon, of device: DeviceKey, from origin: BeaconOrigin) {
    let (source, host): (Bytes16?, String) =
      switch origin {
      case .datagram(let source): (source.hostBytes, source.host)
      case .service(let interface): (beacon.host, beacon.host.host(on: interface))
      }
    guard let source, member != nil, circle.evaluation.isMember(device),
      let verdict = serving?.beacons?.discovery.judge(
        beacon, of: device, from: source, wall: loop.wall, now: loop.steady)
    else { return }
    switch verdict {
    case .believed: found(device, at: Endpoint(host: host, port: beacon.port).description)
    case .otherTime(let ahead):
      let isNew = serving?.beacons?.clocks.updateValue(ahead, forKey: device) == nil
      if isNew {
        loop.nodeChanged()
        logger.warning(
          "network", "\(name(of: device)) is on this network; \(Reason.clocksDiffer.sentence(peer: "it"))")
      }
    case .elsewhere, .repeated, .tooMany: return
    }
  }

  private func found(_ device: DeviceKey, at address: String) {
    counters.beaconsBelieved += 1
    rememberSoon()
    if serving?.beacons?.clocks.removeValue(forKey: device) != nil { loop.nodeChanged() }
    guard !peering.isPaused(device) else { return }
    if !peering.isFound(address) {
      logger.info("network", "found \(name(of: device)) on this network, at \(address)")
    }
    if let id = replica.session(with: device)?.link {
      // The peer is connected and still sends beacons. Either it has lost the connection, or it sent the beacon just
      // before it connected. Whether it answers a heartbeat tells which.
      loop.handle(.timer(.beat(id)))
      loop.after(milliseconds: Limits.lostMilliseconds) { $0.connections.abandonIfLost(id) }
    }
    handle(.addressFound(address, device))
  }

  private func abandonIfLost(_ id: LinkID) {
    guard let link = serving?.links[id]?.link, link.quietMilliseconds >= Limits.lostMilliseconds else {
      return
    }
    logger.debug("network", "closed a connection that the peer has lost")
    link.abandon()
  }
}

/// The source of a peer's address.
public enum AddressSource: String, Codable, Sendable {
  /// A beacon on the local network.
  case beacon
  /// A signed statement in which the peer announced the address to the circle.
  case announced
  /// The person, who gave the address in a command or in the configuration.
  case given
  /// An incoming connection from the peer.
  case incoming
}

extension ServingState {
  /// Closes the connections whose local address this machine no longer has.
  func leaveLostAddresses() {
    let hosts = Set(interfaces.map(\.host))
    for active in links.values { active.link.leave(unlessOn: hosts) }
  }

  /// Sends the beacons that are due, or withdraws the last ones if no device is missing.
  ///
  /// - Returns: the number of beacons sent.
  mutating func sendBeacons(
    to missing: [DeviceKey], by signer: SigningKey, wall: Moment, now: Moment
  ) -> UInt64 {
    guard let beacons, !beacons.carriers.isEmpty else { return 0 }
    let groups = self.beacons?.discovery.due(now: now, missing: missing) ?? []
    if missing.isEmpty { for carrier in beacons.carriers { carrier.withdraw() } }
    guard !groups.isEmpty else { return 0 }
    let port = listener.address.port
    var sent = 0
    for place in beacons.places {
      guard let host = place.host else { continue }
      let round = groups.compactMap { group in
        (self.beacons?.discovery.stamp(wall: wall)).map { time in
          beacons.keys.seal(Beacon(time: time, host: host, port: port), to: group, by: signer)
        }
      }
      sent += beacons.carriers.map { $0.send(round, from: place) }.max() ?? 0
    }
    return UInt64(sent)
  }

  /// Moves the beacons to the interfaces that this machine has now. Returns false if the interfaces are unchanged.
  mutating func moveBeacons() -> Bool {
    guard let beacons, !beacons.carriers.isEmpty else { return false }
    let places = BeaconInterface.all(listening: listener.address, port: BeaconSchedule.port, of: interfaces)
    guard places != beacons.places else { return false }
    for carrier in beacons.carriers { carrier.join(places) }
    self.beacons?.places = places
    return true
  }
}

extension BeaconSchedule {
  /// The notice that says why peers can't be discovered on this network; nil if discovery works.
  var notice: NodeStatus.Notice? {
    if let trouble, carriers.isEmpty {
      let isTaken = trouble.isAddressInUse
      return NodeStatus.Notice(
        .notDiscovering,
        text: isTaken
          ? "\(Reason.notDiscovering.sentence()): another program uses UDP port \(Self.port)"
          : "\(Reason.notDiscovering.sentence()): \(trouble.description)",
        next: isTaken
          ? "ss -ulpn sport = :\(Self.port), then stop that program; or \(waymark: "run --no-discovery")"
          : nil
      )
    }
    guard places.isEmpty else { return nil }
    return NodeStatus.Notice(
      .notDiscovering, text: "\(Reason.notDiscovering.sentence()): this machine has no network for beacons",
      next: "check that this machine is connected to a network")
  }
}
