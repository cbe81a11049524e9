import Engine
import Membership
import Replication
import Storage
import Wire

/// The cure for a clock that ran ahead: what it dated in the future is written again, dated now.
extension Node {
  /// Ends the own logs behind the last sets with a good date, and writes the rest again under a new incarnation.
  func writeAgain(_ ended: [EndedLog]) throws {
    try checkIncarnation()
    do {
      try withRoom { try turn { try $0.restamp(ended, now: time) } }
    } catch WritingAgainError.lastIncarnation {
      throw WaymarkError.lastIncarnation
    } catch WritingAgainError.tooManyStatements {
      throw WaymarkError.tooManyStatements
    } catch WritingAgainError.diskIsFull {
      throw WaymarkError.diskFull(home)
    }
  }

}

extension WaymarkError {
  fileprivate static let lastIncarnation = failed(
    "incarnations_spent",
    "This device has begun its log anew \(Limits.incarnationsMax) times, the most that is allowed: nothing was changed.",
    next: "waymark invite, on another device; then here waymark join TICKET")

  fileprivate static let tooManyStatements = failed(
    "too_many_statements",
    "The circle holds as many statements of this device as it may: nothing was changed.",
    next: "waymark invite, on another device; then here waymark join TICKET")
}
