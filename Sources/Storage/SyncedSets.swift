package import Wire

/// For each lane, the newest set that was stored when this device was last in sync. The user can have seen a record
/// before it disappeared only if the record comes from this set or an earlier one.
///
/// While a device fetches the history of its circle, old deletions arrive after the records that they deleted. The user
/// has never seen these records and does not lose them.
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

  /// Notes that this device has everything that its peers have in these lanes.
  package mutating func note(_ lanes: [Lane], upTo number: Int64) {
    guard lanes.contains(where: { newest[$0] != number }) else { return }
    for lane in lanes { newest[lane] = number }
    isNews = true
  }

  /// Call this when the sets have been renumbered. All sets that counted as seen are among those stored up to `number`.
  package mutating func renumber(upTo number: Int64) {
    for lane in newest.keys { newest[lane] = number }
    isNews = true
  }

  package mutating func save(to store: Store) throws {
    try store.setMetaLines(MetaKey.seen, Lane.allCases.map { "\($0.rawValue) \(newest[$0] ?? 0)" })
    isNews = false
  }
}
