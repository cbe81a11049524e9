// Sources/store.md, "Backups"

import Membership
import RecordTables
import Replication
import Storage
import Wire

/// Restores the intact part of a backup that contains damaged change sets.
///
/// If the position of a damaged set is known, either from its own signed header or from a set that depends on it, the
/// set is stored as a position without content. Then the sets that depend on the damaged set are kept, and peers can
/// be asked for its content.
struct PartialRestore {
  private let store: Store
  private let circle: Circle
  private let horizon: Clock
  private let holding: EraseHolding
  /// The number of change sets that are damaged, or depend on one whose position is unknown.
  private(set) var missing = 0

  init(_ store: Store, _ circle: Circle, _ horizon: Clock, _ holding: EraseHolding) {
    self.store = store
    self.circle = circle
    self.horizon = horizon
    self.holding = holding
  }

  /// Verifies sets, which must come in causal order, and stores those that are intact.
  mutating func take(_ part: [RawChangeSet]) throws {
    var run: [VerifiedChangeSet] = []
    for raw in part {
      if let set = try? VerifiedChangeSet(verifying: raw), isOfCircle(set.header) {
        run.append(set)
        continue
      }
      try place(run)
      run = []
      missing += 1
      guard let (id, header) = raw.signedHeader, isOfCircle(header) else { continue }
      try store.keepAncestors(of: header, horizon: horizon)
      _ = try store.keepDamaged(id, header, raw, horizon: horizon, holding: holding)
    }
    try place(run)
  }

  private func isOfCircle(_ header: ChangeSetHeader) -> Bool {
    header.circle == circle.id && circle.evaluation.admission(of: header.log) != .unknownDevice
  }

  private mutating func place(_ run: [VerifiedChangeSet]) throws {
    guard !run.isEmpty else { return }
    let placements = try store.commit(run, horizon: horizon, holding: holding).placements
    for (set, placement) in zip(run, placements) where try !isPlaced(set, placement) { missing += 1 }
  }

  /// Returns whether a set is stored, or need not be because a cut excludes it or it is beyond the quota. If dependencies
  /// of the set are missing, stores their positions and tries again.
  private func isPlaced(_ set: VerifiedChangeSet, _ placement: Placement) throws -> Bool {
    switch placement {
    case .place, .duplicate, .excluded, .beyondQuota: return true
    case .refused, .clockConflict: return false
    case .missing:
      try store.keepAncestors(of: set.header, horizon: horizon)
      switch try store.commit([set], horizon: horizon, holding: holding).placements.first {
      case .place, .duplicate, .excluded, .beyondQuota: return true
      case .refused, .clockConflict, .missing, nil: return false
      }
    }
  }
}
