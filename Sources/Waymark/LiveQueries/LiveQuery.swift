import Replication

/// A value that a node can read, and read again after each change: records, a timeline, the peers, the gate.
///
/// ``Node/read(_:)`` reads it once. ``Node/watch(_:)->Watch<Value>`` gives it now and after each change. All readings
/// are static members of this type:
///
/// ```swift
/// let timeline = try await node.read(.timeline(of: trip.id))
/// for await organizations in node.watch(.organizations) { show(organizations.matching("air")) }
/// ```
public struct LiveQuery<Value: Sendable & Equatable>: Sendable {
  let name: LiveQueryName
  /// The value can change only with one of these, or with the time; see ``EvaluationTime``.
  let topics: Set<Topic>
  /// Announces nothing to watchers: a watcher would wake itself.
  let read: @Sendable (isolated Node, inout EvaluationTime) throws -> Value

  init(
    _ name: LiveQueryName, _ topics: Set<Topic>,
    _ read: @escaping @Sendable (isolated Node, inout EvaluationTime) throws -> Value
  ) {
    self.name = name
    self.topics = topics
    self.read = read
  }
}

/// All readings, by the names that the log calls them.
enum LiveQueryName: String, CaseIterable, Sendable {
  case conflicts
  case count
  case habitProgress
  case history
  case massDeletions
  case members
  case onboarding
  case organizations
  case overview
  case overviews
  case peers
  case profile
  case progress
  case record
  case records
  case setting
  case status
  case syncState
  case timeline
}
