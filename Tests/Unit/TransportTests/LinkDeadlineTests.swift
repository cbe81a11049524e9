import SecureChannel
import Testing
import Wire

@testable import Transport

/// How long a link waits: for a peer that takes nothing, for its last messages, and for its owner's decision.
@Suite(.serialized) struct LinkDeadlineTests {
  @Test func `a peer that takes nothing is given up as slow when the time is over, though it sends`()
    async throws
  {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 1_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    var sending = LinkLimits.unhurried
    sending.sendBufferBytesMax = 64 << 20
    sending.idleMilliseconds = 1_000
    let link = try await world.opened(limits: sending)
    let began = ContinuousClock.now
    for _ in 0..<400 { link.send([UInt8](repeating: 1, count: 50_000)) }
    // What Bob sends shows that he is there, so the link is not idle.
    try await eventually("he is given up") {
      world.bob.link?.send([2])
      return world.alice.ends.count == 1
    }
    #expect(world.alice.ends == [.slow])
    #expect(ContinuousClock.now - began >= .milliseconds(900), "not before the time is over")
  }

  @Test func `a link that closes waits until the peer has taken what was queued`() async throws {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 100_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    var sending = LinkLimits.unhurried
    sending.sendBufferBytesMax = 64 << 20
    sending.lingerMilliseconds = 60_000
    // Deadlines are checked every few milliseconds.
    sending.slowMilliseconds = 20
    let link = try await world.opened(limits: sending)
    for _ in 0..<200 { link.send([UInt8](repeating: 1, count: 100_000)) }
    link.send([9])
    link.close()
    try await Task.sleep(for: .milliseconds(100))
    #expect(world.alice.ends.isEmpty)
    try await eventually("Bob has seen the end") {
      world.bob.take()
      return world.bob.ends.count == 1
    }
    #expect(world.bob.ends == [.closedByPeer])
    let (count, last) = (world.bob.messages.count, world.bob.messages.last)
    #expect(count == 201 && last == [9])
    try await eventually("Alice's end has ended") { world.alice.ends == [.closedHere] }
  }

  @Test func `a peer that is admitted late, but in time, is heard`() async throws {
    var limits = LinkLimits.unhurried
    // Deadlines are checked every few milliseconds.
    limits.slowMilliseconds = 20
    let world = try World(bob: Recorder(admits: false), limits: limits)
    let link = try await world.opened()
    link.send([1])
    try await Task.sleep(for: .milliseconds(100))
    #expect(world.bob.ends.isEmpty && world.bob.messages.isEmpty)
    world.bob.link?.admit()
    try await eventually("the message is there") { world.bob.messages == [[1]] }
    #expect(world.bob.ends.isEmpty)
  }

  @Test func `a peer that answers with another version ends the link at once, though it does not hang up`()
    async throws
  {
    let server = try Socket.listening(on: loopback(port: 0))
    defer { server.closeDescriptor() }
    let address = try #require(server.localAddress)
    var limits = LinkLimits.unhurried
    limits.lingerMilliseconds = 60_000
    let alice = Recorder()
    let link = try TestLink(
      dialing: address.endpoint, role: .initiator(World.session) { _ in [] },
      settings: settings(key: 1, limits), handlers: alice.handlers)
    link.start()
    try await eventually("Alice has connected") { server.isReadable }
    let accepted = try server.accepted()
    let bob = try #require(accepted?.socket)
    defer { bob.closeDescriptor() }
    try await eventually("her preamble is there") { bob.isReadable }
    var bytes = [UInt8](repeating: 0, count: Preamble.count)
    _ = bytes.withUnsafeMutableBytes { bob.read(into: $0) }
    let asked = try #require(Preamble(receiving: bytes[...]))
    let answer = Preamble(nonce: asked.nonce, key: World.session.preambleKey, version: 9).bytes
    _ = answer.withUnsafeBytes { bob.write($0) }
    try await eventually("the link has ended") { alice.ends == [.versionMismatch(theirs: 9)] }
  }

  /// Opens a link by hand, sends more than Bob's inbox holds, and hangs up without reading his message. This
  /// resets the connection.
  private func reset(_ world: World) async throws {
    let raw = try RawClient(to: world.listener.address)
    var channel = try await raw.opened()
    try channel.send([UInt8](repeating: 1, count: 2_000))
    try await raw.write(channel.output)
    try await eventually("the inbox is full") { world.bob.receivedCalls == 1 }
    world.bob.link?.send([2])
    try await eventually("the message is there") { raw.socket.isReadable }
  }

  @Test func `a link that reads nothing ends when it can't write, and keeps what it has received`()
    async throws
  {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 1_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    try await reset(world)
    try await eventually("the link has ended") {
      world.bob.link?.send([3])
      return world.bob.ends.count == 1
    }
    #expect(world.bob.ends == [.truncated])
    #expect(world.bob.messages.map(\.count) == [2_000])
  }
}
