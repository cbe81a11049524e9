import Enrolment
import Foundation
import Home
import Membership
import Reasons
import SecureChannel
import Sodium
import Testing
import Transport
import WaymarkTesting
import Wire

/// Who may begin a handshake with a device, and to whom the device introduces itself.
@Suite struct CredentialsTests {
  private let alice: CircleCreation
  private let circle: Circle
  private let clock = VirtualClock(Date(timeIntervalSince1970: Double(TestNode.morning) / 1_000))

  init() throws {
    alice = try CircleCreation(name: "alice", now: TestNode.morning)
    circle = try Circle(genesis: alice.genesis)
  }

  private func credentials() throws -> Credentials {
    try Credentials(identity: alice.identity, circle: circle, clock: clock)
  }

  private func ticket(_ number: UInt64 = 1, lasting milliseconds: Int64 = 600_000) -> Ticket {
    Ticket(
      circle: circle.id, transport: alice.identity.transportKey, addresses: [], secret: Bytes16(number, 1),
      expiry: TestNode.morning + milliseconds)
  }

  private func preamble(_ ticket: Ticket) throws -> Preamble {
    Preamble(nonce: Bytes16(7, 8), key: try ticket.access().preambleKey)
  }

  private func address(_ host: String = "192.168.1.20") throws -> SocketAddress {
    try #require(SocketAddress.numeric(host, port: 7_433))
  }

  @Test func `a code may be tried only while it is offered, and only from nearby`() throws {
    let credentials = try credentials()
    let near = try address()
    let preamble = Preamble(nonce: Bytes16(7, 8), key: CodeExchange.preambleKey)
    #expect(credentials.access(by: preamble, from: near) == nil)
    let plain = ticket(2)
    #expect(credentials.add(plain, role: .member, signer: nil))
    #expect(credentials.offered == nil && credentials.access(by: preamble, from: near) == nil)
    let shown = ticket(1)
    let code = try #require(PairingCode("123 456"))
    #expect(credentials.add(shown, role: .member, code: code, signer: nil))
    #expect(credentials.offered == shown.id)
    for host in ["192.168.1.20", "127.0.0.1", "fe80::1"] {
      let access = credentials.access(by: preamble, from: try address(host))
      #expect(access?.purpose == .code(ticket: shown.id), "\(host)")
    }
    for host in ["8.8.8.8", "2001:db8:ffff::1"] {
      #expect(credentials.access(by: preamble, from: try address(host)) == nil, "\(host)")
    }
    #expect(credentials.cancel(shown.id))
    #expect(credentials.offered == nil && credentials.access(by: preamble, from: near) == nil)
  }

  @Test func `a member and the holder of an open ticket have access, from anywhere, and nobody else has`()
    throws
  {
    let credentials = try credentials()
    let (open, late, strange) = (ticket(1), ticket(2, lasting: 0), ticket(3))
    #expect(credentials.add(open, role: .member, signer: nil))
    #expect(credentials.add(late, role: .member, signer: nil))
    let far = try address("8.8.8.8")
    let session = Preamble(nonce: Bytes16(7, 8), key: credentials.sessionAccess.preambleKey)
    #expect(credentials.access(by: session, from: far)?.purpose == .session)
    #expect(credentials.access(by: try preamble(open), from: far)?.purpose == .pairing(ticket: open.id))
    #expect(credentials.access(by: try preamble(late), from: far) == nil)
    #expect(credentials.access(by: try preamble(strange), from: far) == nil)
    let other = try CircleCreation(name: "bob", now: TestNode.morning).genesis.circle
    let foreign = Preamble(nonce: Bytes16(7, 8), key: try SymmetricKey(other.preambleKey))
    #expect(credentials.access(by: foreign, from: far) == nil)
  }

  @Test func `attempts that fail are limited for each address, for a minute, and those that succeed are not`()
    async throws
  {
    let credentials = try credentials()
    let ticket = ticket()
    #expect(credentials.add(ticket, role: .member, signer: nil))
    let (first, second) = (try address(), try address("192.168.1.21"))
    let preamble = try preamble(ticket)
    for _ in 0..<2 * Limits.ticketFailuresMax {
      #expect(credentials.access(by: preamble, from: first) != nil)
      credentials.pairingSucceeded(from: first)
    }
    for _ in 0..<Limits.ticketFailuresMax { #expect(credentials.access(by: preamble, from: first) != nil) }
    #expect(credentials.access(by: preamble, from: first) == nil)
    #expect(credentials.access(by: preamble, from: second) != nil)
    let session = Preamble(nonce: Bytes16(7, 8), key: credentials.sessionAccess.preambleKey)
    #expect(credentials.access(by: session, from: first) != nil, "members are not kept out")
    try await clock.advance(by: .milliseconds(Limits.ticketFailureMilliseconds))
    #expect(credentials.access(by: preamble, from: first) != nil)
  }

  @Test func `a device introduces itself to members, and neither to strangers nor to itself`() throws {
    var circle = circle
    let (bob, stranger) = (try Identity.generate(), try Identity.generate())
    let credentials = try credentials()
    #expect(credentials.introduction(to: bob.transportKey) == nil)
    let certificate = DeviceCertificate(
      circle: circle.id, issuer: DeviceKey(alice.root), device: bob.device, transport: bob.transportKey,
      name: "bob", role: .member, issued: TestNode.morning)
    circle.insert([try Statement(signing: certificate, with: alice.root)])
    credentials.update(circle)
    #expect(credentials.introduction(to: bob.transportKey) != nil)
    #expect(credentials.introduction(to: stranger.transportKey) == nil)
    #expect(credentials.introduction(to: alice.identity.transportKey) == nil)
  }

  @Test func `the root key signs for the tickets that name it, and is forgotten once they have expired`()
    async throws
  {
    let credentials = try credentials()
    let own = alice.identity.signing.publicKey
    let (rooted, plain) = (ticket(1, lasting: 60_000), ticket(2))
    #expect(credentials.add(rooted, role: .admin, signer: alice.root))
    #expect(credentials.add(plain, role: .admin, signer: nil))
    #expect(credentials.signer(of: rooted.id).publicKey == alice.root.publicKey)
    #expect(credentials.signer(of: plain.id).publicKey == own)
    #expect(credentials.signer(of: ticket(3).id).publicKey == own)
    try await clock.advance(by: .seconds(60))
    #expect(credentials.add(ticket(3), role: .member, signer: nil))
    #expect(credentials.signer(of: rooted.id).publicKey == own)
  }

  // MARK: The joiner

  @Test(
    arguments: [
      (.ticketSpent, .ticketSpent), (.ticketExpired, .ticketExpired), (.circleFull, .circleFull),
      (.keyInUse, .keyInUse), (.notAdmin, .notAdmin), (.badProof, .refused), (.other, .refused),
    ] as [(JoinRefusal, Reason)])
  func `each refusal has its reason and the next step`(refusal: JoinRefusal, reason: Reason) {
    let failure = WaymarkError.refused(refusal)
    #expect(failure.reason == reason && failure.next != nil)
  }

  @Test func `an address that can't be that of the inviter is refused before anything is sent`() async throws
  {
    let home = try TestHome()
    for address in ["", "nowhere", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "::1:7433"] {
      let code = try await refusal {
        _ = try await JoinOperation(home: home.home, code: "123 456", at: address, name: "bob")
      }
      #expect(code == "bad_value", "\(address)")
    }
    // Nothing listens at port 1.
    let code = try await refusal {
      _ = try await JoinOperation(home: home.home, code: "123456", at: "127.0.0.1:1", name: "bob")
    }
    #expect(code == "unreachable")
    #expect(!FileManager.default.fileExists(atPath: home.home.path))
  }
}
