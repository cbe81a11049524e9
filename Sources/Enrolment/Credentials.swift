package import Home
package import Membership
import Replication
package import SecureChannel
package import Sodium
import Synchronization
package import Transport
package import Wire

/// The credentials that links need during a handshake: a copy of the circle, and the open tickets. They must be safe
/// to use from any queue, because each link runs on its own.
package final class Credentials: Sendable {
  private let identity: Identity
  private let clock: any NodeClock
  private let circle: Mutex<Circle>
  /// The access to sessions with the other devices of the circle.
  package let sessionAccess: ChannelAccess
  private let tickets = Mutex(TicketLedger())
  /// For each ticket whose joiner is to be certified with the root key: that key, and the time when the ticket expires
  /// and the key is no longer needed.
  private let signers = Mutex<[TicketID: (key: SigningKey, expiry: Moment)]>([:])

  package init(identity: Identity, circle: Circle, clock: any NodeClock) throws {
    self.identity = identity
    self.clock = clock
    self.circle = Mutex(circle)
    sessionAccess = ChannelAccess(sessionKey: try SymmetricKey(circle.id.preambleKey))
  }

  package func update(_ circle: Circle) { self.circle.withLock { $0 = circle } }

  /// Returns this device's introduction, which is the payload of handshake message 3, if the remote key belongs to a
  /// member of the circle; nil for any other key, including this device's own. A device that believes it is revoked
  /// sends its introduction to ask whether it really is.
  package func introduction(to remote: TransportKey) -> [UInt8]? {
    guard remote != identity.transportKey else { return nil }
    let circle = circle.withLock { $0 }
    guard circle.evaluation.member(transport: remote) != nil else { return nil }
    return circle.dialledIntroduction(of: identity.device, wallMilliseconds: clock.wall())?.encoded
  }

  // MARK: Access

  /// Returns the access under whose key an initiator's preamble is authentic; nil for a stranger. For a ticket, also nil
  /// if it has expired, or if too many attempts have failed recently.
  package func access(by preamble: Preamble, from address: SocketAddress) -> ChannelAccess? {
    if preamble.isAuthentic(under: sessionAccess.preambleKey) { return sessionAccess }
    if preamble.isAuthentic(under: CodeExchange.preambleKey) { return codeAccess(from: address) }
    let ticket = tickets.withLock { tickets -> Ticket? in
      guard let id = tickets.ticket(whose: { preamble.isAuthentic(under: $0) }) else { return nil }
      return try? tickets.begin(id, from: address.neighbourhood, at: clock.wall())
    }
    return try? ticket?.access()
  }

  // MARK: Codes

  /// The ticket whose code may be tried now; nil if there is none.
  package var offered: TicketID? { tickets.withLock { $0.offered(at: clock.wall()) } }

  /// Returns the access with the code that is offered now; nil if there is none, or for an address that is not nearby.
  private func codeAccess(from address: SocketAddress) -> ChannelAccess? {
    guard let id = offered, address.isNearby else { return nil }
    return ChannelAccess(code: id, CodeExchange(begin: { self.beginTry(of: id, session: $0) }))
  }

  /// Counts a try and makes this device's part of its run.
  private func beginTry(of id: TicketID, session: Bytes16) -> CodeExchange.Run? {
    let offer = tickets.withLock { $0.beginTry(of: id, at: clock.wall()) }
    return offer.flatMap { CodeExchange.Run($0.code, session, triesLeft: $0.triesLeft) }
  }

  /// Records that a joiner knows the code, and returns the ticket to send to it.
  package func deliver(_ id: TicketID) -> Ticket? { tickets.withLock { $0.deliver(id, at: clock.wall()) } }

  package func isOver(_ id: TicketID) -> Bool { tickets.withLock { $0.isOver(id, at: clock.wall()) } }

  // MARK: Open invitations

  package var invitations: [TicketLedger.OpenInvitation] {
    tickets.withLock { $0.invitations(at: clock.wall()) }
  }

  package func cancel(_ id: TicketID) -> Bool { tickets.withLock { $0.cancel(id, at: clock.wall()) } }

  // MARK: Tickets

  /// Records that the peer has proven that it holds a ticket's secret.
  package func pairingSucceeded(from address: SocketAddress?) {
    if let address { tickets.withLock { $0.succeeded(from: address.neighbourhood) } }
  }

  /// Opens a ticket; returns false if too many tickets are open already.
  ///
  /// - Parameters:
  ///   - code: the code by which a joiner gets the ticket.
  ///   - signer: the key that certifies the joiner; nil for this device's own key.
  package func add(_ ticket: Ticket, role: Role, code: PairingCode? = nil, signer: SigningKey?) -> Bool {
    let now = clock.wall()
    guard tickets.withLock({ $0.add(ticket, role: role, code: code, at: now) }) else { return false }
    signers.withLock { signers in
      signers = signers.filter { now < $0.value.expiry }
      if let signer { signers[ticket.id] = (signer, ticket.expiry) }
    }
    return true
  }

  /// Returns the key that certifies the joiner of a ticket.
  package func signer(of ticket: TicketID) -> SigningKey {
    signers.withLock { $0[ticket]?.key } ?? identity.signing
  }

  package func role(of id: TicketID, for joiner: DeviceKey) throws(TicketLedger.Refusal) -> Role {
    try tickets.withLock { ledger throws(TicketLedger.Refusal) in
      try ledger.role(of: id, for: joiner, at: clock.wall())
    }
  }

  package func spend(_ id: TicketID, on joiner: DeviceKey) { tickets.withLock { $0.spend(id, on: joiner) } }

  package func isSpent(_ id: TicketID, on joiner: DeviceKey) -> Bool {
    tickets.withLock { $0.isSpent(id, on: joiner) }
  }
}

extension Ticket {
  /// Returns the access to a pairing with this ticket.
  package func access() throws(SodiumError) -> ChannelAccess {
    var (preamble, preshared) = (preambleKey, preSharedKey)
    defer {
      wipe(&preamble)
      wipe(&preshared)
    }
    return ChannelAccess(
      ticket: id, preambleKey: try SymmetricKey(preamble), presharedKey: try SymmetricKey(preshared))
  }
}
