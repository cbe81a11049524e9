import JSONDocument
import Membership
import Replication
import Testing
import WaymarkTesting
import Wire

@testable import NodeRuntime
@testable import Waymark

/// Addresses that a hostile member could announce.
struct PeerAddressTests {
  @Test func `of the addresses that a member announces only network addresses are dialled`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let harmless: Set = ["203.0.113.9:7433", "[2001:db8::9]:7433"]
    let hostile: Set = [
      "127.0.0.1:6379", "[::1]:6379", "169.254.169.254:80", "0.0.0.0:1", "leak.example:1",
    ]
    let statement = try await circle["bob"].statement(announcing: harmless.union(hostile).sorted())
    await circle["alice"].learn(statement)
    let known = await circle["alice"].knownAddresses
    #expect(known.isSuperset(of: harmless))
    #expect(known.isDisjoint(with: hostile))
    await circle.close()
  }
}

extension Node {
  fileprivate func statement(announcing addresses: [String]) throws -> [UInt8] {
    let body = AddressStatement(
      circle: circle.id, device: identity.device,
      clock: circle.nextAddressClock(of: identity.device, now: UInt64(clamping: wall())), addresses: addresses
    )
    return try Statement(signing: body, with: identity.signing).bytes
  }

  fileprivate func learn(_ statement: [UInt8]) { core.loop.handle(.statementsAdded([statement])) }

  fileprivate var knownAddresses: Set<String> { Set(core.connections.peering.addresses.map(\.address)) }
}
