import Platform
import Testing

@testable import Control

/// A socket of lines whose other end sends no end of a line, or accepts no client.
struct LineSocketTests {
  @Test func `a line without an end is refused as soon as it is too long`() throws {
    var ends: [Int32] = [-1, -1]
    let code = socketpair(AF_UNIX, SocketKind.stream.number, 0, &ends)
    try #require(code == 0)
    let (reader, writer) = (LineSocket(descriptor: ends[0]), LineSocket(descriptor: ends[1]))
    writer.write(Array("0123456789".utf8))
    #expect(reader.readLine(bytesMax: 10, within: 0) == .late, "the line may end here")
    writer.write(Array("a".utf8))
    #expect(reader.readLine(bytesMax: 10, within: 0) == .tooLong)
  }

  /// On other systems, a full queue refuses a client at once. This waits as long as a command does: 3 s.
  @Test(.enabled(if: OperatingSystem.current == .linux))
  func `a node that has accepted no client for some seconds is given up`() async throws {
    let folder = try Folder()
    let path = folder.file("socket")
    let listener = openSocket(AF_UNIX, .stream)
    defer { close(listener) }
    let bound = withSocketAddress(path) { bind(listener, $0, $1) }
    let listening = listen(listener, 0)
    try #require(bound == 0 && listening == 0)
    let first = try LineSocket.connect(to: path)
    #expect(first != nil, "one client can wait in the queue")
    // A client that waits without a limit is accepted in the end, so that the test does not wait with it.
    let rescue = Task {
      try? await Task.sleep(for: .seconds(30))
      if !Task.isCancelled { close(accept(listener, nil, nil)) }
    }
    defer { rescue.cancel() }
    let outcome: Result<Bool, any Error> = await withCheckedContinuation { continuation in
      startThread { continuation.resume(returning: Result { try LineSocket.connect(to: path) != nil }) }
    }
    #expect(throws: LineSocket.QueueFull.self) { try outcome.get() }
  }
}
