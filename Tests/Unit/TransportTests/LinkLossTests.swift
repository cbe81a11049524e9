import Testing
import Wire

@testable import Transport

@Suite(.serialized) struct `A link whose network changes` {
  @Test func `goes on while this machine has its address, and ends when it has not`() async throws {
    let world = try World()
    let link = try await world.opened()
    link.leave(unlessOn: ["192.0.2.1", "127.0.0.1"])
    #expect(link.send([1]))
    try await eventually("the message is there") { world.bob.messages == [[1]] }
    #expect(world.alice.ends.isEmpty)
    link.leave(unlessOn: ["192.0.2.1"])
    try await eventually("both have ended") { world.alice.ends.count == 1 && world.bob.ends.count == 1 }
    // Without a close, which could not arrive.
    #expect(world.alice.ends == [.noRoute] && world.bob.ends == [.truncated])
    #expect(!link.send([2]))
  }

  @Test func `that is abandoned ends at once, whatever is queued`() async throws {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 1_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    var sending = LinkLimits.unhurried
    sending.sendBufferBytesMax = 64 << 20
    let link = try await world.opened(limits: sending)
    for _ in 0..<400 { link.send([UInt8](repeating: 7, count: 50_000)) }
    link.abandon()
    try await eventually("it has ended") { world.alice.ends.count == 1 }
    #expect(world.alice.ends == [.timeout])
    #expect(link.outboundBytes == 0 && !link.isCongested(for: .ordinary))
    link.close()
    link.abandon()
    try await eventually("the other end has noticed") {
      world.bob.take()
      return world.bob.ends.count == 1
    }
    #expect(world.bob.ends == [.truncated] && world.alice.ends.count == 1)
  }
}
