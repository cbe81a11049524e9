import NodeRuntime
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The addresses of peers that a person gave, at the start of a node or later.
struct GivenAddressTests {
  @Test func `an address that is given at the start and then added is listed once`() async throws {
    let clock = VirtualClock()
    let (own, first, second) = ("192.0.2.1:7433", "198.51.100.7:7433", "198.51.100.8:7433")
    let node = try ScriptedTransport(at: own).node(clock: clock)
    try await node.serve(listen: own, peers: [first, second])
    func listed() async throws -> [String: Bool] {
      try await clock.quiet()
      let addresses = try await node.status().addresses
      #expect(addresses.count == 2)
      return Dictionary(addresses.map { ($0.address, $0.isSaved) }, uniquingKeysWith: { first, _ in first })
    }
    #expect(try await listed() == [first: false, second: false])
    try await node.addPeer(at: second)
    #expect(try await listed() == [first: false, second: true])
    await node.close()
  }
}
