// Protocol/discovery.md

import Dispatch
import Engine
import Membership
import Replication
import Sodium
import Synchronization
import Transport
import Wire

/// What a node has while it looks for its peers on the networks it is on.
struct Finder {
  /// The port that beacons of every node come to.
  static let port: UInt16 = 7_433

  /// Nil where the port could not be had.
  let sockets: BeaconSockets?
  let trouble: SystemError?
  let keys: BeaconKeyring
  var discovery: Discovery
  var places: [BeaconPlace] = []
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

extension Node {
  // MARK: Beginning

  /// Begins to look for peers and to be found by them.
  func beginDiscovery() {
    let keyring = BeaconKeyring(BeaconKeys(circle: circle.id, transport: identity.transport))
    let executor = executor
    var sockets: BeaconSockets?
    var trouble: SystemError?
    do throws(SystemError) {
      sockets = try BeaconSockets(port: Finder.port) { [weak self, keyring] datagram, source in
        guard let (device, beacon) = keyring.open(datagram) else { return }
        executor.async { self?.assumeIsolated { $0.heard(beacon, of: device, from: source) } }
      }
    } catch {
      trouble = error
      log.warning("network", "other devices can't be found on this network: \(error)")
    }
    network?.finder = Finder(
      sockets: sockets, trouble: trouble, keys: keyring,
      discovery: Discovery(seed: randomSeed(), times: remembered.beacons))
    sockets?.start()
    membersMayHaveChanged()
  }

  /// Beacons are for members, and of members, alone.
  func membersMayHaveChanged() {
    guard let finder = network?.finder else { return }
    let evaluation = circle.evaluation
    let others = member == nil ? [] : evaluation.members.values.filter { $0.device != identity.device }
    finder.keys.update(others.map { ($0.device, $0.transport) })
    network?.finder?.discovery.forget { !evaluation.isMember($0) }
    network?.finder?.clocks = finder.clocks.filter { evaluation.isMember($0.key) }
    lookForPeersSoon()
  }

  /// Somebody is missing, or may be.
  func lookForPeersSoon() {
    network?.finder?.discovery.begin(now: steady)
    scheduleBeacons()
  }

  // MARK: The interfaces

  /// Looks what this machine's addresses are, now and every few seconds.
  func watchInterfaces() {
    guard let serving = network, transport.hasInterfaces else { return }
    // Without an answer of the system what was true before is true: to take it for none would end all connections.
    let interfaces = transport.interfaces ?? serving.interfaces
    if interfaces != serving.interfaces {
      network?.interfaces = interfaces
      network?.lastingAddresses = nil
      network?.leaveLostAddresses()
      if network?.moveBeacons() == true { lookForPeersSoon() }
    } else if serving.lastingAddresses == nil {
      network?.lastingAddresses = serving.isCutOff ? [] : serving.reachableAddresses
    }
    // Only what has stayed for a while is told: a plug that is loose would write a statement each time.
    if member != nil, let lasting = network?.lastingAddresses, !lasting.isEmpty { try? announce(lasting) }
    timers.schedule(.interfaces, after: Limits.interfaceMilliseconds) { [weak self] in
      self?.assumeIsolated { $0.watchInterfaces() }
    }
  }

  // MARK: Sending

  var missingPeers: [DeviceKey] {
    let connected = replica.connectedDevices()
    return circle.evaluation.members.keys.filter { device in
      device != identity.device && !connected.contains(device) && !peering.isPaused(device)
        && !peering.isPenalised(device, now: time)
    }
  }

  private func scheduleBeacons() {
    guard let due = network?.finder?.discovery.nextDue else { return }
    timers.schedule(.beacons, after: due - steady) { [weak self] in
      self?.assumeIsolated { node in
        let missing = node.member == nil ? [] : node.missingPeers
        node.counters.beaconsSent +=
          node.network?.sendBeacons(
            to: missing, by: node.identity.signing, wall: node.wall(), now: node.steady)
          ?? 0
        node.scheduleBeacons()
      }
    }
  }

  // MARK: Hearing

  /// A member says where it can be dialled. That is all a beacon does: who is there, the handshake decides.
  private func heard(_ beacon: Beacon, of device: DeviceKey, from source: SocketAddress) {
    guard let host = source.hostBytes, member != nil, circle.evaluation.isMember(device),
      let verdict = network?.finder?.discovery.judge(
        beacon, of: device, from: host, wall: wall(), now: steady)
    else { return }
    switch verdict {
    case .believed: found(device, at: Endpoint(host: source.host, port: beacon.port).description)
    case .otherTime(let ahead):
      let isNew = network?.finder?.clocks.updateValue(ahead, forKey: device) == nil
      if isNew {
        nodeChanged()
        log.warning(
          "network", "\(name(of: device)) is on this network; \(Reason.clocksDiffer.sentence(peer: "it"))")
      }
    case .elsewhere, .repeated, .tooMany: return
    }
  }

  private func found(_ device: DeviceKey, at address: String) {
    counters.beaconsBelieved += 1
    rememberSoon()
    if network?.finder?.clocks.removeValue(forKey: device) != nil { nodeChanged() }
    guard !peering.isPaused(device) else { return }
    if !peering.isFound(address) {
      log.info("network", "found \(name(of: device)) on this network, at \(address)")
    }
    if let id = replica.session(with: device)?.link {
      // Its other end looks for this device, so it has lost the connection, or its beacon was under way when it was
      // made.
      handle(.timer(.beat(id)))
      timers.after(milliseconds: Limits.lostMilliseconds) { [weak self] in
        self?.assumeIsolated { node in
          guard let link = node.network?.links[id]?.link, link.quietMilliseconds >= Limits.lostMilliseconds
          else { return }
          node.log.debug("network", "gave up a connection that its other end has lost")
          link.abandon()
        }
      }
    }
    handle(.addressFound(address, device))
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

extension Network {
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
    guard let finder, finder.sockets != nil else { return 0 }
    let port = listener.address.port
    var sent: UInt64 = 0
    for group in self.finder?.discovery.due(now: now, missing: missing) ?? [] {
      for place in finder.places {
        guard let host = place.host, let time = self.finder?.discovery.stamp(wall: wall) else { continue }
        let beacon = Beacon(time: time, host: host, port: port)
        if BeaconSockets.send(finder.keys.seal(beacon, to: group, by: signer), from: place) { sent += 1 }
      }
    }
    return sent
  }

  /// Sends beacons from the interfaces that this machine has now; false if they are the same as before.
  mutating func moveBeacons() -> Bool {
    guard let finder, let sockets = finder.sockets else { return false }
    let places = BeaconPlace.all(listening: listener.address, port: Finder.port, of: interfaces)
    guard places != finder.places else { return false }
    sockets.join(places)
    self.finder?.places = places
    return true
  }
}

extension Finder {
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
