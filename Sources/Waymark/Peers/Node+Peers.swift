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

  /// Dials whoever is not connected, without waiting for its turn.
  package func hurry() {
    guard replicator.isOpen, network != nil else { return }
    handle(.hurried)
  }

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

  // MARK: What is known of peers after a restart

  /// Keeps soon what peers are known to hold: once for a burst.
  func rememberSoon() {
    guard !remembered.isDue else { return }
    remembered.isDue = true
    timers.after(milliseconds: PeerMemory.burstMilliseconds) { [weak self] in
      self?.assumeIsolated { $0.remember() }
    }
  }

  /// Keeps what peers are known to hold, as far as it is news. After a crash less is known than was: that claims too
  /// little, never too much.
  func remember() {
    remembered.isDue = false
    guard replicator.isOpen, broken == nil, !replicator.disk.isFull else { return }
    let before = remembered
    do {
      try store.atOnce {
        let members = circle.evaluation.members.keys
        try remembered.keep(replica, members, in: store)
        if network != nil {
          try remembered.keep(seen: peerInspection(wall()).seen(among: members), in: store)
        }
        if let times = network?.finder?.discovery.times { try remembered.keep(beacons: times, in: store) }
        if remembered.seenSets.isNews { try remembered.seenSets.save(to: store) }
      }
    } catch {
      remembered = before
      replicator.storeFailed(error)
    }
  }
}
