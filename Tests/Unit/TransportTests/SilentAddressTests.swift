import Platform
import SecureChannel
import Testing
import Wire

@testable import Transport

/// A name with several addresses, of which some do not answer.
@Suite(.serialized) struct SilentAddressTests {
  @Test func `a name whose first address never answers is dialled at the others before the time is over`()
    async throws
  {
    let world = try World()
    let silent = try SilentAddress()
    var limits = LinkLimits.unhurried
    limits.connectMilliseconds = 4_000
    // Deadlines are checked every few milliseconds.
    limits.lingerMilliseconds = 20
    let address = world.listener.address
    // The silent one gets a twentieth of the time.
    let found = [silent.address] + [SocketAddress](repeating: address, count: 19)
    let began = ContinuousClock.now
    let link = try TestLink(
      dialing: Endpoint(host: "home.example", port: address.port),
      role: .initiator(World.session) { _ in [] },
      settings: settings(key: 1, limits), handlers: world.alice.handlers
    ) { _ in found }
    link.start()
    try await eventually("the attempt has an outcome") {
      world.alice.opening != nil || world.alice.ends.count == 1
    }
    #expect(world.alice.ends.isEmpty && link.remoteAddress == address)
    #expect(ContinuousClock.now - began >= .milliseconds(150), "the silent one has had its share")
    link.close()
    withExtendedLifetime(silent) {}
  }
}

/// An address that neither accepts nor refuses an attempt to connect, as that of a machine that is off.
private final class SilentAddress: Sendable {
  let address: SocketAddress
  private let sockets: [Socket]

  init() throws {
    let server = try Socket.listening(on: loopback(port: 0))
    let place = try #require(server.localAddress)
    // Once its queue is full, which is never emptied, the system drops further attempts.
    let isShort = listen(server.descriptor, 1) == 0
    try #require(isShort)
    address = place
    sockets = try [server] + (0..<8).map { _ in try Socket.connecting(to: place).socket }
  }

  deinit { for socket in sockets { socket.closeDescriptor() } }
}
