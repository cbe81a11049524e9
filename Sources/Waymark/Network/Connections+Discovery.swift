// Protocol/discovery.md

import Engine
import Membership
import Replication
import Sodium
import Synchronization
import Transport
import Wire

/// What a node has while it looks for its peers on the networks it is on.
struct BeaconSchedule {
  /// The port that beacons of every node come to.
  static let port: UInt16 = 7_433

  /// Nil where the port could not be had.
  let sockets: BeaconSockets?
  let trouble: SystemError?
  let keys: BeaconKeyring
  var discovery: Discovery
  var places: [BeaconInterface] = []
  /// Members that were heard, and whose clocks are too far from this one's; by how many milliseconds they are ahead.
  var clocks: [DeviceKey: Int64] = [:]
}

/// The keys of beacons, for the queue on which datagrams come: a stranger's end there.
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
  // MARK: Beginning

  /// Begins to look for peers and to be found by them.
  func beginDiscovery() {
    let keyring = BeaconKeyring(BeaconKeys(circle: circle.id, transport: identity.transport))
    let onQueue = loop.onQueue
    var sockets: BeaconSockets?
    var trouble: SystemError?
    do throws(SystemError) {
      sockets = try BeaconSockets(port: BeaconSchedule.port) { [keyring] datagram, source in
        guard let (device, beacon) = keyring.open(datagram) else { return }
        onQueue { $0.connections.heard(beacon, of: device, from: source) }
      }
    } catch {
      trouble = error
      log.warning("network", "other devices can't be found on this network: \(error)")
    }
    serving?.beacons = BeaconSchedule(
      sockets: sockets, trouble: trouble, keys: keyring,
      discovery: Discovery(seed: randomSeed(), times: remembered.beacons))
    sockets?.start()
    membersMayHaveChanged()
  }

  /// Beacons are for members, and of members, alone.
  func membersMayHaveChanged() {
    guard let beacons = serving?.beacons else { return }
    let evaluation = circle.evaluation
    let others = member == nil ? [] : evaluation.members.values.filter { $0.device != identity.device }
    beacons.keys.update(others.map { ($0.device, $0.transport) })
    serving?.beacons?.discovery.forget { !evaluation.isMember($0) }
    serving?.beacons?.clocks = beacons.clocks.filter { evaluation.isMember($0.key) }
    lookForPeersSoon()
  }

  /// Somebody is missing, or may be.
  func lookForPeersSoon() {
    serving?.beacons?.discovery.begin(now: loop.steady)
    scheduleBeacons()
  }

  // MARK: The interfaces

  /// Looks what this machine's addresses are, now and every few seconds.
  func watchInterfaces() {
    guard let before = serving, transport.hasInterfaces else { return }
    // Without an answer of the system what was true before is true: to take it for none would end all connections.
    let interfaces = transport.interfaces ?? before.interfaces
    if interfaces != before.interfaces {
      serving?.interfaces = interfaces
      serving?.lastingAddresses = nil
      serving?.leaveLostAddresses()
      if serving?.moveBeacons() == true { lookForPeersSoon() }
    } else if before.lastingAddresses == nil {
      serving?.lastingAddresses = before.isCutOff ? [] : before.reachableAddresses
    }
    // Only what has stayed for a while is told: a plug that is loose would write a statement each time.
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

  // MARK: Hearing

  /// A member says where it can be dialled. That is all a beacon does: who is there, the handshake decides.
  private func heard(_ beacon: Beacon, of device: DeviceKey, from source: SocketAddress) {
    guard let host = source.hostBytes, member != nil, circle.evaluation.isMember(device),
      let verdict = serving?.beacons?.discovery.judge(
        beacon, of: device, from: host, wall: loop.wall, now: loop.steady)
    else { return }
    switch verdict {
    case .believed: found(device, at: Endpoint(host: source.host, port: beacon.port).description)
    case .otherTime(let ahead):
      let isNew = serving?.beacons?.clocks.updateValue(ahead, forKey: device) == nil
      if isNew {
        loop.nodeChanged()
        log.warning(
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
      log.info("network", "found \(name(of: device)) on this network, at \(address)")
    }
    if let id = replica.session(with: device)?.link {
      // Its other end looks for this device, so it has lost the connection, or its beacon was under way when it was
      // made.
      loop.handle(.timer(.beat(id)))
      loop.after(milliseconds: Limits.lostMilliseconds) { $0.connections.abandonIfLost(id) }
    }
    handle(.addressFound(address, device))
  }

  private func abandonIfLost(_ id: LinkID) {
    guard let link = serving?.links[id]?.link, link.quietMilliseconds >= Limits.lostMilliseconds else {
      return
    }
    log.debug("network", "gave up a connection that its other end has lost")
    link.abandon()
  }
}

/// Where an address of a peer is known from.
public enum AddressSource: String, Codable, Sendable {
  /// A beacon named it.
  case beacon
  /// The peer told the circle.
  case announced
  /// The person gave it.
  case given
  /// The peer dialled from there.
  case incoming
}

extension Serving {
  /// A connection from an address that this machine no longer has carries nothing any more.
  func leaveLostAddresses() {
    let hosts = Set(interfaces.map(\.host))
    for active in links.values { active.link.leave(unlessOn: hosts) }
  }

  /// Sends the beacons that are due.
  ///
  /// - Returns: how many were sent.
  mutating func sendBeacons(
    to missing: [DeviceKey], by signer: SigningKey, wall: Moment, now: Moment
  ) -> UInt64 {
    guard let beacons, beacons.sockets != nil else { return 0 }
    let port = listener.address.port
    var sent: UInt64 = 0
    for group in self.beacons?.discovery.due(now: now, missing: missing) ?? [] {
      for place in beacons.places {
        guard let host = place.host, let time = self.beacons?.discovery.stamp(wall: wall) else { continue }
        let beacon = Beacon(time: time, host: host, port: port)
        if BeaconSockets.send(beacons.keys.seal(beacon, to: group, by: signer), from: place) { sent += 1 }
      }
    }
    return sent
  }

  /// Sends beacons from the interfaces that this machine has now; false if they are the same as before.
  mutating func moveBeacons() -> Bool {
    guard let beacons, let sockets = beacons.sockets else { return false }
    let places = BeaconInterface.all(listening: listener.address, port: BeaconSchedule.port, of: interfaces)
    guard places != beacons.places else { return false }
    sockets.join(places)
    self.beacons?.places = places
    return true
  }
}

extension BeaconSchedule {
  /// Why no peer can be found on this network; nil if nothing prevents that.
  var notice: NodeStatus.Notice? {
    if let trouble {
      let isTaken = trouble.isAddressInUse
      return NodeStatus.Notice(
        .notDiscovering,
        text: Reason.notDiscovering.sentence() + ": "
          + (isTaken ? "another program has UDP port \(Self.port)" : "\(trouble)"),
        next: isTaken
          ? "ss -ulpn sport = :\(Self.port), then end that program; or \(waymark: "run --no-discovery")" : nil
      )
    }
    guard places.isEmpty else { return nil }
    return NodeStatus.Notice(
      .notDiscovering, text: Reason.notDiscovering.sentence() + ": this machine has no network to send on",
      next: "see that this machine is connected to a network")
  }
}
