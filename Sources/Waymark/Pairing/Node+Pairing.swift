public import Foundation
import Membership
import Replication
import SecureChannel
import Sodium
import Transport
import Wire

/// A ticket by which one new device joins the circle.
public struct Invitation: Hashable, Sendable, Codable {
  /// One line of lower-case text, for another screen, a code to scan, or a message that nobody else reads.
  public let ticket: String
  /// When the ticket is of no use any more.
  public let expires: Date
}

extension Node {
  /// Makes a ticket for one new device; this node admits it for as long as it serves.
  ///
  /// - Parameters:
  ///   - role: what the new device may do.
  ///   - lifetime: how long the ticket is good for.
  ///   - rootKey: the file of the circle's root key, where this device is no admin.
  /// - Throws: `WaymarkError` with the code `not_running`, `not_admin` or `too_many_tickets`.
  public func invite(
    as role: CircleMember.Role = .member, for lifetime: Duration = .seconds(600), rootKey: URL? = nil
  ) async throws -> Invitation {
    try sayingWhy {
      try invite(
        as: role, milliseconds: lifetime.wholeMilliseconds, rootKey: rootKey?.path(percentEncoded: false))
    }
  }

  /// - Parameter passphrase: opens the root key if it is sealed.
  package func invite(
    as role: CircleMember.Role, milliseconds lifetime: Int64, rootKey: String?,
    _ passphrase: Passphrase? = nil
  ) throws -> Invitation {
    guard (1...Limits.ticketMillisecondsMax).contains(lifetime) else {
      let daysMax = Limits.ticketMillisecondsMax / 86_400_000
      throw WaymarkError.badValue(
        "--expires", "\(lifetime / 1_000)s", allowed: "it must be more than zero, and at most \(daysMax)d")
    }
    let root = try rootKey.map {
      try RootKey.read($0, at: home, of: circle, passphrases(passphrase), for: "Inviting from here")
    }
    let ticket = try makeTicket(role: role == .admin ? .admin : .member, lifetime: lifetime, root: root)
    return Invitation(ticket: ticket.line, expires: Date(milliseconds: ticket.expiry))
  }

  /// Waits until a device has joined since the last invitation of this node; nil if none does in time.
  public func joiner(within timeout: Duration) async throws -> DeviceReference? {
    try checkOpen()
    _ = try await wait(milliseconds: timeout.wholeMilliseconds) { $0.lastJoined != nil }
    return lastJoined.map { DeviceReference(device: $0, name: name(of: $0)) }
  }

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
