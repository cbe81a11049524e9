import Engine
import Foundation
package import Membership
import Replication
import Storage
import Transport
public import Wire

extension Node {
  /// Returns the other devices of the circle, connected or not, sorted by name.
  public func peers() throws -> [Peer] { try read(.peers) }

  /// Adds an address to dial, in addition to those that devices announce to each other.
  ///
  /// - Parameter address: `ADDR:PORT`, such as `192.168.1.20:7433`.
  /// - Throws: `WaymarkError` with the code `bad_value` if the address is invalid.
  public func addPeer(at address: String) throws {
    try withWaymarkErrors {
      if let obstacle = SocketAddress.obstacle(toDialling: address) {
        throw WaymarkError.badValue("address", address, allowed: obstacle)
      }
      let stored = try store.metaLines(MetaKey.addresses)
      if !stored.contains(address) {
        try store.setMetaLines(MetaKey.addresses, stored + [address])
      }
      connections.handle(.addressGiven(address))
      connections.handle(.hurried)
    }
  }

  /// Removes an address that was added with ``addPeer(at:)``. A connection to it stays open.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if the address was not added.
  public func removePeer(at address: String) throws {
    try withWaymarkErrors {
      let stored = try store.metaLines(MetaKey.addresses)
      guard stored.contains(address) else {
        throw WaymarkError.notFound("added address", address, next: .waymark("peers"))
      }
      try store.setMetaLines(MetaKey.addresses, stored.filter { $0 != address })
      connections.handle(.addressRemoved(address))
      // The address may also be one that a member announces.
      connections.learnAddresses()
      loop.nodeChanged()
    }
  }

  /// Stops syncing with a peer until it is resumed. The peer keeps what it already has.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if there is no such peer.
  public func pause(_ peer: DeviceKey) throws { try setPaused(peer, true) }

  /// Resumes syncing with a paused peer, at once.
  public func resume(_ peer: DeviceKey) throws { try setPaused(peer, false) }

  private func setPaused(_ peer: DeviceKey, _ isPaused: Bool) throws {
    try withWaymarkErrors {
      let device = try self.peer(named: peer.description).device
      var paused = connections.peering.paused
      if isPaused { paused.insert(device) } else { paused.remove(device) }
      try store.setMetaLines(MetaKey.paused, paused.sorted().map(\.description))
      connections.handle(isPaused ? .paused(device) : .resumed(device))
      loop.nodeChanged()
    }
  }

  /// Renames a peer on this device only.
  ///
  /// - Parameters:
  ///   - peer: another device of the circle.
  ///   - name: the new name; nil for the name that the peer has in the circle.
  /// - Throws: `WaymarkError` with the code `bad_value` if the name is invalid.
  public func rename(_ peer: DeviceKey, to name: String?) throws {
    try withWaymarkErrors {
      let peer = try self.peer(named: peer.description)
      let new = try connections.names.checked(name ?? "", for: peer)
      try maintenance.checkDisk()
      try maintenance.withRoom { try connections.remembered.keep(name: new, of: peer.device, in: store) }
      loop.nodeChanged()
    }
  }

  /// Measures the round-trip time to a connected peer, several times.
  ///
  /// - Parameters:
  ///   - peer: another device of the circle.
  ///   - count: the number of measurements, 1 to 20.
  /// - Throws: `WaymarkError` whose code names the obstacle, such as `offline` or `no_answer`.
  public func ping(_ peer: DeviceKey, count: Int = 3) async throws -> Peer.Ping {
    try checkServing()
    var trips: [Duration] = []
    for _ in 0..<min(max(count, 1), 20) {
      trips.append(try await PeerInquiry(peer: peer).roundTrip(on: self))
    }
    return Peer.Ping(
      device: peer, name: name(of: peer), address: connections.serving?.lastAddress[peer], roundTrips: trips)
  }

  /// The number of connected peers, and the number of all other devices of the circle.
  package var company: (connected: Int, others: Int) {
    let others = connections.others
    return (others.count { replica.session(with: $0) != nil }, others.count)
  }

  /// Finds a peer by a unique prefix of its id, or by its name.
  package func peer(named name: String) throws -> Member {
    try connections.names.peer(named: name, besides: identity.device)
  }

  // MARK: Explanations

  /// Explains why a peer is not in sync, with the root causes.
  ///
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func explanation(ofPeer device: DeviceKey) throws -> PeerExplanation {
    try withWaymarkErrors {
      let status = try inspection().status()
      guard let peer = status.peers.first(where: { $0.device == device }) else {
        throw WaymarkError.notFound("peer", device.description, next: .waymark("peers"))
      }
      let own = status.causes.filter { $0.peer?.device == device }
      let others = status.causes.filter { $0.peer == nil && $0.reason == peer.consequenceOf }
      return PeerExplanation(
        peer: peer, causes: own + others, holds: status.replicationRisk.devices.first { $0.device == device })
    }
  }

  /// Finds the peer or the record with the given name.
  ///
  /// - Throws: `WaymarkError` with the code `not_found`, or `ambiguous` if both a peer and a record match.
  package func explainedSubject(_ subject: String) throws -> ExplainedSubject {
    let peers = connections.names.peers(matching: subject, besides: identity.device)
    let records = (try? names.anyRecordLabels(subject)) ?? []
    if peers.isEmpty, records.isEmpty {
      if [name(of: identity.device), identity.device.description].contains(subject) {
        throw WaymarkError.usage(
          "“\(shortened(subject))” is this device; `why` explains another device or a record.",
          next: .waymark("status"))
      }
      throw WaymarkError.notFound(
        "peer or record", subject, next: "\(waymark: "peers"), or \(waymark: "history")")
    }
    if !peers.isEmpty, !records.isEmpty {
      throw WaymarkError.ambiguous(
        "thing", subject,
        peers.map { "peer \(name(of: $0.device))  \($0.device)" } + NameResolver.shown(records))
    }
    return peers.isEmpty ? .record(subject) : .peer(try peer(named: subject))
  }
}
