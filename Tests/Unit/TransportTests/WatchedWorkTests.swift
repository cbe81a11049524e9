import Dispatch
import Platform
import Synchronization
import Testing

@testable import Transport

/// Descriptors of other libraries, and queues that may hang.
struct WatchedWorkTests {
  @Test func `a descriptor of a library is watched once for each request, and stays open`() async throws {
    var ends: [Int32] = [-1, -1]
    let code = pipe(&ends)
    try #require(code == 0)
    let (reader, writer) = (ends[0], ends[1])
    defer {
      _ = close(reader)
      _ = close(writer)
    }
    let calls = Mutex(0)
    let made = WatchedDescriptor(copying: reader, QueueExecutor(label: "test")) {
      calls.withLock { $0 += 1 }
    }
    let watched = try #require(made)
    var byte: UInt8 = 7
    let written = write(writer, &byte, 1)
    #expect(written == 1)
    for round in 1...3 {
      watched.awaitReadable()
      try await eventually("request \(round) is answered") { calls.withLock { $0 } == round }
    }
    watched.end()
    // The library reads what is there, with its own descriptor.
    byte = 0
    let count = read(reader, &byte, 1)
    #expect(count == 1 && byte == 7)
  }

  @Test func `a descriptor that is not open can't be watched`() {
    let isRefused = WatchedDescriptor(copying: -1, QueueExecutor(label: "test"), readable: {}) == nil
    #expect(isRefused)
  }

  @Test func `a queue answers while it works, and not while it hangs`() {
    let executor = QueueExecutor(label: "test")
    #expect(executor.answers(within: 30_000))
    let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    executor.async {
      begun.signal()
      goOn.wait()
    }
    #expect(begun.wait(timeout: .now() + 30) == .success, "waited 30 seconds for the work to begin")
    #expect(!executor.answers(within: 1))
    goOn.signal()
    #expect(executor.answers(within: 30_000))
  }
}
