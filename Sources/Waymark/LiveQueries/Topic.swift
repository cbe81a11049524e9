import Records
import Replication

/// What a reading depends on.
enum Topic: Hashable {
  /// Records of a kind, or what of them is visible.
  case kind(KindNumber)
  /// Anything else that a node can tell of: peers, the gate, the circle.
  case node

  /// All records, of kinds that this version shows.
  static let records = Set(Registry.kinds.map { Topic.kind($0.number) })
  static let all = records.union([.node])
}
