import Membership
package import Replication
import Storage
import Wire

/// Which logs a data directory writes: those of its incarnation, which no other directory continues.
extension Replicator {
  /// The incarnation that a data directory writes under when it is opened: a new one if it is a copy, its store
  /// came from elsewhere, or its log has forked, was ended, or ends further back than it did.
  static func openIncarnation(
    _ store: Store, _ circle: Circle, _ device: DeviceKey, _ place: any IncarnationStorage,
    _ random16: () -> Bytes16
  ) throws -> (incarnation: Incarnation, isSpent: Bool) {
    guard let stored = try store.meta(MetaKey.incarnation).flatMap({ Incarnation(bytes: $0) }) else {
      throw StoreError.damaged("it names no incarnation")
    }
    if try store.meta(MetaKey.spent) == device.bytes { return (stored, true) }
    // The last run may have ended between hearing of a fork or an end and leaving the log.
    let evaluation = circle.evaluation
    let goesOn =
      try !evaluation.hasForked(device, stored) && !evaluation.hasEnded(device, stored)
      && !store.hasQuarantined(device, stored)
    if place.names(stored), goesOn { return (stored, false) }
    guard mayBegin(store, circle, device) else {
      try store.setMeta(MetaKey.spent, device.bytes)
      return (stored, true)
    }
    let next = Incarnation(random16())
    try store.setMeta(MetaKey.incarnation, next.bytes)
    try place.write(next)
    return (next, false)
  }

  /// Whether a device may begin one more. One that nothing was written under is known to nobody and does not count.
  private static func mayBegin(_ store: Store, _ circle: Circle, _ device: DeviceKey) -> Bool {
    var begun = store.incarnations(of: device)
    for case .logCut(let cut) in circle.statements(notIn: []).map(\.content) where cut.log.device == device {
      begun.insert(cut.log.incarnation)
    }
    return begun.count < Limits.incarnationsMax
  }

  func mayBegin() throws -> Bool { Self.mayBegin(store, circle, device) }

  /// From here on this data directory writes logs of its own, which nobody else can continue; or nothing, if it
  /// has begun too many.
  package func leaveIncarnation(_ why: String, now: Now) {
    guard !isSpent else { return }
    trying {
      guard try mayBegin() else { return try spend(why) }
      let next = Incarnation(random16())
      try store.setMeta(MetaKey.incarnation, next.bytes)
      try begin(next, why, now)
    }
  }

  /// Takes over an incarnation that the store names already.
  func begin(_ next: Incarnation, _ why: String, _ now: Now) throws {
    incarnation = next
    shell?.note(.began(next, why: why))
    unsent.begin(next)
    try unsent.saveIfRoom(store)
    handle(.withholding(unsent.sent), now: now)
    // Without it the next start begins another one.
    try place.write(next)
  }

  /// The last incarnation may not go on, and there is no other: nothing is written here any more.
  private func spend(_ why: String) throws {
    isSpent = true
    shell?.note(.spent(why: why))
    try store.setMeta(MetaKey.spent, device.bytes)
  }
}
