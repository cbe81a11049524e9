import Platform
import Membership
package import Waymark
import WaymarkCare

/// `history`: the operations of the circle, or all changes to one record.
package struct ShowHistory: NodeCommand {
  package static let name = "history"

  package var record: String?
  package var limit: String?
  /// Whether each operation or change is printed as a line of JSON.
  package var ndjson: Bool?
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    /// The record whose changes are listed; nil for the operations of the circle.
    package let record: History.Record?
    package let operations: [History.Operation]
    package let writes: [History.Write]
    package let hasMore: Bool

    private enum CodingKeys: String, CodingKey {
      case record
      case operations
      case writes
      case hasMore = "more"
    }
  }

  package init(record: String? = nil, limit: String? = nil) {
    self.record = record
    self.limit = limit
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    let limit = try wholeNumber(limit, "--limit", 1...Int.max) ?? 20
    guard let record else {
      let (operations, hasMore) = try await SlicedHistory(node.core).newestOperations(limit)
      return Answer(record: nil, operations: operations, writes: [], hasMore: hasMore)
    }
    let history = try await SlicedHistory(node.core).history(ofRecordNamed: record, limit: limit)
    return Answer(
      record: history.record, operations: [], writes: history.writes, hasMore: history.hasMore)
  }
}

/// `undo`: reverts the changes of an operation, except values that have been changed again since.
package struct Undo: NodeCommand, ConfirmableCommand {
  package static let name = "undo"
  package typealias Answer = UndoSummary

  package var operation: String?
  package var preview: Bool?
  package var yes: Bool?
  /// Whether a person has agreed to a large undo. Unlike `yes`, this does not revert what was changed since.
  package var agreed: Bool?
  package var isReadOnly: Bool { preview == true }

  package init() {}

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> UndoSummary {
    let target = operation.map(UndoTarget.operation) ?? .newest
    if preview != true, yes != true {
      let expected = try await HistoryOperations(node.core).undo(target, isPreview: true)
      if agreed != true, let question = expected.question(in: node.schema) { throw question }
      // What was agreed to is what was shown: an operation that was written in the meantime is not the newest one.
      return try await HistoryOperations(node.core).undo(.operation(expected.operation.id.description))
    }
    return try await HistoryOperations(node.core).undo(
      target, isForced: yes == true, isPreview: preview == true)
  }
}

/// `why`: why a peer is not in sync, or where the values of a record come from.
package struct Explain: NodeCommand {
  package static let name = "why"

  package var subject: String?
  package var isReadOnly: Bool { true }

  /// The explanation of a peer or of a record.
  package enum Answer: Sendable {
    case peer(PeerExplanation)
    case record(RecordExplanation)
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    switch try node.core.explainedSubject(required(subject, Self.name, "a peer or a record")) {
    case .peer(let peer): return .peer(try node.explanation(ofPeer: peer.device))
    case .record(let name):
      return .record(try await SlicedHistory(node.core).explanation(ofRecordNamed: name))
    }
  }
}

extension Explain.Answer: Codable {
  private enum CodingKeys: CodingKey {
    case subject
    case peer
    case causes
    case lacking
    case newestLacking
    case asOf
    case record
    case values
  }

  private enum Subject: String, Codable {
    case peer
    case record
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .peer(let explanation):
      try container.encode(Subject.peer, forKey: .subject)
      try explanation.encode(to: encoder)
      try container.encodeNil(forKey: .record)
      try container.encode([String](), forKey: .values)
    case .record(let explanation):
      try container.encode(Subject.record, forKey: .subject)
      try container.encodeNil(forKey: .peer)
      try container.encode([String](), forKey: .causes)
      for key in [CodingKeys.lacking, .newestLacking, .asOf] { try container.encodeNil(forKey: key) }
      try explanation.encode(to: encoder)
    }
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Subject.self, forKey: .subject) {
    case .peer: self = .peer(try PeerExplanation(from: decoder))
    case .record: self = .record(try RecordExplanation(from: decoder))
    }
  }
}
