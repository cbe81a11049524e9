import Testing

@testable import Transport

/// Connections of programs on this machine, each of which is served by a thread that waits.
@Suite(.serialized) struct LoopbackConnectionTests {
  private static let patience: Int64 = 30_000

  private var later: Int64 { monotonicMilliseconds() + Self.patience }

  /// A client, and the server's end of its connection.
  private func connected() throws -> (client: RawClient, connection: LoopbackConnection) {
    let listener = try LoopbackListener(on: Endpoint(host: "127.0.0.1", port: 0))
    let client = try RawClient(to: listener.address)
    return (client, try #require(listener.accept(until: later)))
  }

  @Test func `a wake ends the next wait for a connection, and only that one`() throws {
    let listener = try LoopbackListener(on: Endpoint(host: "127.0.0.1", port: 0))
    listener.wake()
    listener.wake()
    let isWoken = listener.accept(until: later) == nil
    #expect(isWoken)
    let client = try RawClient(to: listener.address)
    let connection = try #require(listener.accept(until: later))
    #expect(!connection.hasHungUp)
    client.socket.finishWriting()
    #expect(connection.read(atMost: 1, until: later) == .end)
  }

  @Test func `the other end has hung up once it has finished, not while its bytes wait to be read`()
    async throws
  {
    let (client, connection) = try connected()
    #expect(!connection.hasHungUp)
    try await client.write([1, 2])
    #expect(connection.read(atMost: 1, until: later) == .bytes([1]))
    #expect(!connection.hasHungUp)
    #expect(connection.read(atMost: 100, until: later) == .bytes([2]))
    #expect(!connection.hasHungUp, "nothing has arrived, and nothing has ended")
    client.socket.finishWriting()
    try await eventually("the end is noticed") { connection.hasHungUp }
    #expect(connection.read(atMost: 1, until: later) == .end)
  }

  @Test func `a wait tells a wake from a deadline and from the end, and ignores what arrives`() async throws {
    let (client, connection) = try connected()
    #expect(connection.waitForWake(until: monotonicMilliseconds()) == .late)
    try await client.write([1, 2, 3])
    connection.wake()
    #expect(connection.waitForWake(until: later) == .woken)
    client.socket.finishWriting()
    #expect(connection.waitForWake(until: later) == .end)
  }

  @Test func `a connection that is interrupted ends at both ends`() async throws {
    let (client, connection) = try connected()
    connection.interrupt()
    #expect(connection.read(atMost: 1, until: later) == .end)
    #expect(!connection.write([1], until: later))
    #expect(try await client.read().isEmpty)
  }
}
