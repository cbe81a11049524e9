public import Observation
public import Waymark

/// The value of a live query for views: an observable object that follows the query for as long as it exists.
///
/// ```swift
/// let trips = Watched(Trip.all.sorted(by: \.startDate), on: node)
/// let timeline = Watched(.timeline(of: trip.id), on: node)
/// ```
///
/// Create a model once, with the identity of its view, and not each time that the view is drawn. A view that reads
/// ``value`` is drawn again when the value differs, and never for anything else. Models of equal queries share their
/// reads, so each view can have its own.
///
/// A model holds the node, but nothing holds the model: it stops when its last owner releases it.
@MainActor @Observable public final class Watched<Value: Sendable & Equatable> {
  /// The newest value; nil until the first one has been read. It stays when the watch ends.
  public private(set) var value: Value?
  /// Whether the value is there, and whether it still follows the node.
  public private(set) var phase = WatchPhase.loading
  /// What the newest value came from: operations with their devices, records and fields; the time; the node's state.
  public private(set) var lastChange: [ChangeCause] = []
  /// How often the query fired, was read, and had a new value.
  public private(set) var counts = WatchCounts()
  @ObservationIgnored private var following: Task<Void, Never>?

  /// Follows a live query.
  public init(_ query: LiveQuery<Value>, on node: Node) {
    following = Task { [weak self] in
      for await update in node.watch(query).explained { self?.received(update) }
      guard !Task.isCancelled else { return }
      do {
        _ = try await node.read(query)
      } catch let error as WaymarkError {
        self?.phase = .ended(error)
      } catch {}
    }
  }

  /// Follows the records of a query.
  public convenience init<Owner: Record>(_ query: Query<Owner>, on node: Node) where Value == [Owner] {
    self.init(.records(query), on: node)
  }

  private func received(_ update: WatchUpdate<Value>) {
    value = update.value
    lastChange = update.causes
    counts = update.counts
    if phase != .current { phase = .current }
  }

  deinit { following?.cancel() }
}

/// Whether a watched value is there, and whether it still follows its node.
public enum WatchPhase: Hashable, Sendable {
  /// The first value has not been read yet.
  case loading
  /// The value is the newest one.
  case current
  /// The value is not followed any more: the node was closed, or its store failed.
  case ended(WaymarkError)
}

/// Keeps the model of a view whose description, with its query, is made again each time that it is drawn.
@MainActor final class WatchedSlot<Value: Sendable & Equatable> {
  private var kept: (model: Watched<Value>, query: LiveQuery<Value>, node: Node)?

  nonisolated init() {}

  /// Returns the kept model if it follows an equal query on the same node, and otherwise a new one.
  func model(of query: LiveQuery<Value>, on node: Node) -> Watched<Value> {
    if let kept, kept.node === node, kept.query.identity == query.identity { return kept.model }
    let model = Watched(query, on: node)
    kept = (model, query, node)
    return model
  }
}
