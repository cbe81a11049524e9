import JSONDocument
import Replication
import Storage
import Wire

/// `restamp`: dates anew what was written while this machine's clock ran ahead.
extension Node {
  func restamp(_ request: CommandRequest) async throws -> JSON {
    try checkAdmitted()
    try checkDisk()
    let now = wall()
    let clock = clockAgreement(now)
    let ended = try clock.logsAhead()
    let found = RestampDocument(
      ended: ended, changeSets: try store.countBehind(ended),
      newest: store.newestClock(of: identity.device).milliseconds, now: now)
    if ended.isEmpty { return found.json(request) }
    if case .disputed(let other) = clock.verdict { throw WaymarkError.wallDisputed(now, other) }
    if request.flag("preview") { return found.json(request) }
    guard request.flag("yes") else { throw WaymarkError.restampNeedsYes(found) }
    let backup = try await backUp(before: "restamp")
    try checkOpen()
    // What was written while the backup was taken is dated ahead too.
    try writeAgain(try clockAgreement(wall()).logsAhead())
    return found.json(request, backup: backup, incarnation: incarnation)
  }
}

/// What is dated ahead.
private struct RestampDocument {
  let ended: [EndedLog]
  let changeSets: Int
  let newest: Moment
  let now: Moment

  func json(_ request: CommandRequest, backup: String? = nil, incarnation: Incarnation? = nil) -> JSON {
    document(
      request.command,
      [
        .init("preview", .bool(request.flag("preview"))),
        .init("changeSets", .integer(changeSets)),
        .init("newest", ended.isEmpty ? .null : timeJSON(newest)),
        .init("now", timeJSON(now)),
        .init("incarnation", .text(incarnation?.description)), .init("backup", .text(backup)),
      ])
  }

  var sentence: String {
    let sets = changeSets == 1 ? "1 change set is" : "\(changeSets) change sets are"
    return
      "\(sets) dated ahead, up to \(CivilTime.text(newest)); this machine's clock says \(CivilTime.text(now))"
  }
}

extension WaymarkError {
  fileprivate static func restampNeedsYes(_ found: RestampDocument) -> WaymarkError {
    needsYes(
      "\(found.sentence). Each is written again with the present time, in the same order; a backup is taken first.",
      next: .waymark("restamp --yes"))
  }

  fileprivate static func wallDisputed(_ now: Moment, _ other: Moment) -> WaymarkError {
    failed(
      .clockDisputed,
      "This machine's clock says \(CivilTime.text(now)), but for the other devices it is "
        + "\(CivilTime.text(other)) or later: dating anything by this clock would be wrong, and nothing was changed.",
      next: "set this machine's clock, then \(waymark: "restamp")")
  }
}
