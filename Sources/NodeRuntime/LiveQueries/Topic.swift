import Records
package import Replication

/// Something that a live query depends on.
package enum Topic: Hashable {
  /// Records of a kind, including which of them are visible.
  case kind(KindNumber)
  /// Any other state of a node: peers, the gate, the circle.
  case node

  /// All kinds of records that this version shows.
  package static let records = Set(Registry.kinds.map { Topic.kind($0.number) })
  package static let all = records.union([.node])
}
