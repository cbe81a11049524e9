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
  let reading: Reading<Value>

  public func makeAsyncIterator() -> Iterator { Iterator(node: node, reading: reading) }

  /// One watcher.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let node: Node
    fileprivate let reading: Reading<Value>
    private var seen: Seen<Value>?

    fileprivate init(node: Node, reading: Reading<Value>) {
      self.node = node
      self.reading = reading
    }

    /// The next value that differs; nil at the end.
    public mutating func next() async -> Value? {
      guard let found = await node.next(reading, after: seen) else { return nil }
      seen = found
      return found.value
    }

    /// The next value that differs; nil at the end.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? { await next() }
  }
}

/// What a watcher saw last, and how far the node was then.
struct Seen<Value: Sendable>: Sendable {
  let value: Value
  let revision: UInt64
  /// When the time alone may change the value.
  let due: Moment?
  let pause: Watching.Pause
}

extension Node {
  /// Watches something: gives it now, and again right after each change, local or remote.
  ///
  /// ```swift
  /// for await timeline in node.watch(.timeline(of: trip.id)) { show(timeline) }
  /// ```
  public nonisolated func watch<Value>(_ reading: Reading<Value>) -> Watch<Value> {
    Watch(node: self, reading: reading)
  }

  /// Waits until what is read differs from what was seen; nil if nobody wants to know any more.
  func next<Value: Equatable>(_ reading: Reading<Value>, after seen: Seen<Value>?) async -> Seen<Value>? {
    let value = seen?.value
    var (revision, due, pause) = (seen?.revision, seen?.due, seen?.pause ?? watching.noPause)
    while replicator.isOpen, !Task.isCancelled {
      if let revision { guard await changed(reading.topics, since: revision, or: due) else { return nil } }
      guard await rest(pause), replicator.isOpen else { return nil }
      revision = watching.revision
      let start = steady
      var time = ReadingTime(now: wall())
      let found = look(reading, &time)
      due = time.due
      pause = watching.spent(from: start, until: steady, since: pause)
      // What can't be read now may be after the next change; `whenStoreBreaks(_:)` tells of worse.
      guard let found, found != value else { continue }
      return Seen(value: found, revision: watching.revision, due: due, pause: pause)
    }
    return nil
  }

  private func look<Value>(_ reading: Reading<Value>, _ time: inout ReadingTime) -> Value? {
    do {
      return try reading.read(self, &time)
    } catch {
      log.error("watch", "can't read \(reading.name) for a watcher: \(error)")
      return nil
    }
  }
}
