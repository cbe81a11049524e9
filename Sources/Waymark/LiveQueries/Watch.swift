import Engine
import Replication
import Storage

/// What is read, now and again after each change: a sequence that ends when the node closes or the task is cancelled.
///
/// Each value differs from the one before. A value that depends on the day or on the time is read again when the day
/// ends or that time comes, and within a minute after the clock or the time zone of the machine was changed. Changes that come while the last value is still being worked on are seen
/// together, as one: nothing is read, and nothing waits in a queue, until the next value is asked for. Reading happens
/// on the node's own queue, never on the thread of who listens.
///
/// Each iterator is a watcher of its own.
public struct Watch<Value: Sendable & Equatable>: AsyncSequence, Sendable {
  public typealias Element = Value
  public typealias Failure = Never

  let node: Node
  let query: LiveQuery<Value>

  public func makeAsyncIterator() -> Iterator { Iterator(node: node, query: query) }

  /// One watcher.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let node: Node
    fileprivate let query: LiveQuery<Value>
    private var seen: Observation<Value>?

    fileprivate init(node: Node, query: LiveQuery<Value>) {
      self.node = node
      self.query = reading
    }

    /// The next value that differs; nil at the end.
    public mutating func next() async -> Value? {
      guard let found = await node.next(query, after: seen) else { return nil }
      seen = found
      return found.value
    }

    /// The next value that differs; nil at the end.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? { await next() }
  }
}

/// What a watcher saw last, and how far the node was then.
struct Observation<Value: Sendable>: Sendable {
  let value: Value
  let revision: UInt64
  /// When the time alone may change the value.
  let due: Moment?
  let pause: WatchRegistry.Pause
}
