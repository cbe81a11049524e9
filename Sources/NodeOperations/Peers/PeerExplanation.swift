import Enrolment
import Platform
import Home
package import Membership
import Model
public import NodeRuntime
import Reasons
import Replication
import Storage
package import Wire

/// An explanation of why a peer is not in sync.
public struct PeerExplanation: Hashable, Sendable {
  /// The peer, as seen from this device.
  public let peer: Peer
  /// The root causes of its state, both its own and shared ones; empty if it is in sync.
  public let causes: [NodeStatus.Cause]
  /// Which of this device's changes the peer is known to hold; nil if nothing is known.
  public let holds: NodeStatus.ReplicationRisk.Holder?
}

extension PeerExplanation {
  /// Explains the state of a peer from a status.
  ///
  /// - Throws: `WaymarkError` with the code `not_found`.
  package init(of device: DeviceKey, in status: NodeStatus) throws {
    guard let peer = status.peers.first(where: { $0.device == device }) else {
      throw WaymarkError.notFound("peer", device.description, next: .waymark("peers"))
    }
    let own = status.causes.filter { $0.peer?.device == device }
    let others = status.causes.filter { $0.peer == nil && $0.reason == peer.consequenceOf }
    self.init(
      peer: peer, causes: own + others, holds: status.replicationRisk.devices.first { $0.device == device })
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
    holds = NodeStatus.ReplicationRisk.Holder(
      device: peer.device, name: peer.name,
      lacking: try container.decodeIfPresent(Int.self, forKey: .lacking),
      newestLacking: try container.decodeIfPresent(Date.self, forKey: .newestLacking),
      asOf: try container.decodeIfPresent(Date.self, forKey: .asOf))
  }
}

/// A subject that `why` can explain.
package enum ExplainedSubject: Sendable {
  case peer(Member)
  /// A record, by name or id prefix.
  case record(String)
}

extension NodeCore {
  /// Finds the peer or the record with the given name.
  ///
  /// - Throws: `WaymarkError` with the code `not_found`, or `ambiguous` if both a peer and a record match.
  package func explainedSubject(_ subject: String) throws -> ExplainedSubject {
    let peers = connections.names.peers(matching: subject, besides: identity.device)
    let records = (try? names.anyRecordLabels(subject)) ?? []
    if peers.isEmpty, records.isEmpty {
      if [name(of: identity.device), identity.device.description].contains(subject) {
        throw WaymarkError.usage(
          "“\(shortened(subject))” is this device; `why` explains another device or a record.",
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
