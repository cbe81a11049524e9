import Membership
package import Replication
import SecureChannel
import Sodium
import Synchronization
import Transport
import Wire

/// What links need of the node while they shake hands on queues of their own: a copy of the circle, and the
/// tickets that are open.
final class Credentials: Sendable {
  private let identity: Identity
  private let clock: any NodeClock
  private let circle: Mutex<Circle>
  private let tickets = Mutex(TicketLedger())
  /// The root key for tickets that it stands behind, until they expire.
  private let signers = Mutex<[TicketID: (key: SigningKey, expiry: Moment)]>([:])

  init(identity: Identity, circle: Circle, clock: any NodeClock) {
    self.identity = identity
    self.clock = clock
    self.circle = Mutex(circle)
  }

  func update(_ circle: Circle) { self.circle.withLock { $0 = circle } }

  /// The payload of message 3 for a member of the circle; nil for anyone else, and for this very device. If this device is
  /// out of the circle, it asks whether it still is.
  func introduction(to remote: TransportKey) -> [UInt8]? {
    guard remote != identity.transportKey else { return nil }
    let circle = circle.withLock { $0 }
    guard circle.evaluation.member(transport: remote) != nil else { return nil }
    return circle.dialledIntroduction(of: identity.device, wallMilliseconds: clock.wall())?.encoded
  }

  // MARK: Tickets

  /// The key of an open ticket; nil if there is none, or too many attempts have failed of late.
  func presharedKey(of id: TicketID, from address: SocketAddress) -> SymmetricKey? {
    let ticket = tickets.withLock { try? $0.begin(id, from: address.neighbourhood, at: clock.wall()) }
    guard var secret = ticket?.preSharedKey else { return nil }
    defer { wipe(&secret) }
    return try? SymmetricKey(secret)
  }

  /// The other end has proven that it holds a ticket's secret.
  func pairingSucceeded(from address: SocketAddress?) {
    if let address { tickets.withLock { $0.succeeded(from: address.neighbourhood) } }
  }

  /// False if too many tickets are open.
  ///
  /// - Parameter signer: certifies the joiner; nil for this device.
  func add(_ ticket: Ticket, role: Role, signer: SigningKey?) -> Bool {
    let now = clock.wall()
    guard tickets.withLock({ $0.add(ticket, role: role, at: now) }) else { return false }
    signers.withLock { signers in
      signers = signers.filter { now < $0.value.expiry }
      if let signer { signers[ticket.id] = (signer, ticket.expiry) }
    }
    return true
  }

  /// Who certifies the joiner that comes with a ticket.
  func signer(of ticket: TicketID) -> SigningKey {
    signers.withLock { $0[ticket]?.key } ?? identity.signing
  }

  func role(of id: TicketID, for joiner: DeviceKey) throws(TicketLedger.Refusal) -> Role {
    try tickets.withLock { ledger throws(TicketLedger.Refusal) in
      try ledger.role(of: id, for: joiner, at: clock.wall())
    }
  }

  func spend(_ id: TicketID, on joiner: DeviceKey) { tickets.withLock { $0.spend(id, on: joiner) } }

  func isSpent(_ id: TicketID, on joiner: DeviceKey) -> Bool {
    tickets.withLock { $0.isSpent(id, on: joiner) }
  }
}

/// What a raw message of a link is: sessions speak in arrays, pairing in maps.
package enum Inbound: Sendable {
  case session(Message)
  case pairing([UInt8])

  init(decoding bytes: [UInt8]) throws {
    if let first = bytes.first, first >> 5 == 5 {
      self = .pairing(bytes)
    } else {
      self = .session(try Message(decoding: bytes))
    }
  }
}
