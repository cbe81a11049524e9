import Membership
import Replication
import Storage
import Wire

/// The cure for a clock that ran ahead: what it dated in the future is written again, dated now.
extension Node {
  /// Ends the own logs behind the last sets with a good date, and writes the rest again under a new incarnation.
  ///
  /// All of it is one transaction: a node that is killed meanwhile has done everything or nothing. The file of the
  /// incarnation comes after it; without it the next start begins another incarnation.
  func writeAgain(_ ended: [EndedLog]) throws {
    try checkIncarnation()
    guard Self.mayBegin(store, circle, identity.device) else { throw CommandFailure.lastIncarnation }
    let now = wall()
    let next = Incarnation(random16())
    let cuts = try ended.map { end in
      try Statement(
        signing: LogCut(circle: circle.id, log: end.log, tip: end.tip?.id, issued: now),
        with: identity.signing)
    }
    var known = circle
    guard known.insert(cuts).refused.isEmpty else { throw CommandFailure.tooManyStatements }
    let (evaluation, device) = (known.evaluation, identity.device)
    let order = WritingAgain(
      circle: circle.id, ended: ended, incarnation: next, time: .now(now),
      admission: { evaluation.admission(of: $0, at: device) }, horizon: horizon)
    let signing = identity.signing
    let report = try withRoom {
      try store.writeAgain(order, by: { Author(position: $0, key: signing) }) { _ in
        try store.addStatements(cuts.map { ($0.id, $0.bytes) })
        try store.setMeta(MetaKey.incarnation, next.bytes)
      }
    }
    didCommit(report)
    do { try begin(next, "what its clock had dated ahead is dated anew") } catch { storeFailed(error) }
    // Peers hear of the ends first, then of what comes in their place.
    handle(.statementsAdded(cuts.map(\.bytes)))
    var following: [Effect] = []
    logsWereLaidOut(&following)
    obey(following)
  }

  /// Does what needs room on the disk, and says so where there is none.
  func withRoom<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch  where isNoRoom(error) {
      diskIsFull()
      throw CommandFailure.diskFull(home)
    }
  }
}

extension CommandFailure {
  fileprivate static let lastIncarnation = failed(
    "incarnations_spent",
    "This device has begun its log anew \(Limits.incarnationsMax) times, the most that is allowed: nothing was changed.",
    next: "waymark invite on another device, then waymark join TICKET here")

  fileprivate static let tooManyStatements = failed(
    "too_many_statements",
    "The circle holds as many statements of this device as it may: nothing was changed.",
    next: "waymark invite on another device, then waymark join TICKET here")
}
