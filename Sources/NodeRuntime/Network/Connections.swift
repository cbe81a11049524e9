package import Engine
package import Enrolment
import Home
package import Membership
import Platform
import Reasons
package import Replication
import SecureChannel
import Storage
package import Transport
package import Wire

/// The connections of a node to the other devices of its circle.
///
/// Listens and dials as `Peering` decides, passes messages between links and the replicator, admits joining devices,
/// and discovers peers on the local network. It lives as long as the node; `serving` is set only between `serve` and
/// `stop`.
package final class Connections {
  let loop: EventLoop
  let maintenance: StoreMaintenance
  let identity: Identity
  /// The pending admission of a restored device; nil once the circle has admitted the device's keys.
  private(set) var waiting: AwaitedAdmission?
  let transport: any NodeTransport
  let logger: NodeLog
  package let credentials: Credentials
  package var peering: Peering
  package var serving: ServingState?
  var questions = Questions()
  package var remembered: PeerHistory
  var counters = Counters()
  var strangers = StrangerLog()
  /// The links that have not ended, by identity: also those that are being dialled, and those that are closing.
  private var liveLinks: [ObjectIdentifier: any NodeLink] = [:]
  /// The number of listening sockets and sockets for beacons that are closing.
  private var closingSockets = 0
  /// The last device that has joined with a ticket of this node since the last invitation; nil if none has.
  package var lastJoined: DeviceKey?

  init(
    _ loop: EventLoop, _ maintenance: StoreMaintenance, identity: Identity, waiting: AwaitedAdmission?,
    transport: any NodeTransport, log: NodeLog, paused: Set<DeviceKey>, remembered: PeerHistory
  ) throws {
    self.loop = loop
    self.maintenance = maintenance
    self.identity = identity
    self.waiting = waiting
    self.transport = transport
    self.logger = log
    self.remembered = remembered
    credentials = try Credentials(identity: identity, circle: loop.circle, clock: loop.clock)
    peering = Peering(paused: paused, seed: randomSeed())
  }

  var store: Store { loop.store }

  var replica: Replica { loop.replica }

  var circle: Circle { loop.circle }

  // MARK: Serving

  /// Starts listening, dialling, discovery and store maintenance.
  ///
  /// - Returns: the address at which the node listens.
  package func serve(at endpoint: Endpoint, peers: [String], discovers: Bool) throws -> String {
    for address in peers {
      guard let obstacle = SocketAddress.obstacle(toDialling: address) else { continue }
      throw WaymarkError.badValue("the address of a peer", address, allowed: .init(word: obstacle))
    }
    return try serve(
      ServingState.Request(endpoint: endpoint, peers: peers, discovers: discovers),
      through: try makeListener(endpoint))
  }

  /// Serves as before a suspension, at the same port if it is still free, because peers know it.
  func serve(as former: FormerServing) throws {
    let listener: any NodeListener
    do { listener = try makeListener(former.address) } catch let error as WaymarkError {
      guard former.request.endpoint != former.address else { throw error }
      listener = try makeListener(former.request.endpoint)
    }
    _ = try serve(former.request, through: listener)
    resumeAnnouncing(former.announced)
  }

  private func serve(
    _ request: ServingState.Request, through listener: any NodeListener
  ) throws -> String {
    serving = ServingState(request, listener: listener, startedAt: loop.wall)
    peering = Peering(paused: peering.paused, seed: randomSeed())
    do { try begin(listener, request.peers) } catch {
      stop()
      throw error
    }
    logExclusion()
    if request.discovers { beginDiscovery() }
    watchInterfaces()
    handle(.timer(.dial))
    loop.nodeChanged()
    return listener.address.description
  }

  private func begin(_ listener: any NodeListener, _ peers: [String]) throws {
    for address in try store.metaLines(MetaKey.addresses) + peers { handle(.addressGiven(address)) }
    learnAddresses()
    completeDepartures()
    listener.start()
    logger.gate(replica.ownGate(now: loop.wall))
    loop.handle(.started)
    maintenance.start()
    guard member != nil else { return }
    try announce(serving?.reachableAddresses ?? [])
    try showDevelopmentEntitlement()
  }

  private func makeListener(_ endpoint: Endpoint) throws -> any NodeListener {
    let credentials = credentials
    do {
      return try transport.listen(
        on: endpoint,
        roleFor: { address in .responder { credentials.access(by: $0, from: address) } },
        settings: identity.linkSettings { try Inbound(decoding: $0) }, handlers: handlers(dialled: nil))
    } catch ListenError.addressInUse(let endpoint) {
      throw WaymarkError.failed(
        .addressInUse, "\(endpoint) is in use by another program.",
        next: "\(waymark: "run --listen") with another port; 0 takes any free one")
    } catch ListenError.notHere(let endpoint) {
      throw WaymarkError.failed(
        .addressNotHere, "\(endpoint) is not an address of this machine.",
        next: "\(waymark: "run --listen [::]:7433"), to listen on all of its addresses")
    } catch ListenError.failed(let endpoint, let error) {
      throw WaymarkError.failed(
        .listen, "Can't listen at \(endpoint): \(systemReason(error.code).lowercased()).",
        next: error.code == EACCES
          ? "\(waymark: "run --listen") with a port of 1024 or more; lower ports need administrator rights"
          : .waymark("run --listen [::]:7433"))
    }
  }

  /// Stops listening, and closes all sessions with a goodbye.
  func stop() {
    guard let serving else { return }
    closeSocket(serving.listener.close)
    for carrier in serving.beacons?.carriers ?? [] { closeSocket(carrier.close) }
    for id in serving.links.keys.sorted() {
      if replica.sessions[id] != nil { send(Message.goodbye(.shuttingDown).encoded, to: id) }
      serving.links[id]?.link.close()
      let device = replica.sessions[id]?.device
      loop.handle(.closed(id))
      if let core = loop.core { PeerInquiry.end(id, to: device, on: core) }
    }
    self.serving = nil
    loop.nodeChanged()
  }

  private func closeSocket(_ close: (@escaping @Sendable () -> Void) -> Void) {
    closingSockets += 1
    close { [onQueue = loop.onQueue] in onQueue { $0.connections.closingSockets -= 1 } }
  }

  // MARK: Suspending

  /// Notes that a link exists, until `hasEnded` is called.
  func hasBegun(_ link: any NodeLink) { liveLinks[ObjectIdentifier(link)] = link }

  func hasEnded(_ link: any NodeLink) { liveLinks[ObjectIdentifier(link)] = nil }

  /// Whether all sockets are closed, except those of devices that connect and have not been identified.
  var isQuiet: Bool { liveLinks.isEmpty && closingSockets == 0 }

  /// Ends all links at once, without waiting until they have sent what is queued.
  func abandonLinks() {
    for link in liveLinks.values { link.abandon() }
  }

  /// Stops serving, and says how to serve again; nil if the node does not serve.
  func suspend() -> FormerServing? {
    let former = serving.map {
      FormerServing(
        request: $0.request,
        address: Endpoint(host: $0.request.endpoint.host, port: $0.listener.address.port),
        announced: $0.announced)
    }
    let open = Set(serving?.links.values.map { ObjectIdentifier($0.link) } ?? [])
    stop()
    // Open links send a goodbye. Links that are still being dialled have no peer yet.
    for (id, link) in liveLinks where !open.contains(id) { link.abandon() }
    return former
  }

  /// Takes over the state of a store that was opened again.
  ///
  /// The questions stay: they have all ended, and the numbers of new ones must differ from theirs, because the timers of
  /// old ones are still running.
  func reopen(_ stored: StoredState, waiting: AwaitedAdmission?, _ remembered: PeerHistory) {
    self.waiting = waiting
    self.remembered = remembered
    peering = Peering(paused: stored.pausedPeers, seed: randomSeed())
    credentials.update(circle)
  }

  // MARK: The circle

  /// This device's membership; nil if it is not a member.
  package var member: Member? { circle.evaluation.members[identity.device] }

  /// Every member of the circle except this device.
  package var others: [DeviceKey] { circle.evaluation.members.keys.filter { $0 != identity.device } }

  package var names: DeviceNames { DeviceNames(given: remembered.names, circle: circle) }

  package func name(of device: DeviceKey) -> String { names.name(of: device) }

  package var revocationStatus: RevocationStatus {
    RevocationStatus(
      circle: circle, device: identity.device, isWaiting: waiting != nil,
      heard: replica.acknowledgedRevocations, names: names)
  }

  /// The notice that says why this device is not a member; nil for a member, and while the device's keys wait to be
  /// admitted.
  package var exclusion: NodeStatus.Notice? { member == nil ? revocationStatus.exclusion : nil }

  /// Revokes the members that have asked to leave, if this device is an admin.
  ///
  /// A member that is not an admin can't end its own membership: it signs a revocation of itself, which does not count,
  /// and the first admin that receives it signs one that does.
  func completeDepartures() {
    guard serving != nil, member?.role == .admin else { return }
    for (device, request) in circle.evaluation.leaving.sorted(by: { $0.key < $1.key }) {
      let tips = Lane.allCases.flatMap { store.heads($0) }.filter { $0.log.device == device }
      let held = KeptLog.logs(endingAt: tips.map { ($0.log, $0.sequence, $0.id) }).logs
      guard
        let statement = try? circle.completion(of: request, held: held, by: identity.signing, at: loop.wall)
      else { continue }
      logger.info("circle", "\(name(of: device)) left the circle")
      loop.handle(.statementsAdded([statement.bytes]))
    }
  }

  func logExclusion() {
    guard serving != nil, let exclusion else { return }
    logger.error("circle", "\(exclusion.text)")
  }

  /// Updates peering with the addresses that members announce.
  package func learnAddresses() {
    credentials.update(circle)
    guard let serving else { return }
    let isLocal = serving.isLocal
    let addresses = Dictionary(
      uniqueKeysWithValues: others.map { device in
        (device, circle.addresses(of: device).filter { SocketAddress.mayAnnounce($0, isLocal: isLocal) })
      })
    handle(.circleChanged(announced: addresses))
    membersMayHaveChanged()
  }

  /// Announces this node's addresses to the circle, if they have changed.
  func announce(_ all: [String]) throws {
    // A machine may have more addresses than fit in a statement.
    let addresses = Array(all.prefix(Limits.addressesMax))
    guard addresses != circle.addresses(of: identity.device) else { return }
    let body = AddressStatement(
      circle: circle.id, device: identity.device,
      clock: circle.nextAddressClock(of: identity.device, now: UInt64(clamping: loop.wall)),
      addresses: addresses)
    loop.handle(.statementsAdded([try Statement(signing: body, with: identity.signing).bytes]))
  }

  /// In development builds, proves this device's premium to peers of the same build. Other builds have no development
  /// issuer and do nothing.
  private func showDevelopmentEntitlement() throws {
    guard
      let statement = try circle.developmentEntitlement(
        device: identity.device, local: replica.localPremium),
      circle.statement(statement.id) == nil
    else { return }
    loop.handle(.statementsAdded([statement.bytes]))
  }

  // MARK: Remembering peers

  /// Schedules a save of what peers are known to hold, so that a burst of changes is saved once.
  func rememberSoon() {
    guard !remembered.isDue else { return }
    remembered.isDue = true
    loop.after(milliseconds: PeerHistory.burstMilliseconds) { $0.connections.remember() }
  }

  /// Saves the changes to what peers are known to hold. After a crash, the store may contain less than the node knew,
  /// which is safe, but never more.
  func remember() {
    remembered.isDue = false
    guard loop.replicator.isOpen, loop.replicator.disk.canStore else { return }
    let before = remembered
    do {
      try store.atOnce {
        let members = circle.evaluation.members.keys
        try remembered.keep(replica, members, in: store)
        if serving != nil { try remembered.keep(contacts: inspection.seen(among: members), in: store) }
        if let times = serving?.beacons?.discovery.times { try remembered.keep(beacons: times, in: store) }
        if remembered.syncedSets.isNews { try remembered.syncedSets.save(to: store) }
      }
    } catch {
      remembered = before
      loop.replicator.storeFailed(error)
    }
  }

  /// The states of the other members at this moment.
  var inspection: PeerInspection { PeerInspection(self, now: loop.time) }
}

/// How a node served before it was suspended.
struct FormerServing {
  let request: ServingState.Request
  /// Where the node was asked to listen, with the port that it got.
  let address: Endpoint
  /// The code that the node announced; nil if there was none.
  let announced: ServingState.AnnouncedCode?
}
