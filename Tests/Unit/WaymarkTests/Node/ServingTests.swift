import Foundation
import Membership
import Model
import Replication
import Testing
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// Where a node serves, and what it refuses before it does.
struct ServingTests {
  @Test func `an address of a peer that can't be dialled is refused before the node listens`() async throws {
    let test = try TestHome()
    let node = try await Node.open(test.home, name: "alice")
    let code = try await refusal {
      try await node.serve(listen: "127.0.0.1:0", peers: ["127.0.0.1:9", "nowhere"])
    }
    #expect(code == "bad_value")
    #expect(await node.listening == nil)
    let address = try await node.serve(listen: "127.0.0.1:0", peers: ["127.0.0.1:9"])
    #expect(await node.listening == address)
    #expect(try await refusal { try await node.serve(listen: "127.0.0.1:0") } == "serving")
    #expect(await node.listening == address)
    await node.close()
  }

  @Test func `a node that asked for any port resumes at another one if its own was taken`() async throws {
    let (test, other) = (try TestHome(), try TestHome())
    let node = try await Node.open(test.home, name: "alice")
    let taker = try await Node.open(other.home, name: "carol")
    let address = try await node.serve(listen: "127.0.0.1:0")
    await node.suspend()
    try await taker.serve(listen: address)
    try await node.resume()
    let next = try #require(await node.listening)
    #expect(next != address && next.hasPrefix("127.0.0.1:"))
    // From now on it keeps the port that it got.
    await node.suspend()
    #expect(await node.listening == nil)
    try await node.resume()
    #expect(await node.listening == next)
    await node.close()
    await taker.close()
  }

  @Test
  func `a node that asked for a port does not resume at another one, and tries again when it is asked to`()
    async throws
  {
    let (test, other) = (try TestHome(), try TestHome())
    let node = try await Node.open(test.home, name: "alice")
    let taker = try await Node.open(other.home, name: "carol")
    let address = try await taker.serve(listen: "127.0.0.1:0")
    await taker.suspend()
    try await node.serve(listen: address)
    await node.suspend()
    try await taker.resume()
    // Carol asked for any port, but hers is free again.
    #expect(await taker.listening == address)
    #expect(try await refusal { try await node.resume() } == "address_in_use")
    #expect(await node.listening == nil)
    #expect(try await node.count(Trip.all) == 0, "it is open, although it does not serve")
    // How it served is not forgotten, even over another suspension.
    await node.suspend()
    await taker.suspend()
    try await node.resume()
    #expect(await node.listening == address)
    await node.close()
    await taker.close()
  }

  @Test func `tickets are for admins that serve, limited in number, and make room when they expire`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", premium: .nobody)
    let alice = circle["alice"]
    #expect(try await refusal { _ = try await circle["bob"].ticket() } == "not_admin")
    var tickets: Set<Bytes16> = []
    for _ in 0..<Limits.ticketsMax { tickets.insert(try await alice.ticket()) }
    #expect(tickets.count == Limits.ticketsMax, "each has a secret of its own")
    #expect(try await refusal { _ = try await alice.ticket() } == "too_many_tickets")
    try await circle.clock.advance(by: .milliseconds(Limits.ticketMilliseconds))
    _ = try await alice.ticket()
    let lone = try Node.inMemory(name: "carol", clock: VirtualClock())
    #expect(try await refusal { _ = try await lone.ticket() } == "not_running")
    await lone.close()
    await circle.close()
  }
}

extension Node {
  /// Where the node listens; nil if it does not.
  fileprivate var listening: String? { core.connections.serving?.listening }

  /// Makes a ticket, and returns its secret.
  fileprivate func ticket() throws -> Bytes16 {
    try core.connections.makeTicket(role: .member, lifetime: Limits.ticketMilliseconds).secret
  }
}
