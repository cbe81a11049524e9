import Enrolment
import Home
import Membership
import Testing
import Transport
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// The addresses at which a joining device tries to reach the one that invited it.
struct JoinAddressTests {
  @Test func `a device joins at the last address of its ticket, although five before it do not answer`()
    async throws
  {
    let home = try TestHome()
    let alice = try await Node.open(home.home, name: "alice")
    let address = try await alice.serve(listen: "127.0.0.1:0")
    var ticket = try await alice.newTicket(code: nil)
    // Nothing listens at these ports.
    ticket.addresses = (1...5).map { "127.0.0.1:\($0)" } + [address]
    let exchange = PairingExchange(ticket: ticket, identity: try Identity.generate(), name: "bob")
    let joined = try await exchange.run()
    #expect(joined.id == ticket.circle)
    #expect(await alice.circle.evaluation.members.count == 2)
    await alice.close()
  }

  @Test func `the address at which a device got its ticket by a code is the first that it dials`()
    async throws
  {
    let home = try TestHome()
    let alice = try await Node.open(home.home, name: "alice")
    let address = try await alice.serve(listen: "127.0.0.1:0")
    let port = try #require(Endpoint(address)?.port)
    // Alice does not know that she can be reached at the other one, as if a router forwarded a port to hers.
    let other = "localhost:\(port)"
    let expected: [(given: String, addresses: [String])] = [(other, [other, address]), (address, [address])]
    for (given, addresses) in expected {
      let code = try PairingCode(number: 482_913)
      _ = try await alice.newTicket(code: code)
      let pairing = try #require(CodePairing(code.shown))
      let line = try await pairing.ticket(at: given, on: nil) { _, _ in }
      let ticket = try Ticket(line: line)
      #expect(ticket.addresses == addresses, "\(given)")
    }
    await alice.close()
  }
}

extension Node {
  fileprivate func newTicket(code: PairingCode?) throws -> Ticket {
    try core.connections.makeTicket(role: .member, lifetime: 600_000, code: code)
  }
}
