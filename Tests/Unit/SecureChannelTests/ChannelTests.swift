import SecureChannel
import Sodium
import Testing
import Wire

/// Alice dials Bob; the test passes bytes between them, `chunk` at a time.
struct Pair: ~Copyable {
  static let ticket = TicketID(77)

  var alice: Channel
  var bob: Channel
  var aliceEvents: [Channel.Event] = []
  var bobEvents: [Channel.Event] = []
  let chunk: Int

  init(
    purpose: Purpose = .session, aliceKey: SymmetricKey? = nil, bobKey: SymmetricKey? = nil,
    payload: [UInt8]? = [7], chunk: Int = .max
  ) throws {
    let alice = try Channel(
      .initiator(purpose, presharedKey: aliceKey) { _ in payload },
      keys: ChannelKeys(staticKey: try fixedKey(1), ephemeral: try AgreementKey()))
    let bob = try Channel(
      .responder { $0 == Self.ticket ? bobKey : nil },
      keys: ChannelKeys(staticKey: try fixedKey(2), ephemeral: try AgreementKey()))
    self.init(alice: alice, bob: bob, chunk: chunk)
  }

  private init(alice: consuming Channel, bob: consuming Channel, chunk: Int) {
    self.alice = alice
    self.bob = bob
    self.chunk = chunk
  }

  /// Passes bytes on until both are silent.
  mutating func run() throws(ChannelError) {
    while !alice.output.isEmpty || !bob.output.isEmpty {
      try Self.carry(from: &alice, to: &bob, chunk, &bobEvents)
      try Self.carry(from: &bob, to: &alice, chunk, &aliceEvents)
    }
  }

  private static func carry(
    from sender: inout Channel, to receiver: inout Channel, _ chunk: Int, _ events: inout [Channel.Event]
  ) throws(ChannelError) {
    var bytes = sender.output[...]
    sender.output = []
    while !bytes.isEmpty {
      let count = receiver.frames.append(bytes.prefix(chunk))
      bytes = bytes.dropFirst(count)
      while let event = try receiver.next() { events.append(event) }
      if count == 0 { return }
    }
  }
}

/// A static key that is the same in every run.
func fixedKey(_ number: UInt8) throws -> AgreementKey {
  try AgreementKey(secret: [UInt8](repeating: number, count: 32))
}

func transportKey(_ number: UInt8) throws -> TransportKey {
  try #require(TransportKey(bytes: try fixedKey(number).publicKey))
}

@Suite struct `A channel` {
  @Test(arguments: [1, 2, 3, 7, 64, 1000, Int.max])
  func `opens however the network splits the bytes`(chunk: Int) throws {
    var pair = try Pair(payload: [1, 2, 3], chunk: chunk)
    try pair.run()
    guard case .opened(let atAlice) = pair.aliceEvents.first, case .opened(let atBob) = pair.bobEvents.first
    else { return #expect(Bool(false), "not opened") }
    #expect(try atAlice.remoteKey == transportKey(2))
    #expect(try atBob.remoteKey == transportKey(1))
    #expect(atAlice.handshakeHash == atBob.handshakeHash)
    #expect(atAlice.payload == nil && atBob.payload == [1, 2, 3])
    #expect(atBob.purpose == .session)
  }

  @Test(arguments: [1, 999, Int.max]) func `carries messages both ways and closes`(chunk: Int) throws {
    var pair = try Pair(chunk: chunk)
    try pair.run()
    let long = [UInt8](repeating: 5, count: chunk == 1 ? 70_000 : 300_000)
    try pair.alice.send([])
    try pair.alice.send(long)
    try pair.bob.send([9])
    try pair.alice.close()
    try pair.run()
    #expect(pair.bobEvents.dropFirst() == [.message([]), .message(long), .closed])
    // Alice has closed her side, and receives no more.
    let (aliceIsOpen, bobIsOpen) = (pair.alice.isOpen, pair.bob.isOpen)
    #expect(pair.aliceEvents.count == 1 && !aliceIsOpen && !bobIsOpen)
  }

  @Test func `for pairing needs the ticket's key at both ends`() throws {
    let key = try SymmetricKey(randomBytes(32))
    var pair = try Pair(purpose: .pairing(ticket: Pair.ticket), aliceKey: key, bobKey: key, payload: [])
    try pair.run()
    guard case .opened(let opening) = pair.bobEvents.first else {
      return #expect(Bool(false), "not opened")
    }
    #expect(opening.purpose == .pairing(ticket: Pair.ticket) && opening.payload == [])
  }

  @Test func `for pairing with another key fails at the responder`() throws {
    var pair = try Pair(
      purpose: .pairing(ticket: Pair.ticket), aliceKey: SymmetricKey(randomBytes(32)),
      bobKey: SymmetricKey(randomBytes(32)))
    expect(.handshakeFailed, &pair)
    #expect(pair.bobEvents.isEmpty)
  }

  @Test func `for a ticket that was never issued is refused`() throws {
    let key = try SymmetricKey(randomBytes(32))
    var pair = try Pair(purpose: .pairing(ticket: TicketID(1)), aliceKey: key, bobKey: key)
    expect(.refused, &pair)
    let output = pair.bob.output
    #expect(output.isEmpty)
  }

  @Test func `to a key that the initiator does not know sends no message 3`() throws {
    var pair = try Pair(payload: nil)
    expect(.refused, &pair)
    let output = pair.alice.output
    #expect(output.isEmpty && pair.bobEvents.isEmpty)
  }

  @Test func `accepts a payload at the limit and none beyond`() throws {
    let payload = [UInt8](repeating: 1, count: Channel.payloadBytesMax)
    var pair = try Pair(payload: payload)
    try pair.run()
    guard case .opened(let opening) = pair.bobEvents.first else {
      return #expect(Bool(false), "not opened")
    }
    #expect(opening.payload == payload)
    var beyond = try Pair(payload: payload + [1])
    expect(.messageTooLarge, &beyond)
  }

  @Test(arguments: [0, 1, 3, 9, 255] as [UInt8])
  func `answers another version with its own`(version: UInt8) throws {
    var pair = try Pair()
    _ = pair.bob.frames.append((Preamble.magic + [version])[...])
    expect(.versionMismatch(theirs: version), &pair.bob)
    let output = pair.bob.output
    #expect(output == Preamble.answer && output.last == 2)
    _ = pair.alice.frames.append((Preamble.magic + [version])[...])
    expect(.versionMismatch(theirs: version), &pair.alice)
  }

  @Test func `sends nothing to a peer without a valid preamble`() throws {
    var pair = try Pair()
    _ = pair.bob.frames.append(Array("GET / HTTP/1.1\r\n".utf8)[...])
    expect(.handshakeFailed, &pair.bob)
    let output = pair.bob.output
    #expect(output.isEmpty)
  }

  @Test func `allocates no memory for bytes that have not arrived`() throws {
    var pair = try Pair()
    let idle = pair.bob.frames.makeRoom()
    #expect(idle.count <= 256)
    _ = pair.bob.frames.append((Preamble(.session).bytes + [0, 32])[...])
    _ = try pair.bob.next()
    _ = pair.bob.frames.makeRoom()
    let begun = pair.bob.frames.storage.count
    #expect(begun <= 256)
  }

  @Test func `buffers no more than a handshake before it is open`() throws {
    var pair = try Pair()
    var frames = pair.bob.frames
    var taken = 0
    for _ in 0..<100 { taken += frames.append([UInt8](repeating: 0xff, count: 1_000)[...]) }
    #expect(taken == frames.storage.count)
    #expect(taken < Limits.handshakeBytesMax && taken >= 64 + Channel.payloadBytesMax)
    try pair.run()
    let opened = pair.bob.frames.storage.count
    #expect(opened < Limits.handshakeBytesMax, "an open channel grows when its frames come")
  }

  @Test func `refuses a handshake message of a wrong size before it has arrived`() throws {
    var pair = try Pair()
    _ = pair.bob.frames.append((Preamble(.session).bytes + [0x1f, 0xff])[...])
    expect(.handshakeFailed, &pair.bob)
  }

  @Test func `refuses a changed frame and stays closed`() throws {
    var pair = try Pair()
    try pair.run()
    try pair.alice.send([1, 2, 3])
    pair.alice.output[4] ^= 1
    expect(.violation, &pair)
    let (isOpen, event) = (pair.bob.isOpen, try pair.bob.next())
    #expect(!isOpen && event == nil)
  }

  @Test func `knows whether a message is incomplete`() throws {
    var pair = try Pair()
    try pair.run()
    let before = pair.bob.isMidMessage
    try pair.alice.send([UInt8](repeating: 0, count: 100_000))
    let wire = pair.alice.output
    _ = pair.bob.frames.append(wire[..<65_537])
    let event = try pair.bob.next()
    let after = pair.bob.isMidMessage
    #expect(event == nil && !before && after)
  }

  @Test func `refuses to send before it is open and after it has closed`() throws {
    var pair = try Pair()
    expectNoSending(&pair.alice)
    var open = try Pair()
    try open.run()
    try open.alice.close()
    expectNoSending(&open.alice)
  }

  private func expectNoSending(_ channel: inout Channel) {
    var thrown: ChannelError?
    do throws(ChannelError) { try channel.send([1]) } catch { thrown = error }
    #expect(thrown == .violation)
  }

  private func expect(_ error: ChannelError, _ pair: inout Pair) {
    var thrown: ChannelError?
    do throws(ChannelError) { try pair.run() } catch { thrown = error }
    #expect(thrown == error)
  }

  private func expect(_ expected: ChannelError, _ channel: inout Channel) {
    var thrown: ChannelError?
    do throws(ChannelError) { _ = try channel.next() } catch { thrown = error }
    #expect(thrown == expected)
  }
}
