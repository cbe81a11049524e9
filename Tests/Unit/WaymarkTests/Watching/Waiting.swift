import Synchronization
import Testing
import WaymarkCare

@testable import Waymark

// Helpers that wait for a node's events, with a time limit.

/// Waits until something is done; otherwise fails with a description of it after a timeout.
func within<Value: Sendable>(
  seconds: Int = 180, _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  // Not a group, which would also wait for tasks that ignore cancellation.
  let (outcomes, outcome) = AsyncThrowingStream<Value, any Error>.makeStream()
  let work = Task {
    do {
      outcome.yield(try await body())
    } catch {
      outcome.finish(throwing: error)
    }
  }
  let alarm = Task {
    try await Task.sleep(for: .seconds(seconds))
    outcome.finish()
  }
  defer {
    work.cancel()
    alarm.cancel()
  }
  var first = outcomes.makeAsyncIterator()
  return try #require(
    await first.next(), "timed out after \(seconds) seconds waiting for \(what)",
    sourceLocation: sourceLocation)
}

/// Watches until a condition holds for the value read.
func wait<Value>(
  for what: Comment, _ node: Node, _ reading: LiveQuery<Value>,
  sourceLocation: SourceLocation = #_sourceLocation, until holds: @escaping @Sendable (Value) -> Bool
) async throws {
  let isMet = try await within(what, sourceLocation: sourceLocation) {
    for await value in node.watch(reading) where holds(value) { return true }
    return false
  }
  #expect(isMet, "the node closed before \(what)", sourceLocation: sourceLocation)
}

/// Polls until the condition holds; otherwise fails with a description of it.
func eventually(
  _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ holds: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + .seconds(180)
  while try await !holds() {
    guard ContinuousClock.now < deadline else {
      Issue.record("timed out waiting until \(what)", sourceLocation: sourceLocation)
      throw CancellationError()
    }
    try await Task.sleep(for: .milliseconds(20))
  }
}

/// A watcher whose values a test consumes one by one.
actor Watcher<Value: Sendable & Equatable> {
  private var iterator: Watch<Value>.Iterator

  init(_ watch: Watch<Value>) { iterator = watch.makeAsyncIterator() }

  /// The next value that differs; fails if there is none in time.
  func next(_ what: Comment, sourceLocation: SourceLocation = #_sourceLocation) async throws -> Value {
    let value = try await within(what, sourceLocation: sourceLocation) { await self.advance() }
    return try #require(value, "the node closed before \(what)", sourceLocation: sourceLocation)
  }

  private func advance() async -> Value? {
    var ahead = iterator
    let value = await ahead.next()
    iterator = ahead
    return value
  }
}

/// Counts events.
final class Counter: Sendable {
  private let value = Mutex(0)

  func add() { value.withLock { $0 += 1 } }

  var count: Int { value.withLock { $0 } }
}

extension LiveQuery {
  /// The same live query, which counts its reads.
  func counted(by counter: Counter) -> LiveQuery {
    LiveQuery(name, topics, identity) { node, time in
      counter.add()
      return try read(node, &time)
    }
  }
}
