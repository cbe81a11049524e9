import Engine
import Membership
import Replication
import Storage
import Wire

extension Node {
  /// Refuses to write where that would continue a log that another directory may write.
  func checkIncarnation() throws {
    guard replicator.isSpent else { return }
    throw WaymarkError.failed(
      "incarnations_spent", Self.spentSentence.capitalizedFirst + ".", next: Self.spentNext)
  }

  func spentNotice() -> NoticeSnapshot? {
    replicator.isSpent
      ? NoticeSnapshot(.incarnationsSpent, text: Self.spentSentence, next: Self.spentNext) : nil
  }

  private static let spentSentence =
    "this device has begun its log anew \(Limits.incarnationsMax) times, the most that is allowed: it takes in "
    + "what others write, and can write nothing more itself until it is admitted anew; its data stays"
  private static let spentNext = "waymark invite, on another device; then here waymark join TICKET"
}
