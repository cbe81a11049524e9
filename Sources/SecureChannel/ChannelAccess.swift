// Protocol/channel.md, "Preamble".

package import Sodium
package import Wire

/// The purpose of a connection.
package enum Purpose: Hashable, Sendable {
  /// A session between two devices of a circle.
  case session
  /// The pairing of a new device with the device that issued this ticket.
  case pairing(ticket: TicketID)
  /// The delivery of this ticket to a new device that knows its code.
  case code(ticket: TicketID)
}

/// The purpose of a connection, and the secrets that both ends must know before they say anything.
package struct ChannelAccess: Sendable {
  package let purpose: Purpose
  /// The key of the preamble's MAC, which derives from the circle or from the ticket; that of codes is known to all.
  package let preambleKey: SymmetricKey
  /// The pre-shared key of the handshake; nil in a session, and if a code makes the key.
  package let presharedKey: SymmetricKey?
  /// How the pre-shared key is made from a code; nil unless the purpose is that of a code.
  let code: CodeExchange?

  /// Creates the access to a session. Every device that knows the circle has the key.
  package init(sessionKey: SymmetricKey) {
    purpose = .session
    preambleKey = sessionKey
    presharedKey = nil
    code = nil
  }

  /// Creates the access with a code. The joiner does not know the ticket yet and passes any number.
  package init(code ticket: TicketID, _ exchange: CodeExchange) {
    purpose = .code(ticket: ticket)
    preambleKey = CodeExchange.preambleKey
    presharedKey = nil
    code = exchange
  }

  /// Creates the access to a pairing. Only the inviter and the holder of the ticket have the keys.
  package init(ticket: TicketID, preambleKey: SymmetricKey, presharedKey: SymmetricKey) {
    purpose = .pairing(ticket: ticket)
    self.preambleKey = preambleKey
    self.presharedKey = presharedKey
    code = nil
  }
}
