public import Foundation
import Records
import Replication
import Storage
public import Wire

/// Why a peer is not in sync.
public struct PeerExplanation: Hashable, Sendable {
  /// The peer, as this device sees it.
  public let peer: Peer
  /// The roots of its state, its own and those that concern all; empty if it is in sync.
  public let causes: [NodeStatus.Cause]
  /// What is here and the peer is not known to hold.
  public let holds: NodeStatus.Loss.Holder?
}

/// Where each value of a record came from.
public struct RecordExplanation: Hashable, Sendable, Codable {
  /// The record it is about.
  public let record: History.Record
  /// Its fields, one after the other.
  public let values: [Provenance]

  /// Who wrote what a field shows, and what that won against.
  public struct Provenance: Hashable, Sendable, Codable {
    /// The name of the field; `life` for whether the record is there.
    public let field: String
    /// What the field shows.
    public let written: Written
    /// Earlier values, and those that others wrote without knowing of it.
    public let wonAgainst: [Written]
  }

  /// A value, and who wrote it.
  public struct Written: Hashable, Sendable, Codable {
    /// What was written.
    public let value: ShownValue
    /// The operation that wrote it, and whose it was.
    public let author: History.Author
    /// How it lost; nil for the value that shows.
    public let how: Defeat?

    /// How a value lost.
    public enum Defeat: String, Hashable, Sendable, Codable {
      /// It was replaced by somebody who knew of it.
      case earlier
      /// It was written at the same time.
      case concurrent
    }

    private enum CodingKeys: CodingKey {
      case value
      case how
    }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      value = try container.decode(ShownValue.self, forKey: .value)
      author = try History.Author(from: decoder)
      how = try container.decodeIfPresent(Defeat.self, forKey: .how)
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(value, forKey: .value)
      try author.encode(to: encoder)
      if let how { try container.encode(how, forKey: .how) }
    }

    init(value: ShownValue, author: History.Author, how: Defeat?) {
      self.value = value
      self.author = author
      self.how = how
    }
  }
}

extension PeerExplanation: Codable {
  private enum CodingKeys: CodingKey {
    case peer
    case causes
    case lacking
    case newestLacking
    case asOf
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(peer, forKey: .peer)
    try container.encode(causes, forKey: .causes)
    try container.encodeIfPresent(holds?.lacking, forKey: .lacking)
    try container.encodeIfPresent(holds?.newestLacking, forKey: .newestLacking)
    try container.encodeIfPresent(holds?.asOf, forKey: .asOf)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    peer = try container.decode(Peer.self, forKey: .peer)
    causes = try container.decode([NodeStatus.Cause].self, forKey: .causes)
    holds = NodeStatus.Loss.Holder(
      device: peer.device, name: peer.name,
      lacking: try container.decodeIfPresent(Int.self, forKey: .lacking),
      newestLacking: try container.decodeIfPresent(Date.self, forKey: .newestLacking),
      asOf: try container.decodeIfPresent(Date.self, forKey: .asOf))
  }
}

extension Node {
  /// Why a peer is not in sync, down to the root.
  ///
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func explanation(ofPeer device: DeviceKey) throws -> PeerExplanation {
    try sayingWhy {
      let status = try currentStatus(now: wall())
      guard let peer = status.peers.first(where: { $0.device == device }) else {
        throw WaymarkError.notFound("peer", device.description, next: .waymark("peers"))
      }
      let own = status.causes.filter { $0.peer?.device == device }
      let others = status.causes.filter { $0.peer == nil && $0.reason == peer.consequenceOf }
      return PeerExplanation(
        peer: peer, causes: own + others, holds: status.loss.devices.first { $0.device == device })
    }
  }

  /// Where each value of a record came from: who wrote it, when, and what it won against.
  ///
  /// - Parameters:
  ///   - record: the id of the record.
  ///   - kind: nil for whatever has the id.
  /// - Throws: `WaymarkError` with the code `not_found`.
  public func explanation(ofRecord record: UUID, _ kind: RecordKind? = nil) async throws -> RecordExplanation
  {
    try await explanation { try self.row(of: record, kind) }
  }

  /// As ``explanation(ofRecord:_:)``, of the record that a name or the beginning of an id means.
  package func explanation(ofRecordNamed name: String) async throws -> RecordExplanation {
    try await explanation { try self.names.anyRecord(name) }
  }

  private func explanation(_ find: () throws -> RecordRow) async throws -> RecordExplanation {
    try await sayingWhy {
      try await inSlices { try await historyReader.explanation(of: try find(), $0) }
    }
  }
}
