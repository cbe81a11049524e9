import SecureChannel
import Sodium
import Synchronization
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
    alice access: ChannelAccess? = nil, bob known: [ChannelAccess]? = nil, payload: [UInt8]? = [7],
    chunk: Int = .max
  ) throws {
    let access = try access ?? Self.session()
    let known = try known ?? [Self.session(), Self.pairing()]
    let alice = try Channel(.initiator(access) { _ in payload }) { try keys(1) }
    let bob = try Channel(
      .responder { preamble in known.first { preamble.isAuthentic(under: $0.preambleKey) } }
    ) { try keys(2) }
    self.init(alice: alice, bob: bob, chunk: chunk)
  }

  static func session(circle: UInt8 = 3) throws -> ChannelAccess {
    ChannelAccess(sessionKey: try symmetricKey(circle))
  }

  static func pairing(secret: UInt8 = 4, presharedKey: UInt8 = 5) throws -> ChannelAccess {
    ChannelAccess(
      ticket: ticket, preambleKey: try symmetricKey(secret), presharedKey: try symmetricKey(presharedKey))
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
      while let event = try receiver.next() { if event != .recognized { events.append(event) } }
      if count == 0 { return }
    }
  }
}

func symmetricKey(_ number: UInt8) throws -> SymmetricKey {
  try SymmetricKey([UInt8](repeating: number, count: SymmetricKey.count))
}

func keys(_ number: UInt8) throws -> ChannelKeys {
  ChannelKeys(
    staticKey: try fixedKey(number), ephemeral: try AgreementKey(),
    nonce: try #require(Bytes16(randomBytes(Bytes16.count))))
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
    var pair = try Pair(alice: Pair.pairing(), payload: [])
    try pair.run()
    guard case .opened(let opening) = pair.bobEvents.first else {
      return #expect(Bool(false), "not opened")
    }
    #expect(opening.purpose == .pairing(ticket: Pair.ticket) && opening.payload == [])
  }

  @Test func `for pairing with another key fails at the responder`() throws {
    var pair = try Pair(alice: Pair.pairing(presharedKey: 6))
    expect(.handshakeFailed, &pair)
    #expect(pair.bobEvents.isEmpty)
  }

  @Test func `of another circle or with an unknown ticket stays unrecognized`() throws {
    for access in [try Pair.session(circle: 9), try Pair.pairing(secret: 9)] {
      var pair = try Pair(alice: access)
      try pair.run()
      let (isIgnoring, output) = (pair.bob.isIgnoring, pair.bob.output)
      #expect(isIgnoring && output.isEmpty && pair.bobEvents.isEmpty && pair.aliceEvents.isEmpty)
    }
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
    let key = try symmetricKey(3)
    let nonce = Bytes16(1, 2)
    _ = pair.bob.frames.append(Preamble(nonce: nonce, key: key, version: version).bytes[...])
    expect(.versionMismatch(theirs: version), &pair.bob)
    let output = pair.bob.output
    #expect(output == Preamble(nonce: nonce, key: key).bytes)
  }

  @Test func `believes the answer of another version only from a device that knows the circle`() throws {
    let (key, other) = (try symmetricKey(3), try symmetricKey(9))
    func answered(_ key: SymmetricKey, version: UInt8, nonce: Bytes16? = nil, _ expected: ChannelError) throws
    {
      var pair = try Pair()
      let sent = pair.alice.output[9..<25]
      let nonce = try #require(nonce ?? Bytes16(sent))
      _ = pair.alice.frames.append(Preamble(nonce: nonce, key: key, version: version).bytes[...])
      expect(expected, &pair.alice)
    }
    try answered(key, version: 3, .versionMismatch(theirs: 3))
    try answered(key, version: 1, .versionMismatch(theirs: 1))
    try answered(other, version: 3, .handshakeFailed)
    try answered(key, version: 3, nonce: Bytes16(1, 2), .handshakeFailed)
    try answered(key, version: Preamble.currentVersion, .handshakeFailed)
  }

  @Test func `sends nothing to a peer without an authentic preamble, whatever it sends`() throws {
    let start = Preamble(nonce: Bytes16(1, 2), key: try symmetricKey(9)).bytes
    let wires: [[UInt8]] = [
      Array("GET / HTTP/1.1\r\n\r\n".utf8), start, start + [0, 32] + [UInt8](repeating: 1, count: 32),
      Preamble.magic, [UInt8](repeating: 0, count: 20_000),
    ]
    for wire in wires {
      let counted = Mutex(0)
      var bob = try Channel(.responder { _ in nil }) {
        counted.withLock { $0 += 1 }
        return try keys(2)
      }
      var rest = wire[...]
      while !rest.isEmpty {
        rest = rest.dropFirst(bob.frames.append(rest.prefix(100)))
        let event = try bob.next()
        #expect(event == nil)
      }
      let made = counted.withLock { $0 }
      let (output, isUnrecognized, held) = (bob.output, bob.isUnrecognized, bob.frames.storage.count)
      #expect(output.isEmpty && isUnrecognized && made == 0 && held <= 256)
    }
  }

  @Test func `makes no keys before message 1 has arrived`() throws {
    let counted = Mutex(0)
    let access = try Pair.session()
    var bob = try Channel(.responder { _ in access }) {
      counted.withLock { $0 += 1 }
      return try keys(2)
    }
    _ = bob.frames.append((Preamble(nonce: Bytes16(1, 2), key: access.preambleKey).bytes + [0, 32])[...])
    let (first, second) = (try bob.next(), try bob.next())
    let (output, isUnrecognized) = (bob.output, bob.isUnrecognized)
    #expect(first == .recognized && second == nil && output.isEmpty && !isUnrecognized)
    #expect(counted.withLock { $0 } == 0)
  }

  @Test func `allocates no memory for bytes that have not arrived`() throws {
    var pair = try Pair()
    let idle = pair.bob.frames.makeRoom()
    #expect(idle.count <= 256)
    _ = pair.bob.frames.append((try authenticStart() + [0, 32])[...])
    _ = try pair.bob.next()
    _ = try pair.bob.next()
    _ = pair.bob.frames.makeRoom()
    let begun = pair.bob.frames.storage.count
    #expect(begun <= 256)
  }

  private func authenticStart() throws -> [UInt8] {
    Preamble(nonce: Bytes16(1, 2), key: try symmetricKey(3)).bytes
  }

  @Test func `buffers no more than a handshake before it is open`() throws {
    var pair = try Pair()
    _ = pair.bob.frames.append(try authenticStart()[...])
    let event = try pair.bob.next()
    #expect(event == .recognized)
    var frames = pair.bob.frames
    var taken = 0
    for _ in 0..<100 { taken += frames.append([UInt8](repeating: 0xff, count: 1_000)[...]) }
    #expect(taken <= frames.storage.count)
    #expect(taken < Limits.handshakeBytesMax && taken >= 64 + Channel.payloadBytesMax)
    pair = try Pair()
    try pair.run()
    let opened = pair.bob.frames.storage.count
    #expect(opened < Limits.handshakeBytesMax, "an open channel grows when its frames come")
  }

  @Test func `refuses a handshake message of a wrong size before it has arrived`() throws {
    var pair = try Pair()
    _ = pair.bob.frames.append((try authenticStart() + [0x1f, 0xff])[...])
    let event = try pair.bob.next()
    #expect(event == .recognized)
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
