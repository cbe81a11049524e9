import SecureChannel
import Synchronization
import Testing
import Wire

@testable import Transport

/// A listener from its creation to its end, and whom it makes room for.
@Suite(.serialized) struct ListenerLifeTests {
  private func listener(on endpoint: Endpoint) throws -> Listener<[UInt8]> {
    try Listener(
      on: endpoint, role: World.responder, settings: settings(key: 2), handlers: Recorder().handlers)
  }

  @Test(arguments: [false, true]) func `a listener frees its port when it closes, begun or not`(
    hasBegun: Bool
  ) async throws {
    let first = try listener(on: Endpoint(host: "127.0.0.1", port: 0))
    if hasBegun { first.start() }
    let isClosed = Mutex(false)
    first.close { isClosed.withLock { $0 = true } }
    try await eventually("it is closed") { isClosed.withLock { $0 } }
    let second = try listener(on: first.address.endpoint)
    #expect(second.address == first.address)
    second.close()
  }

  @Test func `what is connected stays connected when the listener closes`() async throws {
    let world = try World()
    let link = try await world.opened()
    let isClosed = Mutex(false)
    world.listener.close { isClosed.withLock { $0 = true } }
    try await eventually("the listener is closed") { isClosed.withLock { $0 } }
    link.send([1])
    world.bob.link?.send([2])
    try await eventually("messages go both ways") {
      world.bob.messages == [[1]] && world.alice.messages == [[2]]
    }
    #expect(world.alice.ends.isEmpty && world.bob.ends.isEmpty)
  }

  @Test(arguments: [false, true])
  func `if there is no room for another handshake, a device that joins makes room, and a member stays`(
    isMember: Bool
  ) async throws {
    var limits = ListenerLimits()
    limits.handshakesMax = 1
    let world = try World(listenerLimits: limits)
    let carol = Recorder()
    let first = try world.dial(isMember ? World.session : World.pairing(), as: carol, payload: [])
    first.send([1])
    // Only what is admitted is read.
    try await eventually("the first one is admitted") { world.bob.messages == [[1]] }
    _ = try world.dial()
    try await eventually("the second one is open") { world.alice.opening != nil && world.bob.links == 2 }
    guard isMember else {
      try await eventually("the first one had to go") { world.bob.ends == [.timeout] }
      try await eventually("it has noticed") { carol.ends.count == 1 }
      return
    }
    first.send([3])
    try await eventually("the first one goes on") { world.bob.messages == [[1], [3]] }
    #expect(world.bob.ends.isEmpty && carol.ends.isEmpty)
  }

  @Test func `each message is noted as a sign of life`() async throws {
    let world = try World()
    let link = try await world.opened()
    let remote = try #require(world.bob.link)
    let before = remote.shared.withLock { $0.lastReceived }
    let bytes = remote.byteCounts.received
    try await Task.sleep(for: .milliseconds(5))
    link.send([1])
    try await eventually("the message is there") { world.bob.messages == [[1]] }
    let after = remote.shared.withLock { $0.lastReceived }
    #expect(after > before)
    #expect(remote.byteCounts.received > bytes)
  }
}
