package import Membership
package import Replication
import SecureChannel
package import Wire

/// A joiner, as identified by its handshake.
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

/// The inviter's answer to a join request.
package struct PairingAnswer {
  package let reply: JoinReply
  /// The certificate that admits the joiner; nil if the request was refused, or the joiner is already a member.
  package private(set) var certificate: Statement?
  /// The device that has joined with this ticket; nil if none has.
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
      // A member that only asks whether it is still a member must not take the ticket away from the device that the
      // ticket is meant for.
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
