import Membership
import Replication
import SecureChannel
import Sodium
import Transport
import Wire

extension Connections {
  /// Creates a ticket for one new device.
  ///
  /// - Parameter root: the root key, which signs in place of this device's key; needed if this device is not an admin.
  /// - Throws: `WaymarkError` if this device is not an admin, is not serving, or has too many open tickets.
  func makeTicket(role: Role, lifetime: Moment, root: SigningKey? = nil) throws -> Ticket {
    guard root != nil || member?.role == .admin else {
      throw WaymarkError.failed(
        .notAdmin, "This device is not an admin of the circle and can't invite devices.",
        next: "\(waymark: "members"), then invite on an admin device; or with the root key: --root-key FILE")
    }
    guard let serving else { throw WaymarkError.notServing }
    let ticket = Ticket(
      circle: circle.id, transport: identity.transportKey, addresses: serving.reachableAddresses,
      secret: random16(), expiry: loop.wall + lifetime)
    guard credentials.add(ticket, role: role, signer: root) else {
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
