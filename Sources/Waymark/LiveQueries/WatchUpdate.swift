public import ChangeHistory
public import NodeRuntime

/// A value of a watch, with the reason for its delivery.
public struct WatchUpdate<Value: Sendable & Equatable>: Sendable {
  /// The new value.
  public let value: Value
  /// What changed since the read before: operations in chronological order, after all other causes. The first update
  /// has the cause ``ChangeCause/start``.
  public let causes: [ChangeCause]
  /// What this watcher did since it began.
  public let counts: WatchCounts
}

extension Watch {
  /// The same values, each with the reason for its delivery.
  ///
  /// ```swift
  /// for await update in node.watch(.timeline(of: trip.id)).explained { show(update.value, update.causes) }
  /// ```
  ///
  /// The causes are read from the history when a value is delivered, so this takes longer than a plain watch.
  public var explained: ExplainedWatch<Value> { ExplainedWatch(watch: self) }

  /// The same values. Each time that the watch fires, it prints one line with the reason, also if the value turns out
  /// to be equal to the one before, which is not delivered.
  ///
  /// ```swift
  /// for await trips in node.watch(Trip.all).printingChanges("Trips") { show(trips) }
  /// // Trips: new value after trip.edit on this device: changed trip 0198… (name) [fired 1, read 2, delivered 2]
  /// ```
  ///
  /// - Parameters:
  ///   - label: the beginning of each line; nil for the name of the query.
  ///   - output: receives each line, on the node's queue.
  public func printingChanges(
    _ label: String? = nil, to output: @escaping @Sendable (String) -> Void = { print($0) }
  ) -> Watch {
    var watch = self
    watch.explanation = explanation.printing(label ?? query.name.rawValue, to: output)
    return watch
  }
}

/// The values of a watch, each with the reason for its delivery; see ``Watch/explained``.
public struct ExplainedWatch<Value: Sendable & Equatable>: AsyncSequence, Sendable {
  public typealias Element = WatchUpdate<Value>
  public typealias Failure = Never

  let watch: Watch<Value>

  public func makeAsyncIterator() -> Iterator {
    var watch = watch
    watch.explanation.deliversCauses = true
    return Iterator(values: watch.makeAsyncIterator())
  }

  /// One watcher, with the value that it received last.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var values: Watch<Value>.Iterator

    /// Waits for the next value that differs from the last one; nil once the node closes or the task is cancelled.
    public mutating func next() async -> WatchUpdate<Value>? {
      guard await values.next() != nil, let seen = values.seen else { return nil }
      return WatchUpdate(value: seen.value, causes: seen.causes, counts: seen.counts)
    }

    /// Waits for the next value that differs from the last one; nil once the node closes or the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> WatchUpdate<Value>? {
      await next()
    }
  }
}
