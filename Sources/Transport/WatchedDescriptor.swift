import Platform

/// A descriptor of another library that the poller watches until `end()`. The library keeps its descriptor.
package final class WatchedDescriptor: Sendable {
  private let watched: WatchedSocket

  /// Watches a copy of the descriptor; nil if the system can't copy it.
  ///
  /// - Parameter readable: called on the executor, once for each call of `awaitReadable()`.
  package init?(
    copying descriptor: Int32, _ executor: QueueExecutor, readable: @escaping @Sendable () -> Void
  ) {
    let copy = dup(descriptor)
    guard copy >= 0 else { return nil }
    watched = WatchedSocket(Socket(descriptor: copy), executor, .init(readable: readable))
  }

  /// Requests one call of `readable`.
  package func awaitReadable() { watched.awaitReadable() }

  /// Stops watching.
  package func end() { watched.end() }
}
