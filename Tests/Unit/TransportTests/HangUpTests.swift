import Platform
import Testing

@testable import Transport

/// How a program on this machine is seen to have hung up. That cancels its request, so it must not be seen
/// too early.
@Suite(.serialized) struct HangUpTests {
  private func connected() throws -> (client: RawClient, connection: LoopbackConnection) {
    let listener = try LoopbackListener(on: Endpoint(host: "127.0.0.1", port: 0))
    let client = try RawClient(to: listener.address)
    return (client, try #require(listener.accept(until: monotonicMilliseconds() + 30_000)))
  }

  @Test func `bytes that wait are no end, whatever error an earlier call of this thread had`() async throws {
    let (client, connection) = try connected()
    try await client.write([1])
    let received = connection.read(atMost: 1, until: monotonicMilliseconds() + 30_000)
    #expect(received == .bytes([1]))
    try await client.write([2])
    errno = ECONNRESET
    let hasHungUp = connection.hasHungUp
    #expect(!hasHungUp)
    let next = connection.read(atMost: 1, until: monotonicMilliseconds() + 30_000)
    #expect(next == .bytes([2]))
  }

  /// Hangs up while bytes from the other end wait to be read, which resets the connection.
  private func reset() async throws -> LoopbackConnection {
    let (client, connection) = try connected()
    #expect(connection.write([1], until: monotonicMilliseconds() + 30_000))
    try await eventually("the byte is there") { client.socket.isReadable }
    return connection
  }

  @Test func `a program that ends without reading its answer has hung up`() async throws {
    let connection = try await reset()
    try await eventually("the end is noticed") { connection.hasHungUp }
    #expect(!connection.write([2], until: monotonicMilliseconds() + 30_000))
  }
}
