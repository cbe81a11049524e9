import Membership
import Sodium
import Testing
import Vectors
import Wire

/// Protocol/transcript.md: pairing.
@Suite struct TranscriptTests {
  private let transcript: Transcript
  private let pairing: Transcript.Connection
  private let circle: Circle
  private let hash: [UInt8]

  init() throws {
    transcript = try Transcript.load()
    pairing = transcript.pairing
    let before = try #require(pairing.before["laptop"])
    circle = try Circle(statements: before.statements.map { try Statement(try expand($0)) })
    hash = try expand(pairing.handshakeHash)
  }

  private func message(_ name: String) throws -> [UInt8] {
    let step = try #require(pairing.steps.first { $0.name == name })
    return try #require(try transcript.message(of: step))
  }

  private func key(_ name: String) throws -> SigningKey {
    try SigningKey(seed: try expand(try transcript.device(name).seed))
  }

  private func transport(_ name: String) throws -> TransportKey {
    try #require(TransportKey(bytes: try expand(try transcript.device(name).transport)[...]))
  }

  private var ticket: Ticket {
    get throws {
      let told = try #require(pairing.ticket)
      return Ticket(
        circle: circle.id, transport: try transport("laptop"), addresses: told.addresses,
        secret: try #require(Bytes16(try expand(told.secret))), expiry: told.expiry)
    }
  }

  @Test func `the ticket of the transcript has its line and its keys`() throws {
    let (ticket, told) = (try ticket, try #require(pairing.ticket))
    #expect(ticket.line == told.line)
    #expect(try Ticket(line: told.line) == ticket)
    #expect(hexadecimal(ticket.preambleKey) == told.preambleKey && told.preambleKey == pairing.preambleKey)
    #expect(hexadecimal(ticket.preSharedKey) == told.presharedKey)
  }

  @Test func `the phone sends the join request of the transcript`() throws {
    let request = JoinRequest(
      key: try key("phone"), transport: try transport("phone"), name: "phone", handshakeHash: hash)
    #expect(request.encoded == (try message("join request")))
  }

  @Test func `the laptop certifies the phone, and sends the join reply of the transcript`() throws {
    let request = try JoinRequest(try message("join request"))
    #expect(request.isProven(handshakeHash: hash, authenticated: try transport("phone")))
    #expect(!request.isProven(handshakeHash: hash.reversed(), authenticated: try transport("phone")))
    let step = try #require(pairing.steps.first { $0.name == "join reply" })
    let (reply, certificate) = try circle.admit(
      request, role: .member, by: try key("laptop"), at: pairing.wallClock + step.at)
    #expect(reply.encoded == (try message("join reply")))
    var extended = circle
    extended.insert([try #require(certificate)])
    try expectHolds(extended, step.after?["laptop"])
  }

  @Test func `the phone is a member by the join reply of the transcript`() throws {
    guard case .accepted(let statements) = try JoinReply(try message("join reply")) else {
      Issue.record("the reply refuses the phone")
      return
    }
    let phone = DeviceKey(try key("phone"))
    let joined = try #require(
      Circle.joined(statements, ticket: try ticket, device: phone, transport: try transport("phone")))
    let step = try #require(pairing.steps.first { $0.name == "join reply" })
    try expectHolds(joined, step.after?["phone"])
  }

  private func expectHolds(_ circle: Circle, _ holding: Transcript.Holding?) throws {
    let holding = try #require(holding)
    #expect(hexadecimal(circle.setHash.bytes) == holding.certificates)
    #expect(circle.evaluation.members.values.map(\.name).sorted() == holding.members)
  }
}
