import Dispatch
import SecureChannel
import Synchronization
import Testing
import Wire

@testable import Transport

/// Dialling by name: the look-up may take any time, and give any addresses.
@Suite(.serialized) struct NameDialingTests {
  private func dial(
    _ host: String, port: UInt16, _ recorder: Recorder, _ limits: LinkLimits = .unhurried,
    _ resolve: @escaping @Sendable (Endpoint) -> [SocketAddress]
  ) throws {
    let link = try TestLink(
      dialing: Endpoint(host: host, port: port), role: .initiator(World.session) { _ in [] },
      settings: settings(key: 1, limits), handlers: recorder.handlers, resolve: resolve)
    link.start()
  }

  @Test func `a name whose look-up does not end is given up when the time is over`() async throws {
    let world = try World()
    let address = world.listener.address
    let goOn = DispatchSemaphore(value: 0)
    defer { goOn.signal() }
    var limits = LinkLimits.unhurried
    limits.connectMilliseconds = 50
    try dial("home.example", port: address.port, world.alice, limits) { _ in
      goOn.wait()
      return [address]
    }
    try await eventually("the attempt has ended") { world.alice.ends.count == 1 }
    #expect(world.alice.ends == [.timeout])
  }

  @Test func `a numeric address is dialled without a look-up`() async throws {
    let world = try World()
    let address = world.listener.address
    let lookups = Mutex(0)
    try dial("127.0.0.1", port: address.port, world.alice) { _ in
      lookups.withLock { $0 += 1 }
      return []
    }
    try await eventually("both ends are open") { world.alice.opening != nil && world.bob.opening != nil }
    let count = lookups.withLock { $0 }
    #expect(count == 0)
  }

  @Test func `if no address of a name answers, the last one says why, and a name without any has no address`()
    async throws
  {
    // Nothing listens at these ports.
    let closed = [try loopback(port: 1), try loopback(port: 2)]
    let (refused, unresolved) = (Recorder(), Recorder())
    try dial("home.example", port: 1, refused) { _ in closed }
    try dial("home.example", port: 1, unresolved) { _ in [] }
    try await eventually("both attempts have ended") {
      refused.ends.count == 1 && unresolved.ends.count == 1
    }
    #expect(refused.ends == [.refused])
    #expect(unresolved.ends == [.unresolved])
  }
}
