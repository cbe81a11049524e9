import Platform
import SecureChannel
import Testing
import Wire

@testable import Transport

/// Addresses that the system refuses before anything is sent, when a node dials them or listens there.
@Suite(.serialized) struct UnreachableAddressTests {
  /// An address to which no connection can be made.
  private static let group = "224.0.0.1"

  @Test func `an address that the system refuses ends the attempt at once, and says that there is no way`()
    async throws
  {
    let alice = Recorder()
    let link = try TestLink(
      dialing: Endpoint(host: Self.group, port: 7_433), role: .initiator(World.session) { _ in [] },
      settings: settings(key: 1), handlers: alice.handlers)
    link.start()
    try await eventually("the attempt has ended") { alice.ends.count == 1 }
    #expect(alice.ends == [.noRoute])
  }

  @Test func `after an address that the system refuses, the next one of the name is tried`() async throws {
    let world = try World()
    let refused = try #require(SocketAddress.numeric(Self.group, port: 7_433))
    let address = world.listener.address
    let link = try TestLink(
      dialing: Endpoint(host: "home.example", port: address.port),
      role: .initiator(World.session) { _ in [] },
      settings: settings(key: 1), handlers: world.alice.handlers
    ) { _ in [refused, address] }
    link.start()
    try await eventually("both ends are open") { world.bob.opening != nil && world.alice.opening != nil }
    #expect(link.remoteAddress == address)
  }

  @Test func `this machine is reached at the addresses of all its interfaces that are up`() throws {
    let interfaces = try #require(NetworkInterface.all)
    let usable = interfaces.filter { interface in
      interface.isUp && !interface.address.isLoopback && !interface.address.isLinkLocal
        && !interface.host.hasPrefix("169.254.")
    }
    let found = SocketAddress.ofThisMachine(port: 7)
    #expect(Set(found.map(\.host)) == Set(usable.map(\.host)))
    #expect(found.count == Set(found).count, "each of them once")
    let isOfPort = found.allSatisfy { $0.port == 7 }
    #expect(isOfPort)
  }
}
