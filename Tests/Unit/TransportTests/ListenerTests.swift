import SecureChannel
import Sodium
import Synchronization
import Testing
import Wire

@testable import Transport

@Suite(.serialized) struct `A listener` {
  @Test func `reports a port that is in use`() throws {
    let world = try World()
    let endpoint = world.listener.address.endpoint
    #expect(throws: ListenError.addressInUse(endpoint)) {
      _ = try Listener(
        on: endpoint, role: World.responder, settings: settings(key: 2),
        handlers: Recorder().handlers)
    }
    #expect(throws: ListenError.notHere(Endpoint(host: "192.0.2.1", port: 0))) {
      _ = try Listener(
        on: Endpoint(host: "192.0.2.1", port: 0), role: World.responder, settings: settings(key: 2),
        handlers: Recorder().handlers)
    }
  }

  @Test func `on every address accepts IPv4 and reports it as IPv4`() async throws {
    let bob = Recorder()
    let listener = try Listener(
      on: Endpoint(host: "::", port: 0), role: World.responder, settings: settings(key: 2),
      handlers: bob.handlers)
    listener.start()
    defer { listener.close() }
    #expect(listener.address.port != 0 && listener.address.isUnspecified)
    let alice = Recorder()
    let link = try TestLink(
      dialing: Endpoint(host: "127.0.0.1", port: listener.address.port),
      role: .initiator(World.session) { _ in [] }, settings: settings(key: 1),
      handlers: alice.handlers)
    link.start()
    try await eventually("both ends are open") { bob.opening != nil && alice.opening != nil }
    #expect(bob.link?.remoteAddress?.host == "127.0.0.1" && bob.link?.remoteAddress?.isLoopback == true)
    link.close()
  }

  @Test func `serves a member while strangers hold on to their connections`() async throws {
    var limits = LinkLimits.unhurried
    limits.preambleMilliseconds = 2_000
    let world = try World(limits: limits)
    let strangers = try (0..<20).map { _ in try RawClient(to: world.listener.address) }
    try await Task.sleep(for: .milliseconds(50))
    var patient = LinkLimits.unhurried
    patient.handshakeMilliseconds = 20_000
    _ = try world.dial(limits: patient)
    try await eventually("Alice is connected", seconds: 20) { world.bob.opening != nil }
    try await eventually("the strangers are gone", seconds: 20) {
      world.bob.ends.filter { $0 == .timeout }.count == strangers.count
    }
  }

  @Test func `evicts a stranger for every new connection beyond its limit, and no member`() async throws {
    var limits = ListenerLimits()
    limits.unrecognizedMax = 3
    let world = try World(listenerLimits: limits)
    _ = try await world.opened()
    let strangers = try (0..<3).map { _ in try RawClient(to: world.listener.address) }
    try await Task.sleep(for: .milliseconds(200))
    #expect(world.bob.ends.isEmpty)
    let more = try (0..<5).map { _ in try RawClient(to: world.listener.address) }
    try await eventually("five are evicted") { world.bob.ends == [LinkEnd](repeating: .timeout, count: 5) }
    #expect(strangers.count + more.count == 8 && world.bob.links == 1)
  }

  @Test func `a handshake does not wait for silent connections`() async throws {
    var limits = ListenerLimits()
    limits.unrecognizedMax = 4
    let world = try World(listenerLimits: limits)
    let strangers = try (0..<4).map { _ in try RawClient(to: world.listener.address) }
    try await Task.sleep(for: .milliseconds(100))
    let begun = ContinuousClock.now
    _ = try await world.opened()
    #expect(ContinuousClock.now - begun < .seconds(10), "no stranger's deadline was waited for")
    #expect(world.bob.ends.count == 1 && strangers.count == 4)
  }

  @Test func `reads what has arrived on a connection before it ends it for another one`() async throws {
    var limits = ListenerLimits()
    limits.unrecognizedMax = 1
    let bob = Recorder()
    let listener = try Listener(
      on: Endpoint(host: "127.0.0.1", port: 0), role: World.responder, limits: limits,
      settings: settings(key: 2), handlers: bob.handlers)
    // The system completes these connections before the listener accepts them, one right after the other.
    let clients = try (0..<20).map { _ in try RawClient(to: listener.address) }
    for client in clients {
      let channel = try Channel(
        .initiator(World.session) { _ in [] }, makeKeys: settings(key: 1).makeKeys)
      try await client.write(channel.output)
    }
    listener.start()
    defer { listener.close() }
    for client in clients { #expect(try await client.read(98).count == 98, "message 2 arrives") }
    #expect(bob.ends.isEmpty)
  }

  @Test func `accepts no more connections than its limit`() async throws {
    var limits = ListenerLimits()
    limits.connectionsMax = 3
    let world = try World(listenerLimits: limits)
    let links = try (0..<3).map { _ in try world.dial() }
    try await eventually("three are connected") { world.bob.links == 3 }
    let fourth = Recorder()
    _ = try world.dial(as: fourth)
    try await eventually("the fourth is rejected") { fourth.ends == [.handshakeFailed] }
    links[0].close()
    try await eventually("one has left") { world.bob.ends.count == 1 }
    let fifth = Recorder()
    _ = try world.dial(as: fifth)
    try await eventually("the fifth is connected") { fifth.opening != nil && world.bob.links == 4 }
  }

  @Test func `closes a thousand connections in quick succession and still answers`() async throws {
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
  @Test func `accepts a client that writes one byte at a time`() async throws {
    let world = try World()
    let raw = try RawClient(to: world.listener.address)
    var channel = try Channel(
      .initiator(World.session) { _ in [9] }, makeKeys: settings(key: 1).makeKeys)
    let hello = channel.output
    channel.output = []
    for byte in hello { try await raw.write([byte]) }
    _ = channel.frames.append(try await raw.read(98)[...])
    guard case .opened = try channel.next() else { return #expect(Bool(false), "not opened") }
    try channel.send([1, 2, 3])
    for byte in channel.output { try await raw.write([byte]) }
    try await eventually("the message is there") { world.bob.messages == [[1, 2, 3]] }
  }

  @Test func `sends its own version to a client of another, and closes`() async throws {
    let world = try World()
    let raw = try RawClient(to: world.listener.address)
    try await raw.write(World.preamble(version: 9).bytes + [0, 0, 0])
    #expect(try await raw.read() == World.preamble().bytes)
    try await eventually("the link has ended") { world.bob.ends == [.versionMismatch(theirs: 9)] }
  }

  @Test func `sends nothing to another protocol`() async throws {
    var limits = LinkLimits.unhurried
    limits.preambleMilliseconds = 300
    let world = try World(limits: limits)
    let raw = try RawClient(to: world.listener.address)
    try await raw.write(Array("GET / HTTP/1.1\r\n\r\n".utf8))
    #expect(try await raw.read().isEmpty)
    try await eventually("the link has ended") { world.bob.ends == [.timeout] }
  }

  @Test func `treats all strangers alike, whatever they send`() async throws {
    var limits = LinkLimits.unhurried
    limits.preambleMilliseconds = 1_000
    let world = try World(limits: limits)
    let stranger = Preamble(nonce: Bytes16(1, 2), key: try SymmetricKey([UInt8](repeating: 9, count: 32)))
    let wires: [[UInt8]] = [
      [], [0], Preamble.magic, Preamble.magic.dropLast() + [1], stranger.bytes,
      stranger.bytes + [0, 32] + [UInt8](repeating: 1, count: 32), World.preamble().bytes.dropLast() + [0],
      [UInt8](repeating: 7, count: 8_000),
    ]
    for wire in wires {
      let raw = try RawClient(to: world.listener.address)
      let begun = ContinuousClock.now
      try await raw.write(wire)
      #expect(try await raw.read().isEmpty)
      // No byte ends the connection early.
      #expect(ContinuousClock.now - begun >= .milliseconds(900), "\(wire.prefix(50))")
    }
    try await eventually("the links have ended") {
      world.bob.ends == [LinkEnd](repeating: .timeout, count: wires.count)
    }
    _ = try await world.opened()
  }

  @Test func `reads only a limited number of bytes of a stranger`() async throws {
    let world = try World()
    let raw = try RawClient(to: world.listener.address)
    let flood = Task {
      while !Task.isCancelled { try await raw.write([UInt8](repeating: 7, count: 10_000)) }
    }
    try await Task.sleep(for: .milliseconds(500))
    #expect(world.bob.ends.isEmpty, "it still waits for the deadline")
    flood.cancel()
    _ = try await world.opened()
  }

  @Test func `gives up on a handshake that takes too long`() async throws {
    var limits = LinkLimits.unhurried
    limits.handshakeMilliseconds = 500
    let world = try World(limits: limits)
    let raw = try RawClient(to: world.listener.address)
    try await raw.write(World.preamble().bytes)
    #expect(try await raw.read().isEmpty)
    try await eventually("the link has ended") { world.bob.ends == [.timeout] }
  }

  @Test func `gives up on a handshake that comes byte by byte`() async throws {
    var limits = LinkLimits.unhurried
    limits.handshakeMilliseconds = 500
    let world = try World(limits: limits)
    let raw = try RawClient(to: world.listener.address)
    let dribble = Task {
      for byte in World.preamble().bytes + [0, 32] + [UInt8](repeating: 1, count: 32) {
        try await raw.write([byte])
        try await Task.sleep(for: .milliseconds(100))
      }
    }
    try await eventually("the link has ended") { world.bob.ends == [.timeout] }
    dribble.cancel()
  }

  @Test func `counts the overhead of small messages`() async throws {
    let bob = Recorder(takes: false)
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 10 * Limits.messageBytesLeast
    let world = try World(bob: bob, limits: limits)
    let raw = try RawClient(to: world.listener.address)
    var channel = try await raw.opened()
    for _ in 0..<11 { try channel.send([]) }
    try await eventually("the link is open") { bob.link != nil }
    let begun = try #require(bob.link).counters.bytesIn
    let bytes = channel.output.count
    try await raw.write(channel.output)
    channel.output = []
    try await eventually("eleven are there") {
      bob.receivedCalls == 1 && bob.link?.counters.bytesIn == begun + bytes
    }
    try await Task.sleep(for: .milliseconds(200))
    try channel.send([1])
    try await raw.write(channel.output)
    try await Task.sleep(for: .milliseconds(200))
    let link = try #require(bob.link)
    #expect(link.counters.bytesIn == begun + bytes, "eleven filled it: the twelfth was not read")
    let first = link.takeInbox(atMost: 1)
    #expect(first.messages.count == 1 && first.isMore)
    let second = link.takeInbox(atMost: 2 * Limits.messageBytesLeast)
    #expect(second.messages.count == 2 && second.isMore)
    // Once there is room again it keeps reading.
    let taken = Mutex(3)
    try await eventually("the twelfth comes") {
      taken.withLock {
        $0 += link.takeInbox().count
        return $0 == 12
      }
    }
  }

  @Test func `continues with a message that arrives just fast enough`() async throws {
    var limits = LinkLimits.unhurried
    limits.slowMilliseconds = 2_000
    limits.slowBytesPerSecond = 50
    let world = try World(limits: limits)
    let raw = try RawClient(to: world.listener.address)
    var channel = try await raw.opened()
    try channel.send([UInt8](repeating: 0, count: 1_000))
    // Several times the required speed: the machine may be busy.
    for start in stride(from: 0, to: channel.output.count, by: 250) {
      try await raw.write(Array(channel.output[start..<min(start + 250, channel.output.count)]))
      try await Task.sleep(for: .milliseconds(600))
    }
    try await eventually("the message is there") { world.bob.messages.first?.count == 1_000 }
  }

  @Test func `distinguishes a broken connection from a closed one`() async throws {
    let world = try World()
    let raw = try RawClient(to: world.listener.address)
    var channel = try await raw.opened()
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
    var channel = try await raw.opened()
    try channel.send([1])
    var output = channel.output
    output[5] ^= 1
    try await raw.write(output)
    try await eventually("the link has ended") { world.bob.ends == [.violation] }
  }

  @Test(arguments: [0, 500]) func `ends when a message arrives too slowly`(afterRest milliseconds: Int)
    async throws
  {
    var limits = LinkLimits.unhurried
    limits.slowMilliseconds = 200
    let world = try World(limits: limits)
    let raw = try RawClient(to: world.listener.address)
    var channel = try await raw.opened()
    try await Task.sleep(for: .milliseconds(milliseconds))
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
}
