package import Wire

/// For each lane the newest set that was here when this device was last in sync: from there on, what disappears was there
/// to be seen.
///
/// While a device fetches the history of its circle, old deletions come after what they deleted, and nobody has lost
/// anything.
package struct SyncedSets: Sendable {
  package private(set) var newest: [Lane: Int64] = [:]
  /// Whether the store has not got them yet.
  package private(set) var isNews = false

  package init(_ store: Store) throws {
    for line in try store.metaLines(MetaKey.seen) {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let lane = UInt8(parts[0]).flatMap(Lane.init), let number = Int64(parts[1])
      else { continue }
      newest[lane] = number
    }
  }

  /// In these lanes all that is here now is what everyone has.
  package mutating func note(_ lanes: [Lane], upTo number: Int64) {
    guard lanes.contains(where: { newest[$0] != number }) else { return }
    for lane in lanes { newest[lane] = number }
    isNews = true
  }

  /// The sets have other numbers now: what was seen before, was here before.
  package mutating func renumber(upTo number: Int64) {
    for lane in newest.keys { newest[lane] = number }
    isNews = true
  }

  package mutating func save(to store: Store) throws {
    try store.setMetaLines(MetaKey.seen, Lane.allCases.map { "\($0.rawValue) \(newest[$0] ?? 0)" })
    isNews = false
  }
}
