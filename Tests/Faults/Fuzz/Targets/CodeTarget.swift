import Membership
import SecureChannel
import Sodium
import Synchronization
import Wire

/// Pairing by code: announcements that anyone on a network may send, codes as people type them, and connections of
/// joiners and inviters with someone between them, or with someone who does not know the code.
func fuzzCodes(_ input: [UInt8]) throws {
  var choices = Choices(input)
  switch choices.below(8) {
  case 0: try openAnnouncement(choices.rest())
  case 1: try openChangedAnnouncement(&choices)
  case 2: try hearOffers(&choices)
  case 3: try readCode(String(decoding: choices.rest(), as: UTF8.self))
  case 4, 5: try meddle(&choices)
  case 6: try guess(&choices)
  default: try answerWithoutCode(&choices)
  }
}

// MARK: Announcements

/// An announcement that opens states nothing but its bytes.
private func openAnnouncement(_ bytes: [UInt8]) throws {
  guard let opened = CodeAnnouncement(bytes) else { return }
  try require(bytes.count == CodeAnnouncement.bytes, "an announcement of another length opened")
  let name = Array(opened.name.utf8)
  let port = [UInt8(opened.port >> 8), UInt8(truncatingIfNeeded: opened.port)]
  let stated = opened.offer.bytes + opened.host.bytes + port + [UInt8(name.count)] + name
  try require(
    Array(bytes[1...].prefix(stated.count)) == stated, "an announcement states what it does not contain")
  try require(opened.port != 0 && !name.isEmpty, "an announcement without a port or a name opened")
}

private let names = ["a", "laptop", "Ännes Büro 🏠", String(repeating: "n", count: Limits.nameBytesMax)]

private func openChangedAnnouncement(_ choices: inout Choices) throws {
  let (key, name) = (choices.pick(Cast.everyone), choices.pick(names))
  let host = Bytes16(choices.word(), choices.word())
  let port = UInt16(truncatingIfNeeded: choices.word()) | 1
  let whole = CodeAnnouncement.sealed(host: host, port: port, name: name, by: key)
  let opened = CodeAnnouncement(whole)
  try require(
    opened?.host == host && opened?.port == port && opened?.name == name
      && opened?.offer.bytes == key.publicKey, "an opened announcement differs from the sealed one")
  try openAnnouncement(whole)
  var changed = whole
  for _ in 0..<(1 + choices.below(4)) where !changed.isEmpty {
    switch choices.below(3) {
    case 0: changed[Int(choices.word() % UInt64(changed.count))] ^= choices.byte()
    case 1: changed.removeLast(min(changed.count, choices.below(100)))
    default: changed += choices.bytes(max: 120)
    }
  }
  try require(changed == whole || CodeAnnouncement(changed) == nil, "a modified announcement opened")
}

/// Whatever is announced, a joiner keeps few offers with few addresses, and none that was replayed from elsewhere.
private func hearOffers(_ choices: inout Choices) throws {
  var heard = HeardOffers()
  for _ in 0..<200 where !choices.isAtEnd {
    let (key, name) = (choices.pick(Cast.everyone), choices.pick(names))
    let (host, source) = (Bytes16(0, UInt64(choices.below(3))), Bytes16(0, UInt64(choices.below(3))))
    let sealed = CodeAnnouncement.sealed(host: host, port: 1, name: name, by: key)
    guard let announcement = CodeAnnouncement(sealed) else {
      throw BrokenRule("an honest announcement does not open")
    }
    let before = heard.all
    heard.add(announcement, from: source, dialling: "10.0.0.\(choices.below(8)):7433")
    try require(host == source || heard.all == before, "an announcement from another address was accepted")
    try require(
      heard.all.map(\.name).starts(with: before.map(\.name)), "an offer changed its name or its place")
  }
  try require(heard.all.count <= Limits.codeOffersMax, "too many offers are kept")
  for offer in heard.all {
    try require(
      (1...Limits.foundAddressesMax).contains(offer.addresses.count)
        && Set(offer.addresses).count == offer.addresses.count, "an offer has the wrong addresses")
  }
}

private func readCode(_ text: String) throws {
  guard let code = PairingCode(text) else { return }
  let digits = text.unicodeScalars.filter { ("0"..."9").contains($0) }
  try require(digits.count == PairingCode.count, "a code with more or fewer than six digits was accepted")
  try require(
    String(String.UnicodeScalarView(digits)) == code.shown.filter { $0 != " " },
    "a code is read with other digits")
}

// MARK: Connections

/// How often something happened, noted by the closures of a channel.
private final class Tally: Sendable {
  private let value = Mutex(0)
  var count: Int { value.withLock { $0 } }
  func add() { value.withLock { $0 += 1 } }
}

private let ticket = TicketID(78)

/// One run of CPace whose scalar depends on a text alone.
private func pace(_ code: Int, _ session: Bytes16, scalar text: String) throws -> CPace {
  var scalar = Blake2b256.bytes(Blake2b256.hash(Array(text.utf8)))
  // Canonical scalars are below the order of the group, which is a little more than 2^252.
  scalar[31] &= 0x0f
  return try CPace(
    password: try PairingCode(number: code).digits, channel: CodeExchange.channel, session: session.bytes,
    scalar: try RistrettoScalar(scalar))
}

private func joiner(typing code: Int) throws -> ChannelEnd {
  let exchange = CodeExchange(begin: { session in
    (try? pace(code, session, scalar: "scalar of the joiner")).map { CodeExchange.Run($0, triesLeft: 0) }
  })
  return try ChannelEnd(
    .initiator(ChannelAccess(code: TicketID(0), exchange)) { _ in [] }, Cast.bobTransport, "ephemeral of bob")
}

/// - Parameter tries: counts the tries. From the third on, none is left.
private func inviter(showing code: Int, _ tries: Tally, usedBefore: Int = 0) throws -> ChannelEnd {
  let exchange = CodeExchange(begin: { session in
    tries.add()
    guard tries.count + usedBefore <= Limits.codeTriesMax else { return nil }
    let left = UInt8(Limits.codeTriesMax - usedBefore - tries.count)
    return (try? pace(code, session, scalar: "scalar of the inviter")).map {
      CodeExchange.Run($0, triesLeft: left)
    }
  })
  return try ChannelEnd(
    .responder { preamble in
      preamble.isAuthentic(under: CodeExchange.preambleKey) ? ChannelAccess(code: ticket, exchange) : nil
    }, Cast.aliceTransport, "ephemeral of alice")
}

/// A joiner and an inviter, with someone on the wire who changes bytes. The joiner may have mistyped the code.
private func meddle(_ choices: inout Choices) throws {
  let knowsCode = choices.below(4) > 0
  let (tries, used) = (Tally(), choices.below(5))
  var bob = try joiner(typing: knowsCode ? 482_913 : 482_914)
  var alice = try inviter(showing: 482_913, tries, usedBefore: used)
  var (toAlice, toBob) = (Direction(), Direction())
  for _ in 0..<40 where !choices.isAtEnd {
    toAlice.waiting += bob.takeOutput()
    toBob.waiting += alice.takeOutput()
    try require(toBob.waiting.isEmpty || tries.count == 1, "the inviter answered without counting a try")
    switch choices.below(7) {
    case 0: try alice.receive(toAlice.take(choices.below(256)))
    case 1: try bob.receive(toBob.take(choices.below(256)))
    case 2, 3:
      try alice.receive(toAlice.take(.max))
      try bob.receive(toBob.take(.max))
    case 4: toAlice.touch(&choices)
    case 5: toBob.touch(&choices)
    default: try alice.say(choices.bytes(max: 400))
    }
  }
  try require(tries.count <= 1, "one connection took more than one try")
  let canOpen = knowsCode && used < Limits.codeTriesMax
  try require(canOpen || (alice.opening == nil && bob.opening == nil), "a channel opened without the code")
  if let opening = bob.opening {
    try require(
      opening.remoteKey == Cast.transport(Cast.aliceTransport), "the joiner is connected to another key")
  }
  if let opening = alice.opening {
    try require(
      opening.remoteKey == Cast.transport(Cast.bobTransport), "the inviter is connected to another key")
    try require(opening.purpose == .code(ticket: ticket), "the inviter delivers another ticket")
    try require(opening.handshakeHash == bob.opening?.handshakeHash, "the two ends have different hashes")
  }
  try require(alice.said.starts(with: bob.heard), "the joiner received what the inviter did not send")
}

/// Mallory dials the inviter with a share of her own making, and with whatever follows.
private func guess(_ choices: inout Choices) throws {
  let tries = Tally()
  var alice = try inviter(showing: 482_913, tries)
  let nonce = Bytes16(3, 4)
  try alice.receive(Preamble(nonce: nonce, key: CodeExchange.preambleKey).bytes)
  let isHonest = choices.flag()
  let share =
    isHonest
    ? try pace(482_914, nonce, scalar: "scalar of mallory").share : choices.bytes(max: 80)
  try alice.receive(framed(share))
  let answer = alice.takeOutput()
  try require(answer.isEmpty || tries.count == 1, "the inviter answered without counting a try")
  try require(!isHonest || answer.count == 2 + Ristretto.pointBytes + 1, "a share was not answered")
  for _ in 0..<20 where !choices.isAtEnd { try alice.receive(framed(choices.bytes(max: 400))) }
  try alice.receive(choices.rest())
  try require(alice.opening == nil, "the inviter opened a channel to someone without the code")
  try require(alice.takeOutput().isEmpty, "the inviter sent its key to someone without the code")
  try require(tries.count <= 1, "one connection took more than one try")
}

/// A joiner dials Mallory, who answers with a share of her own making, and with whatever follows.
private func answerWithoutCode(_ choices: inout Choices) throws {
  var bob = try joiner(typing: 482_913)
  // The nonce of every channel end here.
  let nonce = Bytes16(1, 2)
  _ = bob.takeOutput()
  let share =
    choices.flag()
    ? try pace(482_914, nonce, scalar: "scalar of mallory").share
    : choices.bytes(max: 80)
  try bob.receive(framed(share + [choices.byte()]))
  let message1 = bob.takeOutput()
  try require(message1.count <= 2 + 32 + 16, "the joiner sent more than message 1")
  for _ in 0..<20 where !choices.isAtEnd { try bob.receive(framed(choices.bytes(max: 400))) }
  try bob.receive(choices.rest())
  try require(bob.opening == nil, "the joiner opened a channel to someone without the code")
  try require(bob.takeOutput().isEmpty, "the joiner sent its key to someone without the code")
}
