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
        "not_admin", "This device is no admin of the circle and can't invite.",
        next: "waymark members, then invite on an admin device; or with the root key: --root-key FILE")
    }
    guard let network else { throw WaymarkError.notServing }
    let ticket = Ticket(
      circle: circle.id, transport: identity.transportKey, addresses: network.reachableAddresses,
      secret: random16(), expiry: wall() + lifetime)
    guard credentials.add(ticket, role: role, signer: root) else {
      throw WaymarkError.failed(
        "too_many_tickets", "Too many tickets are open.",
        next: "wait until some have expired, then waymark invite")
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
    active.link.send(reply(to: bytes, pairing).encoded)
    active.link.close()
  }

  private func reply(to bytes: [UInt8], _ pairing: Network.Pairing) -> JoinReply {
    guard let request = try? JoinRequest(bytes),
      request.isProven(handshakeHash: pairing.handshakeHash.bytes, authenticated: pairing.remote)
    else { return .refused(.badProof) }
    do {
      let role = try credentials.role(of: pairing.ticket, for: request.device)
      let signer = credentials.signer(of: pairing.ticket)
      let (reply, certificate) = try circle.welcome(request, role: role, by: signer, at: wall())
      if let certificate {
        credentials.spend(pairing.ticket, on: request.device)
        handle(.statementsAdded([certificate.bytes]))
      }
      // A member that only asks whether it is one leaves the ticket to the device that it is meant for.
      if case .accepted = reply, credentials.isSpent(pairing.ticket, on: request.device) { joined(request) }
      return reply
    } catch TicketLedger.Refusal.spent {
      return .refused(.ticketSpent)
    } catch TicketLedger.Refusal.expired {
      return .refused(.ticketExpired)
    } catch {
      return .refused(.other)
    }
  }

  private func joined(_ request: JoinRequest) {
    log.info("circle", "\(name(of: request.device)) joined")
    lastJoined = request.device
  }

  /// Waits until a joiner has completed since the last ticket was made; nil if none does within the time.
  func waitForJoiner(milliseconds: Int64) async throws -> DeviceKey? {
    _ = try await wait(milliseconds: milliseconds) { $0.lastJoined != nil }
    return lastJoined
  }
}

extension WaymarkError {
  static let notServing = WaymarkError(
    exitCode: ExitCode.notRunning, code: "not_running", message: "The node does not run.",
    next: "waymark run")
}
