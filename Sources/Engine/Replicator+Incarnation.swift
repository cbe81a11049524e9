import LogStorage
import Membership
package import Replication
import Storage
import Wire

/// The incarnation under which a data directory writes. No other directory may write under the same incarnation.
extension Replicator {
  /// Chooses the incarnation when a data directory is opened. A new one begins if the directory is a copy, if its store
  /// came from elsewhere, or if a log of the stored incarnation has forked, was cut, or has sets in quarantine.
  static func openIncarnation(
    _ store: Store, _ circle: Circle, _ device: DeviceKey, _ place: any IncarnationStorage,
    _ random16: () -> Bytes16
  ) throws -> (incarnation: Incarnation, isSpent: Bool) {
    guard let stored = try store.meta(MetaKey.incarnation).flatMap({ Incarnation(bytes: $0) }) else {
      throw StoreError.damaged("it names no incarnation")
    }
    if try store.meta(MetaKey.spent) == device.bytes { return (stored, true) }
    // The previous run may have ended after receiving a fork proof or a cut and before starting a new incarnation.
    let evaluation = circle.evaluation
    let goesOn =
      try !evaluation.hasForked(device, stored) && !evaluation.hasEnded(device, stored)
      && !evaluation.hasTooManyBranches(device, stored) && !store.hasQuarantined(device, stored)
    if place.names(stored), goesOn { return (stored, false) }
    guard let next = try newIncarnation(store, circle, device, random16) else {
      try store.setMeta(MetaKey.spent, device.bytes)
      return (stored, true)
    }
    try store.setMeta(MetaKey.incarnation, next.bytes)
    try place.write(next)
    return (next, false)
  }

  /// Returns a new incarnation with a number that no known log of the device has; nil if all numbers are taken.
  ///
  /// The first incarnation has the number 1, which has the largest share of the quota. Others get a random number, so
  /// that two copies of one directory that begin a new incarnation at the same time seldom choose the same one.
  private static func newIncarnation(
    _ store: Store, _ circle: Circle, _ device: DeviceKey, _ random16: () -> Bytes16
  ) throws -> Incarnation? {
    var free = try store.freeNumbers(of: device)
    for statement in circle.statements(notIn: []) where statement.signer == device {
      switch statement.content {
      case .logCut(let cut): free.remove(cut.log.incarnation.number)
      case .branchProof(let proof): free.remove(proof.tree.number)
      default: break
      }
    }
    guard !free.isEmpty else { return nil }
    let random = random16()
    if free.contains(1) { return Incarnation(random: random, number: 1) }
    return Incarnation(random: random, number: free.sorted()[Int(random.word0 >> 60) % free.count])
  }

  func newIncarnation() throws -> Incarnation? {
    try Self.newIncarnation(store, circle, device, random16)
  }

  /// Starts a new incarnation, which no other copy of the data can continue. If none is left, this device stops writing
  /// for good.
  package func leaveIncarnation(_ why: String, now: Now) {
    guard !isSpent else { return }
    trying {
      guard let next = try newIncarnation() else { return try spend(why) }
      try store.setMeta(MetaKey.incarnation, next.bytes)
      try begin(next, why, now)
    }
  }

  /// Switches to an incarnation that is already named in the store.
  func begin(_ next: Incarnation, _ why: String, _ now: Now) throws {
    incarnation = next
    shell?.note(.began(next, why: why))
    unsent.begin(next)
    try unsent.saveIfRoom(store)
    handle(.withholding(unsent.sent), now: now)
    // If this write fails, the next start begins another incarnation.
    try place.write(next)
  }

  /// Records durably that no incarnation is left, so that this device writes nothing any more.
  private func spend(_ why: String) throws {
    isSpent = true
    shell?.note(.spent(why: why))
    try store.setMeta(MetaKey.spent, device.bytes)
  }
}
