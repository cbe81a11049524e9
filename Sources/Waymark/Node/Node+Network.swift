import Dispatch
import Engine
import Membership
import Replication
import SecureChannel
import Storage
import Transport
import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

extension Node {
  /// - Throws: `WaymarkError` with the code `not_running` unless the node serves.
  package func checkServing() throws {
    try checkOpen()
    guard network != nil else { throw WaymarkError.notServing }
  }

  package var isServing: Bool { network != nil }

  /// Begins to serve: listens, dials the peers it knows, and lets the records lane flow as the gate allows.
  ///
  /// - Parameters:
  ///   - listen: `ADDR:PORT`; port 0 takes any free one.
  ///   - peers: addresses to dial besides those that are known.
  ///   - discovers: whether to look for peers on the networks that this machine is on, and to be found there.
  /// - Returns: the address in use.
  /// - Throws: `WaymarkError` with the code `address_in_use`, `address_not_here`, `serving` if it does already, `closed`.
  @discardableResult
  public func serve(listen: String, peers: [String] = [], discovers: Bool = false) throws -> String {
    try checkOpen()
    guard network == nil else {
      throw WaymarkError.failed(
        .serving, "This node serves already, at \(network?.listening ?? "?").", next: .waymark("status"))
    }
    try checkKeysAdmitted()
    guard let endpoint = Endpoint(listen) else {
      throw WaymarkError.badValue("listen", listen, allowed: "an address and a port, as [::]:7433")
    }
    let listener = try makeListener(endpoint)
    network = Network(listener: listener, startedAt: wall())
    peering = Peering(paused: peering.paused, seed: randomSeed())
    do { try beginServing(listener, peers) } catch {
      stopServing()
      throw error
    }
    logExclusion()
    pruneBackups()
    if discovers { beginDiscovery() }
    watchInterfaces()
    handle(.timer(.dial))
    nodeChanged()
    return listener.address.description
  }

  private func beginServing(_ listener: any NodeListener, _ peers: [String]) throws {
    for address in try store.metaLines(MetaKey.addresses) + peers { handle(.addressGiven(address)) }
    learnAddresses()
    listener.start()
    logGate()
    handle(.started)
    scheduleRest()
    replicator.handle(DiskInput.started(lacksBallast: ballast.isWaitingForRoom), now: time)
    scheduleStoreCheck()
    guard member != nil else { return }
    try announce(network?.reachableAddresses ?? [])
    try showDevelopmentEntitlement()
  }

  private func makeListener(_ endpoint: Endpoint) throws -> any NodeListener {
    let credentials = credentials
    do {
      return try transport.listen(
        on: endpoint,
        roleFor: { address in .responder { credentials.presharedKey(of: $0, from: address) } },
        settings: identity.linkSettings { try Inbound(decoding: $0) }, handlers: handlers(dialled: nil))
    } catch ListenError.addressInUse(let endpoint) {
      throw WaymarkError.failed(
        .addressInUse, "\(endpoint) is in use by another program.",
        next: "\(waymark: "run --listen") with another port; 0 takes any free one")
    } catch ListenError.notHere(let endpoint) {
      throw WaymarkError.failed(
        .addressNotHere, "\(endpoint) is not an address of this machine.",
        next: "\(waymark: "run --listen [::]:7433"), for all of them")
    } catch ListenError.failed(let endpoint, let error) {
      throw WaymarkError.failed(
        .listen, "Can't listen at \(endpoint): \(reason(error.code).lowercased()).",
        next: error.code == EACCES
          ? "\(waymark: "run --listen") with a port of 1024 or more; the lower ones are for administrators"
          : .waymark("run --listen [::]:7433"))
    }
  }

  /// Stops listening and says goodbye to everyone.
  func stopServing() {
    guard let serving = network else { return }
    serving.listener.close()
    serving.finder?.sockets?.close()
    for id in serving.links.keys.sorted() {
      if replica.sessions[id] != nil { send(Message.goodbye(.shuttingDown).encoded, to: id) }
      serving.links[id]?.link.close()
      let device = replica.sessions[id]?.device
      handle(.closed(id))
      PeerInquiry.end(id, to: device, on: self)
    }
    network = nil
    nodeChanged()
  }

  // MARK: Links

  private func handlers(dialled: String?) -> NodeLinkHandlers {
    let executor = executor
    return NodeLinkHandlers(
      opened: { [weak self] link, opening in
        executor.async { self?.assumeIsolated { $0.opened(link, opening, dialled) } }
      },
      received: { [weak self] link in
        // While the node works, the link goes on decoding; where there is little of both, waking another thread would
        // take longer.
        let isLittle = link.inboxBytes <= Limits.promptBytesMax
        if isLittle, executor.now({ self?.assumeIsolated { $0.takeInboxes() } }) { return }
        executor.async { self?.assumeIsolated { $0.takeInboxes() } }
      },
      drained: { [weak self] link in executor.async { self?.assumeIsolated { $0.drained(link) } } },
      closed: { [weak self] link, end in
        executor.async { self?.assumeIsolated { $0.closed(link, end, dialled) } }
      })
  }

  private func opened(_ link: any NodeLink, _ opening: ChannelOpening, _ dialled: String?) {
    guard
      let id = network?.add(
        Network.ActiveLink(
          link: link, dialled: dialled, remoteAddress: link.remoteAddress?.description ?? "?"))
    else { return link.close() }
    switch opening.purpose {
    case .pairing(let ticket):
      handle(.pairing(id))
      pairingOpened(id, opening, ticket)
      link.admit()
    case .session:
      handle(.opened(id, dialled: dialled, remote: opening.remoteKey, introduction: opening.payload))
    }
  }

  /// Everything that links have decoded so far, in one turn: while one transaction runs, the next grows. Of each
  /// link only so much, so that one that sends without end does not keep the others waiting; and more of one that
  /// has sent much, for what many sets write to one page is written once.
  func takeInboxes(endOf ended: (any NodeLink)? = nil) {
    var inputs: [Input] = []
    var isMore = false
    for (id, active) in network?.links.sorted(by: { $0.key < $1.key }) ?? [] {
      // What it has brought is not stored yet: nothing more of it is read until it is.
      guard active.link === ended || !replicator.isWaiting(id) else { continue }
      let taken = active.link.takeInbox(atMost: active.link === ended ? .max : active.turnBytes)
      network?.links[id]?.turnBytes =
        taken.isMore ? min(active.turnBytes * 2, Limits.turnBytesMax) : Limits.turnBytesBegin
      isMore = isMore || taken.isMore
      let isIgnored = peering.ignores(id, replica)
      for message in taken.messages where !isIgnored {
        switch message {
        case .session(let message): inputs.append(.received(id, message))
        case .pairing(let bytes): receivedJoinRequest(id, bytes)
        }
      }
    }
    if !inputs.isEmpty { handle(inputs) }
    if isMore { executor.async { [weak self] in self?.assumeIsolated { $0.takeInboxes() } } }
  }

  private func drained(_ link: any NodeLink) {
    if let id = id(of: link) { handle(.drained(id)) }
  }

  private func closed(_ link: any NodeLink, _ end: LinkEnd, _ dialled: String?) {
    takeInboxes(endOf: link)
    if let id = id(of: link), replicator.isWaiting(id) {
      // Its end comes after all that it has brought.
      return executor.async { [weak self] in self?.assumeIsolated { $0.closed(link, end, dialled) } }
    }
    if let id = id(of: link) {
      let device = replica.sessions[id]?.device
      network?.links[id] = nil
      counters.add(link.byteCounts)
      handle(.ended(id, ConnectionEnd(end)))
      if let device { disconnected(device) }
      handle(.closed(id))
      PeerInquiry.end(id, to: device, on: self)
      log.debug("link", "ended: \(end)")
    } else if let dialled {
      log.debug("link", "\(dialled): \(end)")
      handle(.dialFailed(dialled, DialFailure(end)))
    }
    evaluateWaiters()
  }

  private func disconnected(_ device: DeviceKey) {
    network?.lastSeen[device] = wall()
    rememberSoon()
    lookForPeersSoon()
    log.info("peers", "disconnected from \(name(of: device))")
  }

  private func id(of link: any NodeLink) -> LinkID? {
    network?.links.first { $0.value.link === link }?.key
  }

  // MARK: What effects ask for

  func send(_ message: [UInt8], to id: LinkID) {
    guard let active = network?.links[id] else { return }
    guard message.count <= Limits.messageBytesMax else {
      // Only a circle that a hostile member has filled with statements or incarnations comes to this.
      log.error("peers", "a message of \(message.count) bytes is more than a session carries")
      return active.link.close()
    }
    active.link.send(message)
  }

  func isCongested(_ id: LinkID) -> Bool {
    (network?.links[id]?.link.outboundBytes ?? 0) > Limits.sendBufferBytesMax / 8
  }

  func close(_ id: LinkID, _ cause: CloseCause) {
    guard let active = network?.links[id] else { return }
    let device = replica.sessions[id]?.device
    if let count = counters.refused[cause.word] { counters.refused[cause.word] = count + 1 }
    switch cause {
    case .misbehaved(let what):
      if device == nil { log.warning("peers", "\(active.remoteAddress): \(what)") }
    case .notAMember: log.warning("peers", "\(active.remoteAddress): not a member of this circle")
    case .excluded: log.debug("peers", "\(active.remoteAddress): this device is out of the circle")
    case .revoked, .duplicate, .shuttingDown: break
    }
    handle(.closing(id, cause))
  }

  // MARK: What Peering asks for

  /// Reports an event to `peering`, and carries out what follows from it.
  func handle(_ input: PeeringInput) {
    var effects: [PeeringEffect] = []
    peering.handle(input, replica, now: time, into: &effects)
    guard network != nil else { return }
    for effect in effects { perform(effect) }
  }

  private func perform(_ effect: PeeringEffect) {
    switch effect {
    case .dial(let address): dial(address)
    case .introduce(let link, let remote, let introduction):
      handle(.opened(link, remote: remote, introduction: introduction))
      handle(.introduced(link))
    case .admit(let link): network?.links[link]?.link.admit()
    case .send(let link, let message): send(message.encoded, to: link)
    case .close(let link): network?.links[link]?.link.close()
    case .closeAtOnce(let link): network?.links[link]?.link.closeAtOnce()
    case .schedule(.dial, let wait):
      timers.schedule(.dial, after: wait) { [weak self] in self?.assumeIsolated { $0.handle(.timer(.dial)) } }
    case .schedule(.introduce(let link), let wait):
      timers.after(milliseconds: wait) { [weak self] in
        self?.assumeIsolated { $0.handle(.timer(.introduce(link))) }
      }
    case .report(.penalised(let device, let why)): log.warning("peers", "\(name(of: device)): \(why)")
    }
  }

  private func dial(_ address: String) {
    let credentials = credentials
    guard let endpoint = Endpoint(address),
      let link = try? transport.dial(
        endpoint,
        role: .initiator(.session, presharedKey: nil) { credentials.introduction(to: $0) },
        settings: identity.linkSettings { try Inbound(decoding: $0) }, handlers: handlers(dialled: address))
    else { return handle(.dialFailed(address, .unresolved)) }
    link.start()
  }
}

extension ConnectionEnd {
  fileprivate init(_ end: LinkEnd) {
    switch end {
    case .violation, .invalidMessage: self = .brokeRules
    case .closedByPeer: self = .hungUp
    default: self = .lost
    }
  }
}

extension DialFailure {
  fileprivate init(_ end: LinkEnd) {
    switch end {
    case .refused: self = .refused
    case .timeout: self = .timeout
    case .noRoute: self = .noRoute
    case .unresolved: self = .unresolved
    case .versionMismatch: self = .newerProtocol
    case .notAuthorized, .handshakeFailed: self = .notAMember
    default: self = .other
    }
  }
}
