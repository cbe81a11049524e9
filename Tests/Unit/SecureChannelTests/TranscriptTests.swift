import SecureChannel
import Sodium
import Testing
import Vectors
import Wire

/// Protocol/transcript.md: with the keys of the transcript, both ends send exactly its bytes, and accept them.
@Suite struct TranscriptTests {
  /// Both ends of a connection of the transcript.
  private struct Ends: ~Copyable {
    var dialler: Channel
    var dialled: Channel
    let diallerName: String
    let transcript: Transcript
    let connection: Transcript.Connection

    init(_ name: String) throws {
      let transcript = try Transcript.load()
      let connection = name == "pairing" ? transcript.pairing : transcript.session
      let first = try #require(connection.steps.first)
      let (diallerName, dialledName) = (try #require(first.from), try #require(first.to))
      let access = try Self.access(connection)
      let remote = bytes(try transcript.device(dialledName).transport)
      let payload = bytes(connection.steps[2].message ?? "")
      let mine = try Self.keys(transcript, connection, diallerName)
      let theirs = try Self.keys(transcript, connection, dialledName)
      let dialler = try Channel(.initiator(access) { $0.bytes == remote ? payload : nil }) { mine }
      let dialled = try Channel(.responder { $0.isAuthentic(under: access.preambleKey) ? access : nil }) {
        theirs
      }
      self.init(
        dialler: dialler, dialled: dialled, diallerName: diallerName, transcript: transcript,
        connection: connection)
    }

    private init(
      dialler: consuming Channel, dialled: consuming Channel, diallerName: String, transcript: Transcript,
      connection: Transcript.Connection
    ) {
      self.dialler = dialler
      self.dialled = dialled
      self.diallerName = diallerName
      self.transcript = transcript
      self.connection = connection
    }

    private static func access(_ connection: Transcript.Connection) throws -> ChannelAccess {
      let preambleKey = try SymmetricKey(bytes(connection.preambleKey))
      guard let ticket = connection.ticket else { return ChannelAccess(sessionKey: preambleKey) }
      return ChannelAccess(
        ticket: TicketID(1), preambleKey: preambleKey,
        presharedKey: try SymmetricKey(bytes(ticket.presharedKey)))
    }

    private static func keys(
      _ transcript: Transcript, _ connection: Transcript.Connection, _ name: String
    ) throws -> ChannelKeys {
      ChannelKeys(
        staticKey: try AgreementKey(secret: bytes(try transcript.device(name).transportSecret)),
        ephemeral: try AgreementKey(secret: bytes(connection.ephemerals[name] ?? "")),
        nonce: try #require(Bytes16(bytes(connection.preambleNonce))))
    }

    /// Lets the sender of a step send it, and returns its bytes. During the handshake an end sends by itself.
    mutating func send(_ step: Transcript.Step, after handshake: Int = 3) throws -> [UInt8] {
      let message = try transcript.message(of: step)
      let isHandshake = step.number.map { $0 <= handshake } ?? false
      if step.from == diallerName {
        if !isHandshake { if let message { try dialler.send(message) } else { try dialler.close() } }
        defer { dialler.output = [] }
        return dialler.output
      }
      if !isHandshake { if let message { try dialled.send(message) } else { try dialled.close() } }
      defer { dialled.output = [] }
      return dialled.output
    }

    /// Gives bytes to the receiver of a step.
    mutating func receive(_ wire: [UInt8], of step: Transcript.Step) throws -> [Channel.Event] {
      step.from == diallerName ? try Self.give(wire, to: &dialled) : try Self.give(wire, to: &dialler)
    }

    private static func give(_ wire: [UInt8], to end: inout Channel) throws -> [Channel.Event] {
      var events: [Channel.Event] = []
      var rest = wire[...]
      while !rest.isEmpty {
        let count = end.frames.append(rest)
        rest = rest.dropFirst(count)
        while let event = try end.next() { events.append(event) }
        guard count > 0 else { break }
      }
      return events
    }
  }

  private static func messages(_ connection: Transcript.Connection) -> [Transcript.Step] {
    connection.steps.filter { $0.from != nil }
  }

  @Test(arguments: ["pairing", "session"])
  func `with the keys of the transcript, both ends send and accept exactly its bytes`(_ name: String) throws {
    var ends = try Ends(name)
    var opened: [ChannelOpening] = []
    for step in Self.messages(ends.connection) {
      let wire = try ends.send(step)
      if let hash = step.wireHash {
        #expect(
          wire.count == step.wireBytes && hexadecimal(blake2b(wire)) == hash, "step \(step.number ?? 0)")
      } else {
        #expect(hexadecimal(wire) == step.wire, "step \(step.number ?? 0)")
      }
      for event in try ends.receive(wire, of: step) {
        switch event {
        case .recognized: #expect(step.number == 1)
        case .opened(let opening): opened.append(opening)
        case .message(let message):
          #expect(message == (try ends.transcript.message(of: step)), "step \(step.number ?? 0)")
          if let hash = step.messageHash { #expect(hexadecimal(blake2b(message)) == hash) }
        case .closed: #expect(step.name == "close")
        }
      }
    }
    #expect(opened.count == 2)
    for opening in opened {
      #expect(hexadecimal(opening.handshakeHash.bytes) == ends.connection.handshakeHash)
    }
    let payload = ends.connection.steps[2].message ?? ""
    #expect(opened.compactMap(\.payload) == [bytes(payload)])
  }

  @Test(arguments: ["pairing", "session"])
  func `a byte flipped in any handshake message or sealed frame is refused`(_ name: String) throws {
    let steps = Self.messages(try Ends(name).connection)
    for (index, step) in steps.enumerated() where index > 0 {
      for frame in 0..<frames(of: step) {
        var ends = try Ends(name)
        for earlier in steps[..<index] {
          let wire = try ends.send(earlier)
          _ = try ends.receive(wire, of: earlier)
        }
        var wire = try ends.send(step)
        wire[flipped(in: wire, frame: frame, index)] ^= 0x10
        #expect(throws: ChannelError.self, "step \(step.number ?? 0), frame \(frame)") {
          _ = try ends.receive(wire, of: step)
        }
      }
    }
  }

  /// The preamble is not sealed: the responder discards everything after one with a wrong byte, and says nothing.
  @Test(arguments: ["pairing", "session"])
  func `after a byte flipped in the preamble, the responder sends nothing`(_ name: String) throws {
    for position in [0, 8, 9, 24, 25, 40] {
      var ends = try Ends(name)
      let first = try #require(ends.connection.steps.first)
      var wire = try ends.send(first)
      wire[position] ^= 0x10
      let events = try ends.receive(wire, of: first)
      #expect(events.isEmpty && ends.dialled.isIgnoring && ends.dialled.output.isEmpty)
    }
  }

  private func frames(of step: Transcript.Step) -> Int {
    let contentBytesMax = 65_518
    return max(1, ((step.messageBytes ?? 0) + contentBytesMax - 1) / contentBytesMax)
  }

  /// A position in the content of a frame, another one for each step.
  private func flipped(in wire: [UInt8], frame: Int, _ step: Int) -> Int {
    var start = 0
    for _ in 0..<frame { start += 2 + (Int(wire[start]) << 8 | Int(wire[start + 1])) }
    let length = Int(wire[start]) << 8 | Int(wire[start + 1])
    return start + 2 + step * 37 % length
  }
}

private func blake2b(_ bytes: [UInt8]) -> [UInt8] { Blake2b256.bytes(Blake2b256.hash(bytes)) }
