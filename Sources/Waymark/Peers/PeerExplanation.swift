import Foundation
package import Membership
import Replication
import Storage
import Wire

/// An explanation of why a peer is not in sync.
public struct PeerExplanation: Hashable, Sendable {
  /// The peer, as seen from this device.
  public let peer: Peer
  /// The root causes of its state, both its own and shared ones; empty if it is in sync.
  public let causes: [NodeStatus.Cause]
  /// Which of this device's changes the peer is known to hold; nil if nothing is known.
  public let holds: NodeStatus.ReplicationRisk.Holder?
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
