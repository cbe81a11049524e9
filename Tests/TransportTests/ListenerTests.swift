import SecureChannel
import Sodium
import Testing
import Wire

@testable import Transport

@Suite(.serialized) struct `A listener` {
  @Test func `says which port is in use`() throws {
    let world = try World()
    let endpoint = world.listener.address.endpoint
    #expect(throws: ListenError.addressInUse(endpoint)) {
      _ = try Listener(
        on: endpoint, role: .responder { _ in nil }, settings: settings(key: 2),
        handlers: Recorder().handlers)
    }
    #expect(throws: ListenError.notHere(Endpoint(host: "192.0.2.1", port: 0))) {
      _ = try Listener(
        on: Endpoint(host: "192.0.2.1", port: 0), role: .responder { _ in nil }, settings: settings(key: 2),
        handlers: Recorder().handlers)
    }
  }

  @Test func `on every address takes IPv4 and calls it so`() async throws {
    let bob = Recorder()
    let listener = try Listener(
      on: Endpoint(host: "::", port: 0), role: .responder { _ in nil }, settings: settings(key: 2),
      handlers: bob.handlers)
    listener.start()
    defer { listener.close() }
    #expect(listener.address.port != 0 && listener.address.isUnspecified)
    let alice = Recorder()
    let link = try TestLink(
      dialing: Endpoint(host: "127.0.0.1", port: listener.address.port),
      role: .initiator(.session, presharedKey: nil) { _ in [] }, settings: settings(key: 1),
      handlers: alice.handlers)
    link.start()
    try await eventually("both ends are open") { bob.opening != nil && alice.opening != nil }
    #expect(bob.link?.remoteAddress?.host == "127.0.0.1" && bob.link?.remoteAddress?.isLoopback == true)
    link.close()
  }

  @Test func `serves a friend while strangers hold on to their connections`() async throws {
    var limits = LinkLimits.unhurried
    limits.handshakeMilliseconds = 2_000
    let world = try World(limits: limits)
    let strangers = try (0..<20).map { _ in try RawClient(to: world.listener.address) }
    try await Task.sleep(for: .milliseconds(50))
    var patient = LinkLimits.unhurried
    patient.handshakeMilliseconds = 20_000
    _ = try world.dial(limits: patient)
    try await eventually("Alice is in", seconds: 20) { world.bob.opening != nil }
    try await eventually("the strangers are gone", seconds: 20) {
      world.bob.ends.filter { $0 == .timeout }.count == strangers.count
    }
  }

  @Test func `takes no more than its limit of connections`() async throws {
    var limits = ListenerLimits()
    limits.connectionsMax = 3
    let world = try World(listenerLimits: limits)
    let links = try (0..<3).map { _ in try world.dial() }
    try await eventually("three are in") { world.bob.links == 3 }
    let fourth = Recorder()
    _ = try world.dial(as: fourth)
    try await eventually("the fourth is sent away") { fourth.ends == [.handshakeFailed] }
    links[0].close()
    try await eventually("one has left") { world.bob.ends.count == 1 }
    let fifth = Recorder()
    _ = try world.dial(as: fifth)
    try await eventually("the fifth is in") { fifth.opening != nil && world.bob.links == 4 }
  }

  @Test func `counts addresses, but not those of this machine`() throws {
    let admission = Admission(ListenerLimits())
    let stranger = try #require(
      SocketAddress.resolve(Endpoint(host: "192.0.2.1", port: 9), numericOnly: true).first)
    let slots = (0..<4).map { _ in admission.enter(stranger) }
    #expect(slots.allSatisfy { $0 != nil } && admission.enter(stranger) == nil)
    slots[0]?.leave()
    slots[0]?.leave()
    #expect(admission.enter(stranger) != nil && admission.enter(stranger) == nil)
    let own = try loopback(port: 9)
    #expect((0..<8).allSatisfy { _ in admission.enter(own) != nil })
  }

  @Test func `sheds a thousand connections in quick succession and still answers`() async throws {
    let world = try World()
    for _ in 0..<1_000 {
      let client = try RawClient(to: world.listener.address)
      try await client.write([1])
    }
    try await eventually("all have ended") { world.bob.ends.count == 1_000 }
    _ = try await world.opened()
  }
}

@Suite(.serialized) struct `An accepted link` {
  @Test func `understands a client that writes one byte at a time`() async throws {
    let world = try World()
    let raw = try RawClient(to: world.listener.address)
    var channel = try Channel(
      .initiator(.session, presharedKey: nil) { _ in [9] }, keys: try settings(key: 1).makeKeys())
    let hello = channel.output
    channel.output = []
    for byte in hello { try await raw.write([byte]) }
    _ = channel.frames.append(try await raw.read(98)[...])
    guard case .opened = try channel.next() else { return #expect(Bool(false), "not opened") }
    try channel.send([1, 2, 3])
    for byte in channel.output { try await raw.write([byte]) }
    try await eventually("the message is there") { world.bob.messages == [[1, 2, 3]] }
  }

  @Test func `tells another version its own, and closes`() async throws {
    let world = try World()
    let raw = try RawClient(to: world.listener.address)
    try await raw.write(Preamble.magic + [2, 0, 0, 0, 0])
    #expect(try await raw.read() == Preamble.answer)
    try await eventually("the link has ended") { world.bob.ends == [.versionMismatch(theirs: 2)] }
  }

  @Test func `says nothing to another protocol`() async throws {
    let world = try World()
    let raw = try RawClient(to: world.listener.address)
    try await raw.write(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    #expect(try await raw.read().isEmpty)
    #expect(world.bob.ends == [.handshakeFailed])
  }

  @Test func `gives up on a handshake that takes too long`() async throws {
    var limits = LinkLimits.unhurried
    limits.handshakeMilliseconds = 500
    let world = try World(limits: limits)
    let raw = try RawClient(to: world.listener.address)
    try await raw.write(Preamble(.session).bytes)
    #expect(try await raw.read().isEmpty)
    #expect(world.bob.ends == [.timeout])
  }

  @Test func `knows a broken connection from a closed one`() async throws {
    let world = try World()
    let raw = try RawClient(to: world.listener.address)
    var channel = try await opened(raw)
    try channel.send([1])
    let output = channel.output
    try await raw.write(Array(output.dropLast()))
    raw.socket.finishWriting()
    try await eventually("the link has ended") { world.bob.ends == [.truncated] }
    #expect(world.bob.messages.isEmpty)
  }

  @Test func `ends on a changed byte`() async throws {
    let world = try World()
    let raw = try RawClient(to: world.listener.address)
    var channel = try await opened(raw)
    try channel.send([1])
    var output = channel.output
    output[5] ^= 1
    try await raw.write(output)
    try await eventually("the link has ended") { world.bob.ends == [.violation] }
  }

  @Test func `ends when a message comes too slowly`() async throws {
    var limits = LinkLimits.unhurried
    limits.slowMilliseconds = 200
    let world = try World(limits: limits)
    let raw = try RawClient(to: world.listener.address)
    var channel = try await opened(raw)
    try channel.send([UInt8](repeating: 0, count: 1_000))
    let output = channel.output
    let dribble = Task {
      for byte in output {
        try await raw.write([byte])
        try await Task.sleep(for: .milliseconds(10))
      }
    }
    try await eventually("the link has ended") { world.bob.ends == [.slow] }
    dribble.cancel()
  }

  /// Shakes hands as Alice by hand; what is left is her channel, open.
  private func opened(_ raw: RawClient) async throws -> Channel {
    var channel = try Channel(
      .initiator(.session, presharedKey: nil) { _ in [] }, keys: try settings(key: 1).makeKeys())
    try await raw.write(channel.output)
    channel.output = []
    _ = channel.frames.append(try await raw.read(98)[...])
    guard case .opened = try channel.next() else { throw DeadlinePassed(description: "not opened") }
    try await raw.write(channel.output)
    channel.output = []
    return channel
  }
}
