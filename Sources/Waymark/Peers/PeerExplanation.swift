import Foundation
package import Membership
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

/// What `why` can be asked about.
package enum ExplainedSubject: Sendable {
  case peer(Member)
  /// By its name or the beginning of its id.
  case record(String)
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

  /// The peer or the record that a name means.
  ///
  /// - Throws: `WaymarkError` with the code `not_found`, or `ambiguous` where it means both.
  package func explainedSubject(_ subject: String) throws -> ExplainedSubject {
    let peers = deviceNames.members(matching: subject, but: identity.device)
    let records = (try? names.anyRecordLabels(subject)) ?? []
    if peers.isEmpty, records.isEmpty {
      if [name(of: identity.device), identity.device.description].contains(subject) {
        throw WaymarkError.usage(
          "“\(shortened(subject))” is this device itself; `why` is about another one, or a record.",
          next: .waymark("status"))
      }
      throw WaymarkError.notFound(
        "peer or record", subject, next: "\(waymark: "peers"), or \(waymark: "history")")
    }
    if !peers.isEmpty, !records.isEmpty {
      throw WaymarkError.ambiguous(
        "thing", subject,
        peers.map { "peer \(name(of: $0.device))  \($0.device)" } + NameResolver.shown(records))
    }
    return peers.isEmpty ? .record(subject) : .peer(try peer(named: subject))
  }
}
