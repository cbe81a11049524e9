import ChangeHistory
import Engine
import NodeRuntime
import Replication
import Storage

/// The values of a live query over time: an asynchronous sequence that ends when the node closes, its store fails, or the
/// task is cancelled.
///
/// Each value differs from the one before. A value that depends on the day or the time is also read again when the day
/// ends or that time comes, and within a minute after the machine's clock or time zone is changed.
///
/// Nothing is read or buffered until the next value is requested, so changes that happen in between are delivered as
/// one. Reads run on the node's own queue, never on the caller's thread.
///
/// Each iterator is an independent watcher. Watchers of equal queries share their reads: after a change, a query is read
/// once, however many views show it.
public struct Watch<Value: Sendable & Equatable>: AsyncSequence, Sendable {
  public typealias Element = Value
  public typealias Failure = Never

  let node: Node
  let query: LiveQuery<Value>
  var explanation = Explanation()

  public func makeAsyncIterator() -> Iterator {
    Iterator(node: node, query: query, explanation: explanation)
  }

  /// One watcher, with the value that it received last.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let node: Node
    fileprivate let query: LiveQuery<Value>
    fileprivate let explanation: Explanation
    private(set) var seen: Observation<Value>?

    fileprivate init(node: Node, query: LiveQuery<Value>, explanation: Explanation) {
      self.node = node
      self.query = query
      self.explanation = explanation
    }

    /// Waits for the next value that differs from the last one; nil once the node closes or the task is cancelled.
    public mutating func next() async -> Value? {
      guard let found = await node.next(query, after: seen, explanation) else { return nil }
      seen = found
      return found.value
    }

    /// Waits for the next value that differs from the last one; nil once the node closes or the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? { await next() }
  }
}

/// The value that a watcher read last, and the revision at which it was read.
struct Observation<Value: Sendable>: Sendable {
  let value: Value
  let revision: UInt64
  /// When the passing of time may change the value; nil if it never does.
  let due: Moment?
  /// How often the clock or the time zone had been set.
  let clockSettings: Int
  let pause: WatchRegistry.Pause
  let counts: WatchCounts
  /// What changed since the read before; empty unless the watcher explains itself.
  let causes: [ChangeCause]
}
