import Membership
import SecureChannel
import Sodium
import Wire

/// Channels from their first byte: two honest ends with an attacker on the wire between them, or one honest end and
/// Mallory, who has keys of her own and follows the handshake as far as she likes.
func fuzzHandshake(_ input: [UInt8]) throws {
  var choices = Choices(input)
  switch choices.below(4) {
  case 0, 1: try meddle(&choices)
  case 2: try dialAsMallory(&choices)
  default: try answerAsMallory(&choices)
  }
}

/// Alice's payload for Bob in message 3.
private let payload: [UInt8] = Array("alice's certificates".utf8)
private let ticket = TicketID(77)

private func key(_ byte: UInt8) throws -> SymmetricKey {
  try SymmetricKey([UInt8](repeating: byte, count: SymmetricKey.count))
}

/// The access to a session or a pairing. Without the secret, only the pre-shared key is wrong: a wrong preamble key would
/// end everything at the first bytes.
private func access(_ isPairing: Bool, hasSecret: Bool = true) throws -> ChannelAccess {
  isPairing
    ? ChannelAccess(ticket: ticket, preambleKey: try key(8), presharedKey: try key(hasSecret ? 9 : 5))
    : ChannelAccess(sessionKey: try key(7))
}

private func dialler(_ isPairing: Bool, hasSecret: Bool = true) throws -> ChannelEnd {
  try ChannelEnd(
    .initiator(try access(isPairing, hasSecret: hasSecret)) { remote in
      remote == Cast.transport(Cast.bobTransport) ? payload : nil
    }, Cast.aliceTransport, "ephemeral of alice")
}

private func responder() throws -> ChannelEnd {
  let known = [try access(false), try access(true)]
  return try ChannelEnd(
    .responder { preamble in known.first { preamble.isAuthentic(under: $0.preambleKey) } },
    Cast.bobTransport, "ephemeral of bob")
}

// MARK: On the wire

private func meddle(_ choices: inout Choices) throws {
  let isPairing = choices.flag()
  let hasSecret = choices.below(8) > 0
  var alice = try dialler(isPairing, hasSecret: hasSecret)
  var bob = try responder()
  var (toBob, toAlice) = (Direction(), Direction())
  for _ in 0..<60 where !choices.isAtEnd {
    toBob.waiting += alice.takeOutput()
    toAlice.waiting += bob.takeOutput()
    switch choices.below(9) {
    case 0: try bob.receive(toBob.take(choices.below(256)))
    case 1: try alice.receive(toAlice.take(choices.below(256)))
    case 2, 3:
      try bob.receive(toBob.take(.max))
      try alice.receive(toAlice.take(.max))
    case 4: toBob.touch(&choices)
    case 5: toAlice.touch(&choices)
    case 6: try alice.say(said(&choices))
    case 7: try bob.say(said(&choices))
    default: if choices.flag() { try alice.hangUp() } else { try bob.hangUp() }
    }
  }
  try checkOpenings(alice.opening, bob.opening, hasSecret: hasSecret || !isPairing)
  try require(alice.said.starts(with: bob.heard), "Bob received what Alice did not send")
  try require(bob.said.starts(with: alice.heard), "Alice received what Bob did not send")
}

private func said(_ choices: inout Choices) -> [UInt8] {
  choices.below(16) == 0
    ? [UInt8](repeating: choices.byte(), count: Limits.messageBytesMax / (1 + choices.below(16)))
    : choices.bytes(max: 2_000)
}

private func checkOpenings(
  _ alice: ChannelOpening?, _ bob: ChannelOpening?, hasSecret: Bool
) throws {
  if let alice {
    try require(alice.remoteKey == Cast.transport(Cast.bobTransport), "Alice is connected to another key")
  }
  guard let bob else { return }
  try require(hasSecret, "Bob opened the channel without the secret")
  try require(bob.remoteKey == Cast.transport(Cast.aliceTransport), "Bob is connected to another key")
  try require(bob.payload == payload, "Bob received another payload than Alice's")
  try require(
    alice?.handshakeHash == bob.handshakeHash, "the two ends of a channel have different handshake hashes")
  try require(alice?.purpose == bob.purpose, "two ends of one channel have different purposes")
}

// MARK: Mallory

/// Mallory dials Bob: her own handshake, with arbitrary payloads.
private func dialAsMallory(_ choices: inout Choices) throws {
  var bob = try responder()
  let isPairing = choices.flag()
  let preamble = try mallorysPreamble(&choices, isPairing)
  var handshake = Handshake(
    role: .initiator, staticKey: Cast.malloryTransport, ephemeral: Cast.agreement("ephemeral of mallory"),
    presharedKey: try access(isPairing).presharedKey, prologue: preamble)
  try bob.receive(preamble + framed(try handshake.write()))
  guard let answer = frame(bob.takeOutput()), (try? handshake.read(answer)) != nil else {
    return try bob.receive(choices.rest())
  }
  let shown = choices.bytes(max: 8_000)
  try bob.receive(framed(try handshake.write(payload: shown)))
  if let opening = bob.opening {
    try require(
      opening.remoteKey == Cast.transport(Cast.malloryTransport), "Bob sees another key than Mallory's")
    try require(opening.payload == shown, "Bob received another payload than Mallory's")
    try readIntroduction(shown, from: opening.remoteKey)
  }
  var sealed = try handshake.finish()
  try talk(&choices, &sealed, to: &bob)
}

/// Alice dials an address where Mallory answers; the handshake must never succeed.
private func answerAsMallory(_ choices: inout Choices) throws {
  let isPairing = choices.flag()
  var alice = try dialler(isPairing)
  let first = alice.takeOutput()
  let preamble = Array(first.prefix(Preamble.count))
  switch choices.below(3) {
  case 0: try alice.receive(choices.rest())
  case 1: try alice.receive(Preamble.magic + choices.rest())
  default:
    var handshake = Handshake(
      role: .responder, staticKey: Cast.malloryTransport, ephemeral: Cast.agreement("ephemeral of mallory"),
      presharedKey: try access(isPairing).presharedKey, prologue: preamble)
    guard let hello = frame(Array(first.dropFirst(preamble.count))) else {
      throw BrokenRule("Alice did not send message 1")
    }
    _ = try handshake.read(hello)
    let answer = framed(try handshake.write(payload: choices.flag() ? choices.bytes(max: 200) : []))
    try alice.receive(answer + choices.rest())
  }
  try require(alice.opening == nil, "Alice opened a channel to an unknown key")
  try require(alice.takeOutput().isEmpty, "Alice sent her introduction to an unknown key")
}

private func mallorysPreamble(_ choices: inout Choices, _ isPairing: Bool) throws -> [UInt8] {
  var preamble = Preamble(nonce: Bytes16(3, 4), key: try access(isPairing).preambleKey).bytes
  guard choices.below(4) == 0 else { return preamble }
  preamble[choices.below(preamble.count)] ^= choices.byte()
  return preamble
}

/// Sealed frames of any content: whatever Bob does with them, he only accepts valid messages.
private func talk(_ choices: inout Choices, _ sealed: inout SealedChannel, to bob: inout ChannelEnd) throws {
  for _ in 0..<20 where !choices.isAtEnd {
    var output: [UInt8] = []
    switch choices.below(4) {
    case 0: output = choices.bytes(max: 400)
    case 1: try sealed.sealer.sealClose(into: &output)
    default: try sealed.sealer.seal(choices.bytes(max: 70_000), into: &output)
    }
    try bob.receive(output)
  }
}

/// What a node does next with the payload of message 3.
private func readIntroduction(_ bytes: [UInt8], from transport: TransportKey) throws {
  guard let introduction = try? Introduction(bytes) else { return }
  try require(introduction.encoded == bytes, "a non-canonical introduction was accepted")
  guard var circle = try? Circle(genesis: Cast.genesis, developmentIssuer: nil) else { return }
  let before = circle.setHash
  guard let admitted = try? circle.admit(introduction, authenticated: transport) else {
    return try require(circle.setHash == before, "statements of a stranger entered the circle")
  }
  try require(admitted.member?.transport == transport, "a member was admitted with another member's key")
}
