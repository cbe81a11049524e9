package import Replication

/// Something that a live query depends on.
package enum Topic: Hashable {
  /// Records of a kind, including which of them are visible.
  case kind(KindNumber)
  /// Records of any kind, also of kinds that this node does not show.
  case records
  /// Any other state of a node: peers, the gate, the circle.
  case node

  package var kind: KindNumber? { if case .kind(let kind) = self { kind } else { nil } }

  package static let all: Set<Topic> = [.records, .node]
}
