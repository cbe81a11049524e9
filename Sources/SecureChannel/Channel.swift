// Protocol/channel.md.

package import Sodium
package import Wire

/// The keys of one end of a channel.
package struct ChannelKeys: Sendable {
  package let staticKey: AgreementKey
  /// A key that must be new for each channel.
  package let ephemeral: AgreementKey
  /// Random bytes for the preamble, which must be new for each channel. A responder does not use them.
  package let nonce: Bytes16

  package init(staticKey: AgreementKey, ephemeral: AgreementKey, nonce: Bytes16) {
    self.staticKey = staticKey
    self.ephemeral = ephemeral
    self.nonce = nonce
  }
}

/// The role of this end of a channel, with the callbacks that the handshake needs.
package enum ChannelRole: Sendable {
  /// The end that dials. `authorize` is called once the other end has proved its key; it returns the payload of message
  /// 3, or nil to refuse the connection.
  case initiator(ChannelAccess, authorize: @Sendable (TransportKey) -> [UInt8]?)
  /// The end that was dialled. `access` returns the access under whose key the preamble is authentic; nil for a
  /// stranger.
  case responder(access: @Sendable (Preamble) -> ChannelAccess?)
}

/// The result of a complete handshake.
package struct ChannelOpening: Hashable, Sendable {
  package let purpose: Purpose
  package let remoteKey: TransportKey
  package let handshakeHash: Bytes32
  /// The payload of message 3, which the initiator sent; nil on the initiator's side.
  package let payload: [UInt8]?
}

/// An encrypted, authenticated connection. It is a value that turns received bytes into events and into bytes to send.
/// It reads no clock and owns no socket.
///
/// The owner puts received bytes into `frames`, calls `next()` until it returns nil or throws, and sends the bytes in
/// `output`. After an error, `output` may still hold a final answer, which the owner sends before it closes the
/// connection.
package struct Channel: ~Copyable {
  /// An event that `next()` returns.
  package enum Event: Hashable, Sendable {
    /// The initiator's preamble is authentic, and the next call begins the handshake. This event occurs once, and only
    /// on the responder's side.
    case recognized
    /// The other end has proved its key, so messages may now be sent. This event occurs once.
    case opened(ChannelOpening)
    case message([UInt8])
    /// The other end closed the channel. No event follows.
    case closed
  }

  private enum Phase: ~Copyable {
    case awaitingPreamble
    /// The preamble was not authentic. All that follows is discarded until the owner's deadline, so that a stranger
    /// can't tell at which byte it was wrong.
    case ignoring
    /// The responder waits for the joiner's share of CPace.
    case awaitingShare(Preamble, CodeExchange)
    /// The initiator waits for the inviter's share of CPace.
    case awaitingAnswer(CodeExchange.Run, CodeExchange, ChannelKeys, Preamble, ChannelAccess)
    case awaitingMessage1(HandshakeStart)
    case awaitingMessage2(Handshake, Preamble, ChannelAccess)
    case awaitingMessage3(Handshake)
    case open(SealedChannel)
    case ended
  }

  /// The maximum size of the payload of message 3.
  package static let payloadBytesMax = Limits.introductionBytesMax
  /// The capacity of the buffer before the preamble is known to be authentic. The initiator's first frame may follow the
  /// preamble at once.
  private static let preambleCapacity = 256
  /// The maximum number of bytes that are buffered during a handshake. The rest of `handshakeBytesMax` is reserved for
  /// the connection itself.
  private static let handshakeCapacity = FrameReader.lengthBytes + 64 + payloadBytesMax
  /// The capacity of the buffer for received bytes once the channel is open: two frames.
  private static let openCapacity = 2 * (Limits.frameBytesMax + FrameReader.lengthBytes)

  package var frames = FrameReader(capacity: Channel.preambleCapacity)
  /// Bytes to send to the other end. The owner sends and removes them.
  package var output: [UInt8] = []
  private let role: ChannelRole
  private let makeKeys: @Sendable () throws -> ChannelKeys
  /// What the connection is for; on the responder's side, it is not known before the preamble is.
  private var purpose: Purpose
  private var phase: Phase

  /// Begins a connection. On the initiator's side, `output` then holds the first bytes to send.
  ///
  /// - Parameter makeKeys: creates the keys; called once the handshake begins. A stranger therefore costs a responder no
  ///   keys.
  package init(
    _ role: ChannelRole, makeKeys: @escaping @Sendable () throws -> ChannelKeys
  ) throws(ChannelError) {
    self.role = role
    self.makeKeys = makeKeys
    purpose = .session
    phase = .awaitingPreamble
    if case .initiator(let access, _) = role { try begin(access) }
  }

  private mutating func begin(_ access: ChannelAccess) throws(ChannelError) {
    purpose = access.purpose
    let keys = try made(makeKeys)
    let preamble = Preamble(nonce: keys.nonce, key: access.preambleKey)
    frames.grow(to: Self.handshakeCapacity)
    output = preamble.bytes
    if let code = access.code {
      guard let run = code.begin(keys.nonce) else { throw .noKeys }
      appendFrame(run.pace.share, to: &output)
      phase = .awaitingAnswer(run, code, keys, preamble, access)
    } else {
      try writeMessage1(keys, HandshakeStart(preamble, access), preamble, access)
    }
  }

  private mutating func writeMessage1(
    _ keys: ChannelKeys, _ start: HandshakeStart, _ preamble: Preamble, _ access: ChannelAccess
  ) throws(ChannelError) {
    var handshake = Handshake(role: .initiator, keys, start)
    appendFrame(try handshake.write(), to: &output)
    phase = .awaitingMessage2(handshake, preamble, access)
  }

  package var isOpen: Bool {
    switch phase {
    case .open: true
    default: false
    }
  }

  /// Whether the other end has not shown yet that it knows the circle or holds a ticket. Its preamble is incomplete or
  /// was wrong.
  package var isUnrecognized: Bool {
    switch phase {
    case .awaitingPreamble: true
    case .ignoring: true
    default: false
    }
  }

  /// Whether the preamble was wrong, and everything that follows is discarded.
  package var isIgnoring: Bool {
    switch phase {
    case .ignoring: true
    default: false
    }
  }

  /// Whether only a part of a frame or message has been received so far.
  package var isMidMessage: Bool {
    if !frames.isEmpty { return true }
    switch phase {
    case .open(let sealed): return sealed.opener.isMidMessage
    default: return false
    }
  }

  // MARK: Receiving

  /// Returns the next event in the received bytes; nil if more bytes are needed. If this function throws an error, the
  /// channel has ended.
  package mutating func next() throws(ChannelError) -> Event? {
    switch takePhase() {
    case .awaitingPreamble: return try readPreamble()
    case .ignoring: return ignoreAll()
    case .awaitingShare(let preamble, let code): return try readShare(preamble, code)
    case .awaitingAnswer(let run, let code, let keys, let preamble, let access):
      return try readAnswer(run, code, keys, preamble, access)
    case .awaitingMessage1(let start): return try readMessage1(start)
    case .awaitingMessage2(let handshake, let preamble, let access):
      return try readMessage2(handshake, preamble, access)
    case .awaitingMessage3(let handshake): return try readMessage3(handshake)
    case .open(let sealed): return try readFrames(sealed)
    case .ended: return nil
    }
  }

  /// Takes the current phase and leaves `ended` in its place, so that the channel cannot continue after an error.
  private mutating func takePhase() -> Phase {
    var taken = Phase.ended
    swap(&taken, &phase)
    return taken
  }

  private mutating func readPreamble() throws(ChannelError) -> Event? {
    guard let preamble = Preamble(receiving: frames.bytes) else {
      phase = .awaitingPreamble
      return nil
    }
    guard case .responder(let find) = role, let access = find(preamble) else { return ignoreAll() }
    frames.skip(Preamble.count)
    guard preamble.version == Preamble.currentVersion else {
      output += preamble.answer(under: access.preambleKey).bytes
      throw .versionMismatch(theirs: preamble.version)
    }
    purpose = access.purpose
    frames.grow(to: Self.handshakeCapacity)
    phase =
      access.code.map { .awaitingShare(preamble, $0) } ?? .awaitingMessage1(HandshakeStart(preamble, access))
    return .recognized
  }

  private mutating func ignoreAll() -> Event? {
    frames.skip(frames.unread.count)
    phase = .ignoring
    return nil
  }

  // MARK: Pairing by code

  /// Reads the joiner's share and answers it. The run counts as a failed try before the answer is written.
  private mutating func readShare(
    _ preamble: Preamble, _ code: CodeExchange
  ) throws(ChannelError) -> Event? {
    let count = Ristretto.pointBytes
    guard let share = try handshakeMessage(bytes: count...count).map({ Array($0) }) else {
      phase = .awaitingShare(preamble, code)
      return nil
    }
    guard let run = code.begin(preamble.nonce) else { throw .refused }
    let answer = run.pace.share + [run.triesLeft]
    let start = try HandshakeStart(preamble, run, joiner: share, answer: answer, isInitiator: false)
    appendFrame(answer, to: &output)
    phase = .awaitingMessage1(start)
    return try next()
  }

  private mutating func readAnswer(
    _ run: CodeExchange.Run, _ code: CodeExchange, _ keys: ChannelKeys, _ preamble: Preamble,
    _ access: ChannelAccess
  ) throws(ChannelError) -> Event? {
    let count = CodeExchange.answerBytes
    guard try !isVersionAnswerIncomplete(to: preamble, access),
      let answer = try handshakeMessage(bytes: count...count).map({ Array($0) })
    else {
      phase = .awaitingAnswer(run, code, keys, preamble, access)
      return nil
    }
    code.answered(answer[count - 1])
    let start = try HandshakeStart(
      preamble, run, joiner: run.pace.share, answer: answer, isInitiator: true)
    try writeMessage1(keys, start, preamble, access)
    return try next()
  }

  // MARK: Handshake

  private mutating func readMessage1(_ start: HandshakeStart) throws(ChannelError) -> Event? {
    // With a pre-shared key, even the empty payload of message 1 has a tag.
    let length = start.presharedKey == nil ? 32 : 48
    guard let message = try handshakeMessage(bytes: length...length) else {
      phase = .awaitingMessage1(start)
      return nil
    }
    var handshake = Handshake(role: .responder, try made(makeKeys), start)
    _ = try handshake.read(message)
    appendFrame(try handshake.write(), to: &output)
    phase = .awaitingMessage3(handshake)
    return try next()
  }

  private mutating func readMessage2(
    _ handshake: consuming Handshake, _ preamble: Preamble, _ access: ChannelAccess
  ) throws(ChannelError) -> Event? {
    guard try !isVersionAnswerIncomplete(to: preamble, access),
      let message = try handshakeMessage(bytes: 96...96)
    else {
      phase = .awaitingMessage2(handshake, preamble, access)
      return nil
    }
    _ = try handshake.read(message)
    guard case .initiator(_, let authorize) = role, let remote = handshake.remoteKey,
      let payload = authorize(remote)
    else { throw .refused }
    guard payload.count <= Self.payloadBytesMax else { throw .messageTooLarge }
    appendFrame(try handshake.write(payload: payload), to: &output)
    return .opened(try open(handshake, payload: nil))
  }

  /// Throws if the responder's first bytes are a preamble, with which a responder answers that uses another version.
  /// Returns true if more bytes of it are needed, and false if the bytes are a frame.
  private func isVersionAnswerIncomplete(
    to preamble: Preamble, _ access: ChannelAccess
  ) throws(ChannelError) -> Bool {
    // Read as a length, the magic of a preamble exceeds any handshake message.
    guard let length = frames.nextLength, length > Limits.handshakeBytesMax else { return false }
    guard let answer = Preamble(receiving: frames.bytes) else { return true }
    guard answer.isAuthentic(under: access.preambleKey), preamble.isAnswered(by: answer) else {
      throw .handshakeFailed
    }
    throw .versionMismatch(theirs: answer.version)
  }

  private mutating func readMessage3(_ handshake: consuming Handshake) throws(ChannelError) -> Event? {
    guard let message = try handshakeMessage(bytes: 64...(64 + Self.payloadBytesMax)) else {
      phase = .awaitingMessage3(handshake)
      return nil
    }
    let payload = try handshake.read(message)
    return .opened(try open(handshake, payload: payload))
  }

  private mutating func open(
    _ handshake: consuming Handshake, payload: [UInt8]?
  ) throws(ChannelError) -> ChannelOpening {
    let sealed = try handshake.finish()
    let opening = ChannelOpening(
      purpose: purpose, remoteKey: sealed.remoteKey, handshakeHash: sealed.handshakeHash, payload: payload)
    frames.grow(to: Self.openCapacity)
    phase = .open(sealed)
    return opening
  }

  /// Returns a complete handshake message of an allowed size; nil if more bytes are needed.
  private mutating func handshakeMessage(
    bytes allowed: ClosedRange<Int>
  ) throws(ChannelError) -> ArraySlice<UInt8>? {
    guard let length = frames.nextLength else { return nil }
    guard allowed.contains(length) else { throw .handshakeFailed }
    return frames.next().map { frames.storage[$0] }
  }

  private mutating func readFrames(_ sealed: consuming SealedChannel) throws(ChannelError) -> Event? {
    while let range = frames.next() {
      switch try sealed.opener.open(&frames.storage, range) {
      case .partial: continue
      case .message(let message):
        phase = .open(sealed)
        return .message(message)
      case .closed: return .closed
      }
    }
    phase = .open(sealed)
    return nil
  }

  // MARK: Sending

  /// Appends a message to `output`. The channel must be open.
  package mutating func send(_ message: [UInt8]) throws(ChannelError) {
    guard case .open(var sealed) = takePhase() else { throw .violation }
    try sealed.sealer.seal(message, into: &output)
    phase = .open(sealed)
  }

  /// Appends the closing frame to `output`. Nothing can be sent or received afterwards.
  package mutating func close() throws(ChannelError) {
    guard case .open(var sealed) = takePhase() else { return }
    try sealed.sealer.sealClose(into: &output)
  }
}

private func appendFrame(_ message: [UInt8], to output: inout [UInt8]) {
  appendFrameLength(message.count, to: &output)
  output += message
}

extension Handshake {
  fileprivate init(role: Role, _ keys: ChannelKeys, _ start: HandshakeStart) {
    self.init(
      role: role, staticKey: keys.staticKey, ephemeral: keys.ephemeral, presharedKey: start.presharedKey,
      prologue: start.prologue)
  }
}

private func made(_ makeKeys: () throws -> ChannelKeys) throws(ChannelError) -> ChannelKeys {
  do {
    return try makeKeys()
  } catch {
    throw .noKeys
  }
}
