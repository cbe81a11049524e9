import Engine
import Platform
import Membership
import Replication
import Storage
import Transport
public import Wire

extension Node {
  /// Returns the other devices of the circle, connected or not, sorted by name.
  public func peers() throws -> [Peer] { try readOnQueue(.peers) }

  /// Adds an address to dial, in addition to those that devices announce to each other.
  ///
  /// - Parameter address: `ADDR:PORT`, such as `192.168.1.20:7433`.
  /// - Throws: `WaymarkError` with the code `bad_value` if the address is invalid.
  public func addPeer(at address: String) throws {
    try core.withWaymarkErrors {
      if let obstacle = SocketAddress.obstacle(toDialling: address) {
        throw WaymarkError.badValue("address", address, allowed: .init(word: obstacle))
      }
      let stored = try core.store.metaLines(MetaKey.addresses)
      if !stored.contains(address) {
        try core.store.setMetaLines(MetaKey.addresses, stored + [address])
      }
      core.connections.handle(.addressGiven(address))
      core.connections.handle(.hurried)
    }
  }

  /// Removes an address that was added with ``addPeer(at:)``. A connection to it stays open.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if the address was not added.
  public func removePeer(at address: String) throws {
    try core.withWaymarkErrors {
      let stored = try core.store.metaLines(MetaKey.addresses)
      guard stored.contains(address) else {
        throw WaymarkError.notFound("added address", address, next: .waymark("peers"))
      }
      try core.store.setMetaLines(MetaKey.addresses, stored.filter { $0 != address })
      core.connections.handle(.addressRemoved(address))
      // The address may also be one that a member announces.
      core.connections.learnAddresses()
      core.loop.nodeChanged()
    }
  }

  /// Stops syncing with a peer until it is resumed. The peer keeps what it already has.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if there is no such peer.
  public func pause(_ peer: DeviceKey) throws { try setPaused(peer, true) }

  /// Resumes syncing with a paused peer, at once.
  public func resume(_ peer: DeviceKey) throws { try setPaused(peer, false) }

  private func setPaused(_ peer: DeviceKey, _ isPaused: Bool) throws {
    try core.withWaymarkErrors {
      let device = try core.peer(named: peer.description).device
      var paused = core.connections.peering.paused
      if isPaused { paused.insert(device) } else { paused.remove(device) }
      try core.store.setMetaLines(MetaKey.paused, paused.sorted().map(\.description))
      core.connections.handle(isPaused ? .paused(device) : .resumed(device))
      core.loop.nodeChanged()
    }
  }

  /// Renames a peer on this device only.
  ///
  /// - Parameters:
  ///   - peer: another device of the circle.
  ///   - name: the new name; nil for the name that the peer has in the circle.
  /// - Throws: `WaymarkError` with the code `bad_value` if the name is invalid.
  public func rename(_ peer: DeviceKey, to name: String?) throws {
    try core.withWaymarkErrors {
      let peer = try core.peer(named: peer.description)
      let new = try core.connections.names.checked(name ?? "", for: peer)
      try core.maintenance.checkDisk()
      try core.maintenance.withRoom {
        try core.connections.remembered.keep(name: new, of: peer.device, in: core.store)
      }
      // The history, conflicts and the trash name devices too.
      core.loop.watching.changedEverything()
      core.loop.nodeChanged()
    }
  }

  /// The number of connected peers, and the number of all other devices of the circle.
  package var company: (connected: Int, others: Int) { core.company }

}
