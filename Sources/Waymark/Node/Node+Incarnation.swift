import Membership
import Replication
import Storage
import Wire

/// Which logs this data directory writes: those of its incarnation, which no other directory continues.
extension Node {
  /// The incarnation that a data directory writes under when it is opened: a new one if it is a copy, its store
  /// came from elsewhere, or its log has forked.
  static func openIncarnation(
    _ stored: StoredState, _ home: Home, _ store: Store, device: DeviceKey
  ) throws -> (incarnation: Incarnation, isSpent: Bool) {
    if try store.meta(MetaKey.spent) == device.bytes { return (stored.incarnation, true) }
    let token = IncarnationToken(home)
    // The last run may have ended between hearing of a fork and leaving it.
    let isForked = stored.circle.evaluation.forkProofs.contains {
      $0.log.device == device && $0.log.incarnation == stored.incarnation
    }
    if token.names(stored.incarnation), !isForked { return (stored.incarnation, false) }
    guard mayBegin(store, stored.circle, device) else {
      try store.setMeta(MetaKey.spent, device.bytes)
      return (stored.incarnation, true)
    }
    let next = Incarnation(random16())
    try store.setMeta(MetaKey.incarnation, next.bytes)
    try token.write(next)
    return (next, false)
  }

  /// Whether a device may begin one more. One that nothing was written under is known to nobody and does not count.
  static func mayBegin(_ store: Store, _ circle: Circle, _ device: DeviceKey) -> Bool {
    var begun = store.incarnations(of: device)
    for case .logCut(let cut) in circle.statements(notIn: []).map(\.content) where cut.log.device == device {
      begun.insert(cut.log.incarnation)
    }
    return begun.count < Limits.incarnationsMax
  }

  /// From here on this data directory writes logs of its own, which nobody else can continue; or nothing, if it
  /// has begun too many.
  func leaveIncarnation(_ why: String) {
    guard !isSpent else { return }
    do {
      guard Self.mayBegin(store, circle, identity.device) else { return try spend(why) }
      let next = Incarnation(random16())
      try store.setMeta(MetaKey.incarnation, next.bytes)
      try begin(next, why)
    } catch {
      storeFailed(error)
    }
  }

  /// Takes over an incarnation that the store names already.
  func begin(_ next: Incarnation, _ why: String) throws {
    incarnation = next
    log.warning("log", "this device writes a new log from now on: \(why)")
    unsent.begin(next)
    try? unsent.save(store)
    handle(.withholding(unsent.sent))
    // Without the file the next start begins another one.
    try IncarnationToken(home).write(next)
  }

  /// The last incarnation may not go on, and there is no other: nothing is written here any more.
  private func spend(_ why: String) throws {
    isSpent = true
    log.error("log", "this device can write no more, it has begun too many logs: \(why)")
    try store.setMeta(MetaKey.spent, identity.device.bytes)
  }

  /// Refuses to write where that would continue a log that another directory may write.
  func checkIncarnation() throws {
    guard isSpent else { return }
    throw CommandFailure.failed(
      "incarnations_spent", Self.spentSentence.capitalizedFirst + ".", next: Self.spentNext)
  }

  func spentNotice() -> NoticeSnapshot? {
    isSpent ? NoticeSnapshot(.incarnationsSpent, text: Self.spentSentence, next: Self.spentNext) : nil
  }

  private static let spentSentence =
    "this device has begun its log anew \(Limits.incarnationsMax) times, the most that is allowed: it takes in "
    + "what others write, and can write nothing more itself until it is admitted anew; its data stays"
  private static let spentNext = "waymark invite on another device, then waymark join TICKET here"
}
