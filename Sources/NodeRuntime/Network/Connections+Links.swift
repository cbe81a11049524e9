import Engine
import Enrolment
import Membership
package import Replication
import SecureChannel
import Transport
import Wire

extension Connections {
  // MARK: Links

  func handlers(dialled: String?) -> NodeLinkHandlers {
    let (executor, onQueue) = (loop.executor, loop.onQueue)
    return NodeLinkHandlers(
      opened: { link, opening in onQueue { $0.connections.opened(link, opening, dialled) } },
      received: { [entrance = loop.entrance] link in
        // This thread does not wait for a busy node, so that the link can go on decoding. If the node is idle and
        // little has arrived, handling it on this thread is faster than waking another one.
        let isLittle = link.inboxBytes <= Limits.promptBytesMax
        if isLittle, executor.now({ entrance.enter { $0.connections.takeInboxes() } }) { return }
        onQueue { $0.connections.takeInboxes() }
      },
      drained: { link in onQueue { $0.connections.drained(link) } },
      closed: { link, end in onQueue { $0.connections.closed(link, end, dialled) } })
  }

  private func opened(_ link: any NodeLink, _ opening: ChannelOpening, _ dialled: String?) {
    hasBegun(link)
    guard
      let id = serving?.add(
        ServingState.ActiveLink(
          link: link, dialled: dialled, remoteAddress: link.remoteAddress?.description ?? "?"))
    else { return link.close() }
    switch opening.purpose {
    case .pairing(let ticket):
      handle(.pairing(id))
      pairingOpened(id, opening, ticket)
      link.admit()
    case .code(let ticket):
      handle(.pairing(id))
      codeConfirmed(id, ticket)
    case .session:
      handle(.opened(id, dialled: dialled, remote: opening.remoteKey, introduction: opening.payload))
    }
  }

  /// Handles, in one turn, the messages that the links have decoded so far. While the turn's transaction runs, the
  /// links collect the next batch.
  ///
  /// Each link contributes a limited number of bytes, so that a link that never stops sending does not starve the
  /// others. The limit doubles while a link has more to deliver, because many sets in one transaction share page
  /// writes.
  func takeInboxes(endOf ended: (any NodeLink)? = nil) {
    var inputs: [Input] = []
    var isMore = false
    for (id, active) in serving?.links.sorted(by: { $0.key < $1.key }) ?? [] {
      // Backpressure: nothing more is read from a link while sets that it delivered are waiting to be stored.
      guard active.link === ended || !loop.replicator.isWaiting(id) else { continue }
      let taken = active.link.takeInbox(atMost: active.link === ended ? .max : active.turnBytes)
      serving?.links[id]?.turnBytes =
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
    if !inputs.isEmpty { loop.handle(inputs) }
    if isMore { loop.onQueue { $0.connections.takeInboxes() } }
  }

  private func drained(_ link: any NodeLink) {
    if let id = id(of: link) { loop.handle(.drained(id)) }
  }

  private func closed(_ link: any NodeLink, _ end: LinkEnd, _ dialled: String?) {
    takeInboxes(endOf: link)
    if let id = id(of: link), loop.replicator.isWaiting(id) {
      // The sets that the link delivered are stored first.
      return loop.onQueue { $0.connections.closed(link, end, dialled) }
    }
    hasEnded(link)
    if let id = id(of: link) {
      let device = replica.sessions[id]?.device
      serving?.links[id] = nil
      counters.add(link.byteCounts)
      handle(.ended(id, ConnectionEnd(end)))
      if let device { disconnected(device, link: id) }
      loop.handle(.closed(id))
      if let core = loop.core { PeerInquiry.end(id, to: device, on: core) }
      logger.debug("link", "ended: \(end)")
    } else if let dialled {
      logger.debug("link", "\(dialled): \(end)")
      handle(.dialFailed(dialled, DialFailure(end)))
    }
    loop.afterTurn()
  }

  private func disconnected(_ device: DeviceKey, link: LinkID) {
    serving?.lastSeen[device] = loop.wall
    rememberSoon()
    guard
      !replica.sessions.values.contains(where: { $0.device == device && $0.link != link && !$0.isClosing })
    else {
      return logger.debug("peers", "one of two connections to \(name(of: device)) ended")
    }
    lookForPeersSoon()
    logger.info("peers", "disconnected from \(name(of: device))")
  }

  private func id(of link: any NodeLink) -> LinkID? {
    serving?.links.first { $0.value.link === link }?.key
  }

  // MARK: Effects of the replicator

  func send(_ message: [UInt8], to id: LinkID, as sendClass: SendClass = .ordinary) {
    guard let active = serving?.links[id] else { return }
    guard message.count <= Limits.messageBytesMax else {
      // This happens only in a circle that a hostile member has filled with statements or incarnations.
      logger.error("peers", "a message of \(message.count) bytes exceeds the limit of a session")
      return active.link.close()
    }
    active.link.send(message, as: sendClass)
  }

  func isCongested(_ id: LinkID, for sendClass: SendClass) -> Bool {
    serving?.links[id]?.link.isCongested(for: sendClass) ?? false
  }

  func close(_ id: LinkID, _ cause: CloseCause) {
    guard let active = serving?.links[id] else { return }
    let device = replica.sessions[id]?.device
    if let count = counters.refused[cause.word] { counters.refused[cause.word] = count + 1 }
    switch cause {
    case .misbehaved(let what):
      if device == nil { refusedStranger(strangers.refused(active.remoteAddress, what)) }
    case .notAMember:
      refusedStranger(strangers.refused(active.remoteAddress, "not a member of this circle"))
    case .excluded: logger.debug("peers", "\(active.remoteAddress): this device is no longer a member")
    case .revoked, .duplicate, .shuttingDown: break
    }
    handle(.closing(id, cause))
  }

  private func refusedStranger(_ line: String?) {
    guard let line else { return }
    logger.warning("peers", line)
    loop.after(milliseconds: StrangerLog.milliseconds) {
      $0.connections.refusedStranger($0.connections.strangers.minutePassed())
    }
  }

  // MARK: Effects of peering

  /// Passes an event to `peering` and performs the resulting effects.
  package func handle(_ input: PeeringInput) {
    var effects: [PeeringEffect] = []
    peering.handle(input, replica, now: loop.time, into: &effects)
    guard serving != nil else { return }
    for effect in effects { perform(effect) }
  }

  private func perform(_ effect: PeeringEffect) {
    switch effect {
    case .dial(let address): dial(address)
    case .introduce(let link, let remote, let introduction):
      loop.handle(.opened(link, remote: remote, introduction: introduction))
      handle(.introduced(link))
    case .admit(let link): serving?.links[link]?.link.admit()
    case .send(let link, let message): send(message.encoded, to: link)
    case .close(let link): serving?.links[link]?.link.close()
    case .closeAtOnce(let link): serving?.links[link]?.link.closeAtOnce()
    case .schedule(.dial, let wait):
      loop.schedule(.dial, after: wait) { $0.connections.handle(.timer(.dial)) }
    case .schedule(.introduce(let link), let wait):
      loop.after(milliseconds: wait) { $0.connections.handle(.timer(.introduce(link))) }
    case .report(.penalised(let device, let why)): logger.warning("peers", "\(name(of: device)): \(why)")
    }
  }

  private func dial(_ address: String) {
    let credentials = credentials
    guard let endpoint = Endpoint(address),
      let link = try? transport.dial(
        endpoint,
        role: .initiator(credentials.sessionAccess) { credentials.introduction(to: $0) },
        settings: identity.linkSettings { try Inbound(decoding: $0) }, handlers: handlers(dialled: address))
    else { return handle(.dialFailed(address, .unresolved)) }
    hasBegun(link)
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
