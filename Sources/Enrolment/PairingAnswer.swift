package import Membership
package import Replication
import SecureChannel
package import Wire

/// A joiner on its way: what the handshake showed.
package struct Pairing: Sendable {
  package let ticket: TicketID
  package let handshakeHash: Bytes32
  package let remote: TransportKey

  package init(ticket: TicketID, handshakeHash: Bytes32, remote: TransportKey) {
    self.ticket = ticket
    self.handshakeHash = handshakeHash
    self.remote = remote
  }
}

/// What the inviting side answers a join request.
package struct PairingAnswer {
  package let reply: JoinReply
  /// Admits the joiner; nil if that was refused, or it is a member already.
  package private(set) var certificate: Statement?
  /// The device that has joined with its ticket.
  package private(set) var joiner: DeviceKey?

  package init(
    to bytes: [UInt8], _ pairing: Pairing, _ circle: Circle, _ credentials: Credentials, now: Moment
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
      (reply, certificate) = try circle.admit(request, role: role, by: signer, at: now)
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
