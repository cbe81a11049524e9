package import Wire

/// For each lane, the newest set that was stored when this device was last in sync. Only records from sets up to
/// there can have been seen by a person before they disappeared.
///
/// While a device fetches the history of its circle, old deletions arrive after what they deleted; nothing is lost by
/// that.
package struct SyncedSets: Sendable {
  package private(set) var newest: [Lane: Int64] = [:]
  /// Whether there are unsaved changes.
  package private(set) var isNews = false

  package init(_ store: Store) throws {
    for line in try store.metaLines(MetaKey.seen) {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let lane = UInt8(parts[0]).flatMap(Lane.init), let number = Int64(parts[1])
      else { continue }
      newest[lane] = number
    }
  }

  /// Notes that in these lanes this device has everything that its peers have.
  package mutating func note(_ lanes: [Lane], upTo number: Int64) {
    guard lanes.contains(where: { newest[$0] != number }) else { return }
    for lane in lanes { newest[lane] = number }
    isNews = true
  }

  /// Call when the sets have been renumbered: all that were seen before are among the stored ones.
  package mutating func renumber(upTo number: Int64) {
    for lane in newest.keys { newest[lane] = number }
    isNews = true
  }

  package mutating func save(to store: Store) throws {
    try store.setMetaLines(MetaKey.seen, Lane.allCases.map { "\($0.rawValue) \(newest[$0] ?? 0)" })
    isNews = false
  }
}
