package import Foundation
package import JSONDocument
package import Waymark

/// `history`: what was done in the circle, or what was written to one record.
package struct ShowHistory: NodeCommand {
  package static let name = "history"

  package var record: String?
  package var limit: String?
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    /// The record that was asked about; nil for the circle.
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
      let (operations, hasMore) = try await node.newestOperations(limit)
      return Answer(record: nil, operations: operations, writes: [], hasMore: hasMore)
    }
    let history = try await node.history(ofRecordNamed: record, limit: limit)
    return Answer(
      record: history.record, operations: [], writes: history.writes, hasMore: history.hasMore)
  }
}

/// `undo`: takes back an operation, as far as it still shows.
package struct Undo: NodeCommand, ConfirmableCommand {
  package static let name = "undo"
  package typealias Answer = UndoSummary

  package var operation: String?
  package var preview: Bool?
  package var yes: Bool?
  package var isReadOnly: Bool { preview == true }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> UndoSummary {
    try await node.undo(
      operation.map(UndoTarget.operation) ?? .newest, isForced: yes == true, isPreview: preview == true)
  }
}

/// `why`: why a peer is not in sync, or where the values of a record are from.
package struct Explain: NodeCommand {
  package static let name = "why"

  package var subject: String?
  package var isReadOnly: Bool { true }

  package struct Answer: Codable, Sendable {
    package let subject: Subject
    package let peer: JSON?
    package let causes: [JSON]
    /// How many change sets the peer is not known to hold; nil if it has never said.
    package let lacking: UInt64?
    package let newestLacking: Date?
    package let asOf: Date?
    package let record: History.Record?
    package let values: [RecordExplanation.Provenance]

    package enum Subject: String, Codable, Sendable {
      case peer
      case record
    }
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    switch try node.explainedSubject(required(subject, Self.name, "a peer or a record")) {
    case .peer(let peer):
      let found = try node.causes(of: peer)
      return Answer(
        subject: .peer, peer: found.peer, causes: found.causes, lacking: found.lacking,
        newestLacking: found.newestLacking.map(Date.init(milliseconds:)),
        asOf: found.asOf.map(Date.init(milliseconds:)), record: nil, values: [])
    case .record(let name):
      let explanation = try await node.explanation(ofRecordNamed: name)
      return Answer(
        subject: .record, peer: nil, causes: [], lacking: nil, newestLacking: nil, asOf: nil,
        record: explanation.record, values: explanation.values)
    }
  }
}
