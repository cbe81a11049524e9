import Engine
package import Membership
import Replication
import Storage
import Transport
import Wire

extension Node {
  /// With how many of the other devices of the circle there is a session.
  package var company: (connected: Int, others: Int) {
    let others = otherMembers
    return (others.count { replica.session(with: $0) != nil }, others.count)
  }

  /// A peer by unique prefix of its id, or by its name.
  package func peer(named name: String) throws -> Member {
    try deviceNames.peer(named: name, besides: identity.device)
  }

  /// Every member of the circle but this device.
  var otherMembers: [DeviceKey] { circle.evaluation.members.keys.filter { $0 != identity.device } }

  // MARK: Addresses

  /// Keeps an address that the person gave, and dials it.
  func addPeer(_ address: String) throws {
    guard let endpoint = Endpoint(address), endpoint.port > 0 else {
      throw WaymarkError.badValue("address", address, allowed: "it is ADDR:PORT, such as 192.168.1.20:7433")
    }
    let stored = try storedAddresses()
    if !stored.contains(address) {
      try store.setMetaLines(MetaKey.addresses, stored + [address])
    }
    handle(.addressGiven(address))
    handle(.hurried)
  }

  /// Dials whoever is not connected, without waiting for its turn.
  package func hurry() {
    guard replicator.isOpen, network != nil else { return }
    handle(.hurried)
  }

  func storedAddresses() throws -> [String] { try store.metaLines(MetaKey.addresses) }

  /// The addresses that members announce of themselves.
  func learnAddresses() {
    credentials.update(circle)
    guard network != nil else { return }
    let others = otherMembers
    let isLocal = network?.isLocal == true
    let addresses = Dictionary(
      uniqueKeysWithValues: others.map { device in
        (device, circle.addresses(of: device).filter { SocketAddress.mayAnnounce($0, isLocal: isLocal) })
      })
    handle(.circleChanged(announced: addresses))
    membersMayHaveChanged()
  }

  /// Tells the circle where this node listens, if that has changed.
  func announce(_ all: [String]) throws {
    // A machine may have more than a statement names.
    let addresses = Array(all.prefix(Limits.addressesMax))
    guard addresses != circle.addresses(of: identity.device) else { return }
    let body = AddressStatement(
      circle: circle.id, device: identity.device,
      clock: circle.nextAddressClock(of: identity.device, now: UInt64(clamping: wall())),
      addresses: addresses)
    handle(.statementsAdded([try Statement(signing: body, with: identity.signing).bytes]))
  }

  /// In a build made for development, shows peers of the same build that this device is premium. Other builds
  /// know no development issuer and show nothing.
  func showDevelopmentEntitlement() throws {
    guard
      let statement = try circle.developmentEntitlement(
        device: identity.device, local: replica.localPremium),
      circle.statement(statement.id) == nil
    else { return }
    handle(.statementsAdded([statement.bytes]))
  }

  // MARK: Pausing

  func isPaused(_ device: DeviceKey) -> Bool { peering.isPaused(device) }

  /// Stops talking to a peer until it is resumed; what it already has, it keeps.
  func setPaused(_ device: DeviceKey, _ isPaused: Bool) throws {
    var paused = peering.paused
    if isPaused { paused.insert(device) } else { paused.remove(device) }
    try store.setMetaLines(MetaKey.paused, paused.sorted().map(\.description))
    handle(isPaused ? .paused(device) : .resumed(device))
    nodeChanged()
  }
}
