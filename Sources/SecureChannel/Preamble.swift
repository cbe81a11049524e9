// Protocol/channel.md, "Preamble".

package import Wire

/// What a connection is for: the first thing that the initiator says, in clear.
package enum Purpose: Hashable, Sendable {
  /// Two devices of a circle.
  case session
  /// A new device and the one that issued this ticket.
  case pairing(ticket: TicketID)
}

/// The clear bytes before the handshake; they are its prologue, so a changed one fails it.
package struct Preamble: Hashable, Sendable {
  /// "WAYMARK" and a zero byte. As the length of a frame it would be beyond any handshake message.
  package static let magic: [UInt8] = [0x57, 0x41, 0x59, 0x4d, 0x41, 0x52, 0x4b, 0x00]
  package static let version: UInt8 = 1
  /// How many bytes every version has in common: magic and version.
  package static let commonBytes = 9
  static let bytesMax = 18

  package let purpose: Purpose

  package init(_ purpose: Purpose) { self.purpose = purpose }

  package var bytes: [UInt8] {
    switch purpose {
    case .session: return Self.answer + [0]
    case .pairing(let ticket): return Self.answer + [1] + ticket.bytes
    }
  }

  /// What a responder says to an initiator of another version before it closes.
  package static var answer: [UInt8] { magic + [version] }

  /// The version behind the magic; nil if fewer than `commonBytes` have come.
  static func version(in bytes: ArraySlice<UInt8>) throws(ChannelError) -> UInt8? {
    let common = bytes.prefix(magic.count)
    guard common.elementsEqual(magic.prefix(common.count)) else { throw .handshakeFailed }
    return bytes.dropFirst(magic.count).first
  }

  /// The preamble at the start of `bytes`; nil if more must come.
  static func read(_ bytes: ArraySlice<UInt8>) throws(ChannelError) -> Preamble? {
    guard let version = try version(in: bytes) else { return nil }
    guard version == Self.version else { throw .versionMismatch(theirs: version) }
    let rest = bytes.dropFirst(commonBytes)
    switch rest.first {
    case nil: return nil
    case 0: return Preamble(.session)
    case 1:
      return TicketID(bytes: rest.dropFirst().prefix(TicketID.count)).map { Preamble(.pairing(ticket: $0)) }
    default: throw .handshakeFailed
    }
  }
}
