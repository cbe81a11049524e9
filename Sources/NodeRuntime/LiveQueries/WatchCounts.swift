/// What watchers did: how often something that they depend on changed, how often they read, and how many values they
/// delivered.
///
/// Many firings with few deliveries mean that a query reads records that its result does not show. Fewer reads than
/// firings mean that equal watchers shared a read.
public struct WatchCounts: Hashable, Sendable {
  /// The number of watchers that wait for a change at the moment. Of a single watcher, 1.
  public package(set) var watchers: Int
  /// How often a change, or the passing of time, woke a watcher. Changes while a watcher is busy wake it once.
  public package(set) var firings = 0
  /// How often a watcher read its query.
  public package(set) var reads = 0
  /// How many values were delivered: the first one, and those that differ from the one before.
  public package(set) var deliveries = 0

  package init(watchers: Int = 0) { self.watchers = watchers }
}
