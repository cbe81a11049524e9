import Model
package import NodeRuntime
import Replication
package import Storage

/// A query whose result a node can read once or watch: records, a timeline, the peers, the gate.
///
/// ``Node/read(_:)`` reads the result once. ``Node/watch(_:)->Watch<Value>`` delivers it now and again after each
/// change. All live queries are static members of this type:
///
/// ```swift
/// let timeline = try await node.read(.timeline(of: trip.id))
/// for await organizations in node.watch(.organizations) { show(organizations.matching("air")) }
/// ```
public struct LiveQuery<Value: Sendable & Equatable>: Sendable {
  let name: LiveQueryName
  /// What equal queries have in common; their watchers share reads.
  package let identity: QueryIdentity
  /// The topics whose changes can affect the value. The passing of time can affect it too; see ``EvaluationTime``.
  let topics: Set<Topic>
  /// Reads the value. The read must not report a change to watchers, or a watcher would wake itself.
  let read: @Sendable (NodeCore, inout EvaluationTime) throws -> Value
  /// Reads the value from records alone, if nothing else is needed, so that the node's queue is not needed either.
  let readRecords: (@Sendable (any RecordSource, inout EvaluationTime) throws -> Value)?

  /// - Parameter parameters: everything apart from the name that the value depends on.
  package init(
    _ name: LiveQueryName, _ topics: Set<Topic>, _ parameters: any Hashable & Sendable...,
    read: @escaping @Sendable (NodeCore, inout EvaluationTime) throws -> Value
  ) {
    self.name = name
    self.topics = topics
    self.read = read
    readRecords = nil
    identity = QueryIdentity(name.rawValue, Value.self, parameters)
  }

  /// - Parameter parameters: everything apart from the name that the value depends on.
  package init(
    _ name: LiveQueryName, _ topics: Set<Topic>, _ parameters: any Hashable & Sendable...,
    records read: @escaping @Sendable (any RecordSource, inout EvaluationTime) throws -> Value
  ) {
    self.name = name
    self.topics = topics
    self.read = { try read($0.store, &$1) }
    readRecords = read
    identity = QueryIdentity(name.rawValue, Value.self, parameters)
  }
}

/// The names of live queries, as written to the log.
package enum LiveQueryName: String, CaseIterable, Sendable {
  case conflicts
  case count
  case counts
  case day
  case deleted
  case fileState
  case files
  case first
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
  case settingState
  case status
  case storeHealth
  case summaries
  case summary
  case syncState
  case timeline
  case today
  case trash
}
