import Membership
import Replication
import Wire

/// Tickets as people paste them, and the messages of joining.
func fuzzTicket(_ input: [UInt8]) throws {
  var choices = Choices(input)
  switch choices.below(6) {
  case 0, 1: try readLine(String(decoding: choices.rest(), as: UTF8.self))
  case 2: try readLine(ticketLine(choices.rest()))
  case 3:
    let bytes = choices.rest()
    guard let request = try? JoinRequest(bytes) else { return }
    try require(request.encoded == bytes, "a non-canonical request was accepted")
    _ = request.isProven(handshakeHash: [1], authenticated: request.transport)
  case 4: try readReply(choices.rest())
  default: try useLedger(&choices)
  }
}

private func readLine(_ line: String) throws {
  guard let ticket = try? Ticket(line: line) else { return }
  try require((try? Ticket(line: ticket.line)) == ticket, "a ticket changes when it is re-encoded")
  _ = (ticket.id, ticket.preSharedKey)
}

/// The ticket line of an arbitrary payload, with a matching checksum.
func ticketLine(_ payload: [UInt8]) -> String {
  let checksum = blake2b256(HashPrefix("waymark/ticket-checksum/v1\0"), payload).bytes.prefix(4)
  var (digits, buffer, bits) = ("", UInt32(0), 0)
  let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
  for byte in payload + checksum {
    buffer = (buffer << 8 | UInt32(byte)) & 0xffff
    bits += 8
    while bits >= 5 {
      bits -= 5
      digits.append(alphabet[Int(buffer >> UInt32(bits)) & 31])
    }
  }
  if bits > 0 { digits.append(alphabet[Int(buffer << UInt32(5 - bits)) & 31]) }
  return "waymark1" + digits
}

private func readReply(_ bytes: [UInt8]) throws {
  guard let reply = try? JoinReply(bytes) else { return }
  if case .accepted(let statements) = reply {
    try require(reply.encoded == bytes, "a non-canonical reply was accepted")
    let ticket = Ticket(
      circle: Cast.circle, transport: Cast.transports[0], addresses: [], secret: .zero, expiry: Cast.noon)
    let circle = Circle.joined(
      statements, ticket: ticket, device: DeviceKey(Cast.alice), transport: Cast.transports[0])
    try require(circle.map { $0.id == Cast.circle } ?? true, "a joiner accepted another circle")
  }
}

/// A ticket is used once, before it expires, by one key, whatever requests come in between.
private func useLedger(_ choices: inout Choices) throws {
  var ledger = TicketLedger()
  var tickets: [Ticket] = []
  var joiners: [TicketID: DeviceKey] = [:]
  var now: Int64 = 1_000
  for _ in 0..<64 where !choices.isAtEnd {
    switch choices.below(5) {
    case 0:
      let ticket = Ticket(
        circle: Cast.circle, transport: Cast.transports[0], addresses: [],
        secret: Bytes16(3, UInt64(tickets.count)), expiry: now + Int64(choices.byte()))
      if ledger.add(ticket, role: .member, at: now) { tickets.append(ticket) }
    case 1: now += Int64(choices.byte()) - 20
    case 2: ledger.succeeded(from: "eve")
    case 3: _ = try? ledger.begin(TicketID(choices.number()), from: "eve", at: now)
    default:
      guard !tickets.isEmpty else { continue }
      let ticket = choices.pick(tickets)
      let joiner = DeviceKey(choices.pick(Cast.everyone))
      guard (try? ledger.begin(ticket.id, from: "bob", at: now)) != nil,
        (try? ledger.role(of: ticket.id, for: joiner, at: now)) != nil
      else { continue }
      ledger.spend(ticket.id, on: joiner)
      try require(now < ticket.expiry, "a ticket was accepted after its expiry")
      try require(joiners[ticket.id] ?? joiner == joiner, "two devices joined with one ticket")
      joiners[ticket.id] = joiner
    }
    try require(ledger.open(at: now).count <= Limits.ticketsMax, "too many tickets are open")
  }
}
