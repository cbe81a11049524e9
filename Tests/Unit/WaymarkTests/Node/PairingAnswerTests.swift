import Enrolment
import Foundation
import Home
import Membership
import Sodium
import Testing
import Transport
import WaymarkTesting
import Wire

/// What an inviter answers to a joiner that has proved that it holds a ticket.
@Suite struct PairingAnswerTests {
  private static let now: Int64 = 1_777_795_200_000

  private let alice: CircleCreation
  private var circle: Circle
  private let hash = Bytes32(5, 6, 7, 8)

  init() throws {
    alice = try CircleCreation(name: "alice", now: Self.now)
    circle = try Circle(genesis: alice.genesis)
  }

  private func credentials(of identity: Identity? = nil) throws -> Credentials {
    try Credentials(
      identity: identity ?? alice.identity, circle: circle,
      clock: VirtualClock(Date(timeIntervalSince1970: Double(Self.now) / 1_000)))
  }

  private func ticket(_ number: UInt64 = 1, lasting milliseconds: Int64 = 600_000) -> Ticket {
    Ticket(
      circle: circle.id, transport: alice.identity.transportKey, addresses: [], secret: Bytes16(number, 1),
      expiry: Self.now + milliseconds)
  }

  private func answer(
    _ joiner: Identity, _ ticket: Ticket, _ credentials: Credentials, called name: String = "phone",
    over signed: Bytes32? = nil, from remote: TransportKey? = nil
  ) -> PairingAnswer {
    let request = JoinRequest(
      key: joiner.signing, transport: joiner.transportKey, name: name, handshakeHash: (signed ?? hash).bytes)
    return PairingAnswer(
      to: request.encoded,
      Pairing(ticket: ticket.id, handshakeHash: hash, remote: remote ?? joiner.transportKey), circle,
      credentials, now: Self.now)
  }

  private func isAccepted(_ answer: PairingAnswer) -> Bool {
    if case .accepted = answer.reply { return true }
    return false
  }

  @Test func `a ticket admits one device, which may ask again, and no other`() throws {
    var test = self
    let (phone, tablet) = (try Identity.generate(), try Identity.generate())
    let ticket = ticket()
    let credentials = try credentials()
    #expect(credentials.add(ticket, role: .admin, signer: nil))
    let first = test.answer(phone, ticket, credentials)
    #expect(test.isAccepted(first) && first.joiner == phone.device)
    test.circle.insert([try #require(first.certificate)])
    let member = try #require(test.circle.evaluation.members[phone.device])
    #expect(member.role == .admin && member.name == "phone" && member.inviter == alice.identity.device)
    // The answer was lost, so the device asks again. It gets no second certificate.
    let again = test.answer(phone, ticket, credentials, called: "other")
    #expect(test.isAccepted(again) && again.certificate == nil && again.joiner == phone.device)
    let other = test.answer(tablet, ticket, credentials)
    #expect(other.reply == .refused(.ticketSpent) && other.certificate == nil && other.joiner == nil)
    // Another ticket is not spent with it, and has its own role.
    let next = self.ticket(2)
    #expect(credentials.add(next, role: .member, signer: nil))
    let later = test.answer(tablet, next, credentials)
    #expect(test.isAccepted(later) && later.joiner == tablet.device)
    test.circle.insert([try #require(later.certificate)])
    #expect(test.circle.evaluation.members[tablet.device]?.role == .member)
  }

  @Test(arguments: [(0, .ticketExpired), (-1, .ticketExpired), (1, nil)] as [(Int64, JoinRefusal?)])
  func `a ticket is accepted until the millisecond before it expires`(
    lasting: Int64, refusal: JoinRefusal?
  ) throws {
    let ticket = ticket(lasting: lasting)
    let credentials = try credentials()
    #expect(credentials.add(ticket, role: .member, signer: nil))
    let answer = answer(try Identity.generate(), ticket, credentials)
    if let refusal {
      #expect(answer.reply == .refused(refusal) && answer.certificate == nil && answer.joiner == nil)
    } else {
      #expect(isAccepted(answer) && answer.certificate != nil)
    }
  }

  @Test func `a request without a proof of its keys is refused, and leaves the ticket to the right device`()
    throws
  {
    let (phone, stranger) = (try Identity.generate(), try Identity.generate())
    let ticket = ticket()
    let credentials = try credentials()
    #expect(credentials.add(ticket, role: .member, signer: nil))
    let refused = [
      // Signed in another handshake, and sent in a handshake with another key.
      answer(phone, ticket, credentials, over: Bytes32(1, 1, 1, 1)),
      answer(phone, ticket, credentials, from: stranger.transportKey),
      PairingAnswer(
        to: [0xa0], Pairing(ticket: ticket.id, handshakeHash: hash, remote: phone.transportKey), circle,
        credentials, now: Self.now),
    ]
    for answer in refused {
      #expect(answer.reply == .refused(.badProof) && answer.certificate == nil && answer.joiner == nil)
    }
    let unknown = answer(phone, self.ticket(2), credentials)
    #expect(unknown.reply == .refused(.other) && unknown.joiner == nil)
    let taken = answer(
      Identity(signing: phone.signing, transport: alice.identity.transport), ticket, credentials)
    #expect(taken.reply == .refused(.keyInUse) && taken.joiner == nil)
    #expect(isAccepted(answer(phone, ticket, credentials)))
    #expect(
      credentials.isSpent(ticket.id, on: phone.device) && !credentials.isSpent(ticket.id, on: stranger.device)
    )
  }

  @Test
  func `a device that is no admin admits with the root key only, and only for the ticket that names it`()
    throws
  {
    var test = self
    let (bob, phone) = (try Identity.generate(), try Identity.generate())
    let certificate = DeviceCertificate(
      circle: circle.id, issuer: DeviceKey(alice.root), device: bob.device, transport: bob.transportKey,
      name: "bob", role: .member, issued: Self.now)
    test.circle.insert([try Statement(signing: certificate, with: alice.root)])
    let (plain, rooted) = (ticket(1), ticket(2))
    let credentials = try test.credentials(of: bob)
    #expect(credentials.add(rooted, role: .admin, signer: alice.root))
    #expect(credentials.add(plain, role: .admin, signer: nil))
    let refused = test.answer(phone, plain, credentials)
    #expect(refused.reply == .refused(.notAdmin) && refused.joiner == nil)
    #expect(!credentials.isSpent(plain.id, on: phone.device))
    let answer = test.answer(phone, rooted, credentials)
    #expect(test.isAccepted(answer) && answer.joiner == phone.device)
    test.circle.insert([try #require(answer.certificate)])
    #expect(test.circle.evaluation.members[phone.device]?.inviter == DeviceKey(alice.root))
  }
}
