package import Home
package import Membership
import Replication
import SecureChannel
package import Sodium
import Synchronization
package import Transport
package import Wire

/// The credentials that links need during a handshake, on their own queues: a copy of the circle, and the open
/// tickets.
package final class Credentials: Sendable {
  private let identity: Identity
  private let clock: any NodeClock
  private let circle: Mutex<Circle>
  private let tickets = Mutex(TicketLedger())
  /// The root key for tickets whose joiners it certifies, until the tickets expire.
  private let signers = Mutex<[TicketID: (key: SigningKey, expiry: Moment)]>([:])

  package init(identity: Identity, circle: Circle, clock: any NodeClock) {
    self.identity = identity
    self.clock = clock
    self.circle = Mutex(circle)
  }

  package func update(_ circle: Circle) { self.circle.withLock { $0 = circle } }

  /// This device's introduction, the payload of handshake message 3, for a member of the circle; nil for anyone
  /// else, and for this device itself. A device that believes it is revoked uses it to ask whether it is.
  package func introduction(to remote: TransportKey) -> [UInt8]? {
    guard remote != identity.transportKey else { return nil }
    let circle = circle.withLock { $0 }
    guard circle.evaluation.member(transport: remote) != nil else { return nil }
    return circle.dialledIntroduction(of: identity.device, wallMilliseconds: clock.wall())?.encoded
  }

  // MARK: Tickets

  /// The key of an open ticket; nil if there is none, or too many attempts have failed recently.
  package func presharedKey(of id: TicketID, from address: SocketAddress) -> SymmetricKey? {
    let ticket = tickets.withLock { try? $0.begin(id, from: address.neighbourhood, at: clock.wall()) }
    guard var secret = ticket?.preSharedKey else { return nil }
    defer { wipe(&secret) }
    return try? SymmetricKey(secret)
  }

  /// Records that the peer has proven that it holds a ticket's secret.
  package func pairingSucceeded(from address: SocketAddress?) {
    if let address { tickets.withLock { $0.succeeded(from: address.neighbourhood) } }
  }

  /// Opens a ticket; false if too many are open.
  ///
  /// - Parameter signer: the key that certifies the joiner; nil for this device's.
  package func add(_ ticket: Ticket, role: Role, signer: SigningKey?) -> Bool {
    let now = clock.wall()
    guard tickets.withLock({ $0.add(ticket, role: role, at: now) }) else { return false }
    signers.withLock { signers in
      signers = signers.filter { now < $0.value.expiry }
      if let signer { signers[ticket.id] = (signer, ticket.expiry) }
    }
    return true
  }

  /// The key that certifies the joiner of a ticket.
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
