import Enrolment
import Foundation
import Home
import Membership
import SecureChannel
import Sodium
import Testing
import Transport
import Vectors
import WaymarkTesting
import Wire

/// Protocol/transcript.md: the laptop as an inviter, and as the device that dials.
@Suite struct TranscriptTests {
  private let transcript: Transcript

  init() throws { transcript = try Transcript.load() }

  private func identity(_ name: String) throws -> Identity {
    let device = try transcript.device(name)
    return Identity(
      signing: try SigningKey(seed: try expand(device.seed)),
      transport: try AgreementKey(secret: try expand(device.transportSecret)))
  }

  /// The credentials of a device at a step.
  private func credentials(
    of name: String, _ connection: Transcript.Connection, at step: Transcript.Step
  ) throws -> Credentials {
    let statements = try #require(connection.before[name]).statements.map { try Statement(try expand($0)) }
    let clock = VirtualClock(Date(timeIntervalSince1970: Double(connection.wallClock + step.at) / 1_000))
    return try Credentials(identity: identity(name), circle: try Circle(statements: statements), clock: clock)
  }

  private func preamble(_ connection: Transcript.Connection) throws -> Preamble {
    let first = try expand(try #require(connection.steps.first?.wire))
    return try #require(Preamble(receiving: first[...]))
  }

  private func step(_ name: String, _ connection: Transcript.Connection) throws -> Transcript.Step {
    try #require(connection.steps.first { $0.name == name })
  }

  @Test func `an inviter recognizes the ticket by the preamble, and sends the join reply`() throws {
    let pairing = transcript.pairing
    let ticket = try Ticket(line: try #require(pairing.ticket).line)
    let reply = try step("join reply", pairing)
    let credentials = try credentials(of: "laptop", pairing, at: reply)
    #expect(credentials.add(ticket, role: .member, signer: nil))
    let address = try #require(SocketAddress.numeric("192.0.2.2", port: 7433))
    let access = try #require(credentials.access(by: try preamble(pairing), from: address))
    #expect(access.purpose == .pairing(ticket: ticket.id))
    let answer = PairingAnswer(
      to: try #require(try transcript.message(of: try step("join request", pairing))),
      Pairing(
        ticket: ticket.id, handshakeHash: try #require(Bytes32(try expand(pairing.handshakeHash))),
        remote: try identity("phone").transportKey),
      try Circle(
        statements: pairing.before["laptop"]?.statements.map { try Statement(try expand($0)) } ?? []),
      credentials, now: pairing.wallClock + reply.at)
    #expect(answer.reply.encoded == (try transcript.message(of: reply)))
    #expect(answer.joiner == (try identity("phone").device))
  }

  @Test func `a member that asks with a ticket leaves it to the device that it is meant for`() throws {
    let (pairing, session) = (transcript.pairing, transcript.session)
    let ticket = try Ticket(line: try #require(pairing.ticket).line)
    let reply = try step("join reply", pairing)
    let credentials = try credentials(of: "laptop", pairing, at: reply)
    #expect(credentials.add(ticket, role: .member, signer: nil))
    let phone = try identity("phone")
    let answer = PairingAnswer(
      to: try #require(try transcript.message(of: try step("join request", pairing))),
      Pairing(
        ticket: ticket.id, handshakeHash: try #require(Bytes32(try expand(pairing.handshakeHash))),
        remote: phone.transportKey),
      try Circle(
        statements: session.before["laptop"]?.statements.map { try Statement(try expand($0)) } ?? []),
      credentials, now: pairing.wallClock + reply.at)
    guard case .accepted = answer.reply else {
      Issue.record("\(answer.reply)")
      return
    }
    #expect(answer.certificate == nil && answer.joiner == nil)
    #expect(!credentials.isSpent(ticket.id, on: phone.device))
  }

  @Test func `a device recognizes the session by the preamble, and dials with the introduction`() throws {
    let session = transcript.session
    let message3 = try step("handshake message 3", session)
    let laptop = try credentials(of: "laptop", session, at: message3)
    let introduction = laptop.introduction(to: try identity("phone").transportKey)
    #expect(introduction == (try transcript.message(of: message3)))
    let phone = try credentials(of: "phone", session, at: message3)
    let address = try #require(SocketAddress.numeric("192.0.2.1", port: 7433))
    #expect(phone.access(by: try preamble(session), from: address)?.purpose == .session)
    #expect(phone.access(by: try preamble(transcript.pairing), from: address) == nil)
  }
}
