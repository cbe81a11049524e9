import SecureChannel
import Sodium
import Testing
import Wire

@testable import Transport

@Suite(.serialized) struct `A link` {
  @Test func `opens, carries messages both ways, and closes in good order`() async throws {
    let world = try World()
    let link = try await world.opened()
    #expect(world.bob.opening?.payload == [1, 2])
    #expect(world.bob.opening?.handshakeHash == world.alice.opening?.handshakeHash)
    #expect(link.remoteAddress == world.listener.address)
    for number in 0..<100 { #expect(link.send([UInt8(number)])) }
    world.bob.link?.send([7])
    try await eventually("all messages are there") {
      world.bob.messages.count == 100 && world.alice.messages == [[7]]
    }
    #expect(world.bob.messages == (0..<100).map { [UInt8($0)] })
    link.send([200])
    link.close()
    #expect(!link.send([201]))
    try await eventually("both have ended") { world.alice.ends.count == 1 && world.bob.ends.count == 1 }
    #expect(world.alice.ends == [.closedHere] && world.bob.ends == [.closedByPeer])
    #expect(world.bob.messages.last == [200])
    #expect(link.counters.bytesOut > 0 && link.counters.bytesIn > 0)
  }

  @Test func `opens for pairing with the ticket's key`() async throws {
    let world = try World()
    _ = try world.dial(World.pairing(), payload: [])
    try await eventually("Bob is open") { world.bob.opening != nil }
    #expect(world.bob.opening?.purpose == .pairing(ticket: World.ticket))
  }

  @Test func `for pairing with another key or ticket never opens at the responder`() async throws {
    var limits = LinkLimits.unhurried
    limits.preambleMilliseconds = 300
    let world = try World(limits: limits)
    _ = try world.dial(World.pairing(presharedKey: 6), payload: [])
    try await eventually("Alice is rejected") { world.alice.ends.count == 1 && world.bob.ends.count == 1 }
    // She had proof of Bob's key, but he had none of hers.
    #expect(world.alice.ends == [.truncated] && world.bob.ends == [.handshakeFailed])
    _ = try world.dial(World.pairing(secret: 6), payload: [])
    try await eventually("Alice is rejected again") {
      world.alice.ends.count == 2 && world.bob.ends.count == 2
    }
    #expect(world.alice.ends.last == .handshakeFailed && world.bob.ends.last == .timeout)
    #expect(world.bob.opening == nil)
  }

  @Test func `to an unauthorized key is not opened`() async throws {
    let world = try World()
    _ = try world.dial(payload: nil)
    try await eventually("both have ended") { world.alice.ends.count == 1 && world.bob.ends.count == 1 }
    #expect(world.alice.ends == [.notAuthorized] && world.bob.ends == [.handshakeFailed])
    #expect(world.alice.opening == nil && world.bob.opening == nil)
  }

  @Test(arguments: [0, 1, 65_517, 65_518, 65_519, 131_037, Limits.messageBytesMax])
  func `carries a message of any length`(length: Int) async throws {
    let world = try World()
    let link = try await world.opened()
    let message = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      for index in 0..<length { buffer[index] = UInt8(truncatingIfNeeded: index &* 31) }
      count = length
    }
    link.send(message)
    link.send([1])
    try await eventually("both messages are there") { world.bob.messages.count == 2 }
    let isEqual = world.bob.messages == [message, [1]]
    #expect(isEqual)
  }

  @Test func `stops reading when its inbox is full and continues when it is emptied`() async throws {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 100_000
    limits.idleMilliseconds = 4_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    var sending = LinkLimits.unhurried
    sending.sendBufferBytesMax = 64 << 20
    let link = try await world.opened(limits: sending)
    var queued = 0
    for number in 0..<400 where link.send([UInt8](repeating: UInt8(number % 251), count: 50_000)) {
      queued += 1
    }
    #expect(queued == 400)
    #expect(link.isCongested(for: .ordinary))
    // Longer than the idle limit: a link that is not read cannot tell that nothing arrived.
    try await Task.sleep(for: .milliseconds(4_500))
    let bytesIn = try #require(world.bob.link?.counters.bytesIn)
    #expect(bytesIn < 1_000_000, "read \(bytesIn) bytes although the inbox was not emptied")
    #expect(link.outboundBytes > 0 && world.bob.ends.isEmpty && world.bob.receivedCalls == 1)
    try await eventually("all messages are there", seconds: 30) {
      world.bob.take()
      return world.bob.messages.count == 400
    }
    let firsts = world.bob.messages.map(\.first)
    #expect(firsts == (0..<400).map { UInt8($0 % 251) })
    try await eventually("the buffer has drained") { world.alice.drainedCalls > 0 }
  }

  @Test func `delivers a small message before the parts of files that wait for a slow reader`() async throws {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 100_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    var sending = LinkLimits.unhurried
    sending.sendBufferBytesMax = 64 << 20
    let link = try await world.opened(limits: sending)
    let leaf = [UInt8](repeating: 1, count: Limits.leafBytes)
    // Until Bob reads, the system takes no more, and leaves wait.
    var sent = 0
    while link.waitingFileBytes < 4 * leaf.count, sent < 500 {
      link.send(leaf, as: .file)
      sent += 1
      try await Task.sleep(for: .milliseconds(5))
    }
    let (waiting, count) = (link.waitingFileBytes / leaf.count, sent + 1)
    #expect(waiting == 4)
    link.send([2])
    try await eventually("all messages are there") {
      world.bob.take()
      return world.bob.messages.count == count
    }
    #expect(world.bob.messages.firstIndex(of: [2]) == sent - waiting)
  }

  @Test func `that is closed drops the parts of files that wait`() async throws {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 100_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    var sending = LinkLimits.unhurried
    sending.sendBufferBytesMax = 64 << 20
    sending.lingerMilliseconds = 60_000
    let link = try await world.opened(limits: sending)
    for _ in 0..<400 { link.send([UInt8](repeating: 1, count: Limits.leafBytes), as: .file) }
    link.send([2])
    link.close()
    try await eventually("Bob has seen the end") {
      world.bob.take()
      return world.bob.ends.count == 1
    }
    #expect(world.bob.messages.last == [2] && world.bob.messages.count < 300)
  }

  @Test func `closed at once, sends only the newest queued message`() async throws {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 1_000_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    var sending = LinkLimits.unhurried
    sending.sendBufferBytesMax = 64 << 20
    sending.lingerMilliseconds = 60_000
    let link = try await world.opened(limits: sending)
    for _ in 0..<400 { link.send([UInt8](repeating: 1, count: 100_000)) }
    link.send([9])
    link.closeAtOnce()
    #expect(!link.send([8]))
    try await eventually("Bob has seen the end", seconds: 30) {
      world.bob.take()
      return world.bob.ends.count == 1
    }
    let isLast = world.bob.messages.last == [9]
    #expect(isLast)
    #expect(world.bob.messages.count < 300, "\(world.bob.messages.count) of 401 messages")
  }

  @Test func `ends when more is queued than its buffer holds`() async throws {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 10_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    let link = try await world.opened()
    var accepted = 0
    while link.send([UInt8](repeating: 0, count: 500_000)) { accepted += 1 }
    #expect(accepted >= 16)
    try await eventually("Alice's end has ended") { world.alice.ends == [.bufferOverflow] }
  }

  @Test func `is not read before it is admitted, and ends if it is not`() async throws {
    var limits = LinkLimits.unhurried
    limits.handshakeMilliseconds = 2_000
    let world = try World(bob: Recorder(admits: false), limits: limits)
    let link = try await world.opened()
    link.send([1])
    try await eventually("Bob's end has timed out") { world.bob.ends == [.timeout] }
    #expect(world.bob.messages.isEmpty)
  }

  @Test func `ends at a message that fails to decode, after delivering those before it`() async throws {
    let world = try World()
    let link = try await world.opened()
    link.send([1])
    link.send([0xba, 0xd0])
    link.send([2])
    try await eventually("Bob's end has ended") { world.bob.ends == [.invalidMessage] }
    #expect(world.bob.messages == [[1]])
  }

  @Test func `ends when it is idle`() async throws {
    var limits = LinkLimits.unhurried
    limits.idleMilliseconds = 200
    let world = try World(limits: limits)
    _ = try await world.opened()
    try await eventually("Bob's end has ended") { world.bob.ends == [.idle] }
    // Ending a link sends nothing: the other end only sees the connection close.
    try await eventually("Alice's end has ended") { world.alice.ends == [.truncated] }
  }

  @Test(arguments: [0, 500]) func `closed, soon gives up on a peer that reads nothing`(
    afterRest milliseconds: Int
  ) async throws {
    var limits = LinkLimits.unhurried
    limits.receiveBufferBytesMax = 100_000
    let world = try World(bob: Recorder(takes: false), limits: limits)
    var sending = LinkLimits.unhurried
    sending.sendBufferBytesMax = 64 << 20
    sending.lingerMilliseconds = 300
    let link = try await world.opened(limits: sending)
    try await Task.sleep(for: .milliseconds(milliseconds))
    for _ in 0..<400 { link.send([UInt8](repeating: 1, count: 100_000)) }
    link.close()
    try await eventually("Alice's end has ended") { world.alice.ends == [.closedHere] }
  }

  @Test func `closed before it is open ends at once`() async throws {
    let world = try World()
    let link = try world.dial()
    link.close()
    try await eventually("it has ended") { world.alice.ends == [.closedHere] }
  }
}

@Suite(.serialized) struct `Dialing` {
  private func end(of endpoint: Endpoint, _ limits: LinkLimits = .unhurried) async throws -> LinkEnd? {
    let alice = Recorder()
    let link = try TestLink(
      dialing: endpoint, role: .initiator(World.session) { _ in [] },
      settings: settings(key: 1, limits), handlers: alice.handlers)
    link.start()
    try await eventually("dialing \(endpoint) has ended") { !alice.ends.isEmpty }
    return alice.ends.first
  }

  @Test func `a port without a listener is refused`() async throws {
    // The port of nothing: 1 is never assigned as a free port.
    #expect(try await end(of: Endpoint(host: "127.0.0.1", port: 1)) == .refused)
  }

  @Test func `a name without an address is not resolved`() async throws {
    #expect(try await end(of: Endpoint(host: "nobody.invalid", port: 1)) == .unresolved)
  }

  @Test func `a listener that never answers times out`() async throws {
    var limits = LinkLimits.unhurried
    limits.handshakeMilliseconds = 200
    let silent = try Socket.listening(on: loopback(port: 0))
    defer { silent.closeDescriptor() }
    let address = try #require(silent.localAddress)
    #expect(try await end(of: address.endpoint, limits) == .timeout)
  }

  @Test func `localhost is resolved by name`() async throws {
    let world = try World()
    let endpoint = Endpoint(host: "localhost", port: world.listener.address.port)
    let link = try TestLink(
      dialing: endpoint, role: .initiator(World.session) { _ in [] },
      settings: settings(key: 1), handlers: world.alice.handlers)
    link.start()
    try await eventually("both ends are open") { world.bob.opening != nil }
    link.close()
  }

  @Test func `the addresses of a name are tried one after the other`() async throws {
    let world = try World()
    let address = world.listener.address
    let link = try TestLink(
      dialing: Endpoint(host: "home.example", port: address.port),
      role: .initiator(World.session) { _ in [] },
      settings: settings(key: 1), handlers: world.alice.handlers
    ) { _ in [1, 2].compactMap { try? loopback(port: $0) } + [address] }
    link.start()
    try await eventually("both ends are open") { world.bob.opening != nil }
    link.close()
  }

  @Test(arguments: [
    ("127.0.0.1:80", "127.0.0.1", 80), ("[::1]:7433", "::1", 7433), ("nas.local:1", "nas.local", 1),
    ("[::]:0", "::", 0),
  ]) func `an endpoint is parsed as it is printed`(text: String, host: String, port: UInt16) {
    #expect(Endpoint(text) == Endpoint(host: host, port: port))
    #expect(Endpoint(text)?.description == text)
  }

  @Test(arguments: [
    "", ":", "host", "host:", ":1", "host:65536", "::1:80", "[::1]", "[host]:1", "[]:1", "h:-1",
  ])
  func `an invalid endpoint is refused`(text: String) {
    #expect(Endpoint(text) == nil)
  }
}

func loopback(port: UInt16) throws -> SocketAddress {
  try #require(
    SocketAddress.resolve(Endpoint(host: "127.0.0.1", port: port), numericOnly: true).first)
}
