import Enrolment
import Home
package import Membership
import Reasons
package import Replication
import SecureChannel
package import Sodium
import Transport
package import Wire

extension Connections {
  /// Creates a ticket for one new device.
  ///
  /// - Parameters:
  ///   - root: the root key, which signs in place of this device's key; needed if this device is not an admin.
  ///   - code: the code by which a joiner gets the ticket. It ends the offer of an earlier code.
  /// - Throws: `WaymarkError` if this device is not an admin, is not serving, or has too many open tickets.
  package func makeTicket(
    role: Role, lifetime: Moment, root: SigningKey? = nil, code: PairingCode? = nil
  ) throws -> Ticket {
    guard root != nil || member?.role == .admin else {
      throw WaymarkError.failed(
        .notAdmin, "This device is not an admin of the circle and can't invite devices.",
        next: "\(waymark: "members"), then invite on an admin device; or with the root key: --root-key FILE")
    }
    guard let serving else { throw WaymarkError.notServing }
    let ticket = Ticket(
      circle: circle.id, transport: identity.transportKey, addresses: serving.reachableAddresses,
      secret: random16(), expiry: loop.wall + lifetime)
    guard credentials.add(ticket, role: role, code: code, signer: root) else {
      throw WaymarkError.failed(
        .tooManyTickets, "Too many tickets are open.",
        next: "wait until some have expired, then \(waymark: "invite")")
    }
    lastJoined = nil
    return ticket
  }

  /// Handles a completed pairing handshake: the joiner has proven that it knows the ticket's secret. The joiner's first
  /// message will identify it.
  func pairingOpened(_ id: LinkID, _ opening: ChannelOpening, _ ticket: TicketID) {
    credentials.pairingSucceeded(from: serving?.links[id]?.link.remoteAddress)
    serving?.links[id]?.pairing = Pairing(
      ticket: ticket, handshakeHash: opening.handshakeHash, remote: opening.remoteKey)
  }

  /// Handles a joiner that has proven that it knows a ticket's code: sends the ticket, with which the joiner then dials
  /// again.
  func codeConfirmed(_ id: LinkID, _ ticket: TicketID) {
    guard let link = serving?.links[id]?.link else { return }
    if let ticket = credentials.deliver(ticket) { link.send(Array(ticket.line.utf8), as: .ordinary) }
    link.close()
  }

  /// Announces the code of a ticket on this machine's networks, also if discovery is off, because a person asked for
  /// it. The announcements end with the offer.
  package func announceCode(of ticket: TicketID) throws {
    serving?.announced = ServingState.AnnouncedCode(ticket: ticket, key: try SigningKey())
    sendCodeAnnouncements()
  }

  /// Continues to announce the code that was announced before the node was suspended.
  func resumeAnnouncing(_ announced: ServingState.AnnouncedCode?) {
    guard let announced else { return }
    serving?.announced = announced
    sendCodeAnnouncements()
  }

  private func sendCodeAnnouncements() {
    guard let serving, let announced = serving.announced else { return }
    guard credentials.offered == announced.ticket else { return watchLastTry(announced.ticket) }
    if transport.hasInterfaces, let interfaces = transport.interfaces {
      serving.announce(announced.key, as: member?.name ?? "device", on: interfaces)
    }
    scheduleCodeAnnouncement()
  }

  /// Waits until the last try of an offer is decided, because a command may wait for the end of the offer.
  private func watchLastTry(_ ticket: TicketID) {
    let isPending = credentials.invitations.contains { $0.id == ticket }
    if credentials.isOver(ticket) {
      logger.warning("circle", "a code was tried too often; its offer has ended")
    }
    if isPending { scheduleCodeAnnouncement() } else { serving?.announced = nil }
    loop.afterTurn()
  }

  private func scheduleCodeAnnouncement() {
    loop.schedule(.codeAnnouncement, after: Limits.codeAnnouncementMilliseconds) {
      $0.connections.sendCodeAnnouncements()
    }
  }

  func receivedJoinRequest(_ id: LinkID, _ bytes: [UInt8]) {
    guard let active = serving?.links[id], let pairing = active.pairing else {
      return close(id, .misbehaved("a join request outside of pairing"))
    }
    let answer = PairingAnswer(to: bytes, pairing, circle, credentials, now: loop.wall)
    if let certificate = answer.certificate { loop.handle(.statementsAdded([certificate.bytes])) }
    if let joiner = answer.joiner {
      logger.info("circle", "\(name(of: joiner)) joined")
      lastJoined = joiner
    }
    active.link.send(answer.reply.encoded, as: .ordinary)
    active.link.close()
  }
}

extension ServingState {
  /// A code that this node announces, and the key that signs its announcements.
  struct AnnouncedCode {
    let ticket: TicketID
    let key: SigningKey
  }

  fileprivate func announce(_ key: SigningKey, as name: String, on interfaces: [NetworkInterface]) {
    for place in BeaconInterface.all(
      listening: listener.address, port: BeaconSchedule.port, of: interfaces)
    {
      guard let host = place.host else { continue }
      let datagram = CodeAnnouncement.sealed(host: host, port: listener.address.port, name: name, by: key)
      BeaconSockets.send(datagram, from: place)
    }
  }
}
