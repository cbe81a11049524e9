import Membership
import Replication
import SecureChannel
import Sodium
import Transport
import Wire

extension Node {
  /// Makes a ticket that one new device can join with.
  ///
  /// - Parameter root: signs in place of this device, which then need not be an admin.
  /// - Throws: `WaymarkError` if this device is no admin, serves nowhere, or has too many tickets open.
  func makeTicket(role: Role, lifetime: Moment, root: SigningKey? = nil) throws -> Ticket {
    try checkAdmitted()
    guard root != nil || member?.role == .admin else {
      throw WaymarkError.failed(
        .notAdmin, "This device is no admin of the circle and can't invite.",
        next: "\(waymark: "members"), then invite on an admin device; or with the root key: --root-key FILE")
    }
    guard let network else { throw WaymarkError.notServing }
    let ticket = Ticket(
      circle: circle.id, transport: identity.transportKey, addresses: network.reachableAddresses,
      secret: random16(), expiry: wall() + lifetime)
    guard credentials.add(ticket, role: role, signer: root) else {
      throw WaymarkError.failed(
        .tooManyTickets, "Too many tickets are open.",
        next: "wait until some have expired, then \(waymark: "invite")")
    }
    lastJoined = nil
    return ticket
  }

  /// A handshake for pairing is done: the joiner holds the secret. Who it is, its first message says.
  func pairingOpened(_ id: LinkID, _ opening: ChannelOpening, _ ticket: TicketID) {
    credentials.pairingSucceeded(from: network?.links[id]?.link.remoteAddress)
    network?.links[id]?.pairing = Network.Pairing(
      ticket: ticket, handshakeHash: opening.handshakeHash, remote: opening.remoteKey)
  }

  func receivedJoinRequest(_ id: LinkID, _ bytes: [UInt8]) {
    guard let active = network?.links[id], let pairing = active.pairing else {
      return close(id, .misbehaved("a join request outside of pairing"))
    }
    let answer = PairingAnswer(to: bytes, pairing, circle, credentials, now: wall())
    if let certificate = answer.certificate { handle(.statementsAdded([certificate.bytes])) }
    if let joiner = answer.joiner {
      log.info("circle", "\(name(of: joiner)) joined")
      lastJoined = joiner
    }
    active.link.send(answer.reply.encoded)
    active.link.close()
  }

  /// Waits until a joiner has completed since the last ticket was made; nil if none does within the time.
  func waitForJoiner(milliseconds: Int64) async throws -> DeviceKey? {
    _ = try await wait(milliseconds: milliseconds) { $0.lastJoined != nil }
    return lastJoined
  }
}

/// What the inviting side answers a join request.
struct PairingAnswer {
  let reply: JoinReply
  /// Admits the joiner; nil if that was refused, or it is a member already.
  private(set) var certificate: Statement?
  /// The device that has joined with its ticket.
  private(set) var joiner: DeviceKey?

  init(
    to bytes: [UInt8], _ pairing: Network.Pairing, _ circle: Circle, _ credentials: Credentials, now: Moment
  ) {
    guard let request = try? JoinRequest(bytes),
      request.isProven(handshakeHash: pairing.handshakeHash.bytes, authenticated: pairing.remote)
    else {
      reply = .refused(.badProof)
      return
    }
    do {
      let role = try credentials.role(of: pairing.ticket, for: request.device)
      let signer = credentials.signer(of: pairing.ticket)
      (reply, certificate) = try circle.welcome(request, role: role, by: signer, at: now)
      if certificate != nil { credentials.spend(pairing.ticket, on: request.device) }
      // A member that only asks whether it is one leaves the ticket to the device that it is meant for.
      if case .accepted = reply, credentials.isSpent(pairing.ticket, on: request.device) {
        joiner = request.device
      }
    } catch TicketLedger.Refusal.spent {
      reply = .refused(.ticketSpent)
    } catch TicketLedger.Refusal.expired {
      reply = .refused(.ticketExpired)
    } catch {
      reply = .refused(.other)
    }
  }
}

extension WaymarkError {
  static let notServing = WaymarkError(
    exitCode: ExitCode.notRunning, code: .notRunning, message: "The node does not run.",
    next: .waymark("run"))
}
