// Protocol/channel.md, "Preamble".

package import Wire

/// The purpose of a connection. It is the first thing that the initiator sends, unencrypted.
package enum Purpose: Hashable, Sendable {
  /// A session between two devices of a circle.
  case session
  /// The pairing of a new device with the device that issued this ticket.
  case pairing(ticket: TicketID)
}

/// The unencrypted bytes that the initiator sends before the handshake. They are the handshake's prologue, so the
/// handshake fails if any of them was changed.
package struct Preamble: Hashable, Sendable {
  /// The text "WAYMARK" and a zero byte. If its first two bytes are read as the length of a frame, that length exceeds
  /// the length of any handshake message.
  package static let magic: [UInt8] = [0x57, 0x41, 0x59, 0x4d, 0x41, 0x52, 0x4b, 0x00]
  package static let version: UInt8 = 2
  /// The length of the magic and the version, which preambles of all versions have in common.
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

  /// The bytes with which a responder answers an initiator that uses another version, before it closes the connection.
  package static var answer: [UInt8] { magic + [version] }

  /// Returns the version, which follows the magic; nil if fewer than `commonBytes` bytes have been received.
  static func version(in bytes: ArraySlice<UInt8>) throws(ChannelError) -> UInt8? {
    let common = bytes.prefix(magic.count)
    guard common.elementsEqual(magic.prefix(common.count)) else { throw .handshakeFailed }
    return bytes.dropFirst(magic.count).first
  }

  /// Reads the preamble at the start of `bytes`. Returns nil if more bytes are needed.
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
