// Protocol/circle.md, "Tickets".

package import Wire

/// An invitation in one line of text. Its holder may join the circle once, before the ticket expires.
package struct Ticket: Hashable, Sendable {
  package var circle: CircleID
  /// The static Noise key of the inviter. The joiner pairs only with a device that has this key.
  package var transport: TransportKey
  package var addresses: [String]
  package var secret: Bytes16
  /// The first millisecond at which the ticket is no longer valid.
  package var expiry: Int64

  package init(
    circle: CircleID, transport: TransportKey, addresses: [String], secret: Bytes16, expiry: Int64
  ) {
    self.circle = circle
    self.transport = transport
    self.addresses = addresses
    self.secret = secret
    self.expiry = expiry
  }

  /// The reason why a text is not a ticket. Parsing does not check whether a ticket has expired; the caller, which
  /// knows the time, does that.
  package enum ParseError: Error, Hashable, Sendable {
    /// The text does not start like a ticket.
    case notATicket
    /// The text starts like a ticket, but a character is wrong, missing or extra.
    case damaged
  }

  package static let mark = "waymark1"
  private static let checksumBytes = 4

  /// Parses a line. Surrounding blanks are accepted, and so are capital letters, which a QR code uses.
  package init(line: String) throws(ParseError) {
    let text = Array(line.utf8.map { (0x41...0x5a).contains($0) ? $0 + 0x20 : $0 })
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0a, 0x0d]
    let start = text.firstIndex { !blanks.contains($0) } ?? text.endIndex
    let end = text.lastIndex { !blanks.contains($0) }.map { $0 + 1 } ?? start
    guard text[start..<end].starts(with: Self.mark.utf8) else { throw .notATicket }
    let digits = text[start..<end].dropFirst(Self.mark.utf8.count)
    guard digits.count <= Limits.ticketCharactersMax, let bytes = Base32.decode(digits),
      bytes.count > Self.checksumBytes
    else { throw .damaged }
    let payload = Array(bytes.dropLast(Self.checksumBytes))
    guard Array(bytes.suffix(Self.checksumBytes)) == Self.checksum(payload) else { throw .damaged }
    do { try self.init(payload: payload) } catch { throw .damaged }
  }

  private init(payload: [UInt8]) throws(WireError) {
    var map = try MapReader(payload)
    circle = CircleID(try map.bytes32(1))
    transport = TransportKey(try map.bytes32(2))
    try map.required(3)
    addresses = []
    for _ in 0..<(try map.reader.array(max: Limits.addressesMax)) {
      addresses.append(try map.reader.address())
    }
    secret = try map.bytes16(4)
    expiry = try map.milliseconds(5)
    try map.end()
  }

  /// The ticket as a line of text in lower case. Addresses beyond `Limits.addressesMax` are left out.
  package var line: String {
    let payload = payload
    let digits = Base32.encode(payload + Self.checksum(payload))
    return Self.mark + String(decoding: digits, as: UTF8.self)
  }

  private var payload: [UInt8] {
    let shown = addresses.filter(isAddress).prefix(Limits.addressesMax)
    var writer = CBORWriter(reserving: 160)
    writer.map(6)
    writer.pair(0, MapReader.version)
    writer.pair(1, circle.raw)
    writer.pair(2, transport.raw)
    writer.unsigned(3)
    writer.array(shown.count)
    for address in shown { writer.text(address) }
    writer.unsigned(4)
    writer.byteString(secret)
    writer.pair(5, expiry)
    return writer.bytes
  }

  private static func checksum(_ payload: [UInt8]) -> [UInt8] {
    Array(Prefix.ticketChecksum.hash(payload).bytes.prefix(checksumBytes))
  }

  // MARK: Derived values

  /// The id by which a device refers to the ticket in its own data. It is never sent.
  package var id: TicketID { TicketID(Prefix.ticketID.hash(secret.bytes).word0) }

  /// The key with which the joiner's preamble shows which ticket it has.
  package var preambleKey: [UInt8] { Prefix.pairingPreamble.hash(secret.bytes).bytes }

  /// The pre-shared key of the pairing handshake.
  package var preSharedKey: [UInt8] {
    Prefix.ticketKey.hash(secret.bytes, circle.bytes, transport.bytes).bytes
  }
}

/// The base 32 encoding of RFC 4648, in lower case and without padding.
enum Base32 {
  private static let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    var (buffer, bits) = (UInt32(0), 0)
    for byte in bytes {
      buffer = (buffer << 8 | UInt32(byte)) & 0xffff
      bits += 8
      while bits >= 5 {
        bits -= 5
        text.append(digits[Int(buffer >> UInt32(bits)) & 31])
      }
    }
    if bits > 0 { text.append(digits[Int(buffer << UInt32(5 - bits)) & 31]) }
    return text
  }

  /// Decodes text. Returns nil if the text contains other characters, has an impossible length, or has leftover bits
  /// that are not zero.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (buffer, bits) = (UInt32(0), 0)
    for character in text {
      let digit: UInt8
      switch character {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = character - UInt8(ascii: "a")
      case UInt8(ascii: "2")...UInt8(ascii: "7"): digit = character - UInt8(ascii: "2") + 26
      default: return nil
      }
      buffer = (buffer << 5 | UInt32(digit)) & 0xffff
      bits += 5
      guard bits >= 8 else { continue }
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
    }
    guard bits < 5, buffer & (1 << UInt32(bits) - 1) == 0 else { return nil }
    return bytes
  }
}
