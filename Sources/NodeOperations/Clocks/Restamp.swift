// Protocol/change-set.md, "Re-authoring"
//
// Restamping
//
// A device whose clock ran ahead has signed change sets that are dated in the future. The device itself applies them,
// but other devices park them until that date. Correcting the clock alone does not help: each set's clock has to exceed
// the clock of the set before it in the log, so new sets would be dated in the future too. Restamping ends the log at
// its last set with a good date and re-signs the later sets in a new log, dated now:
//
//   before   log 1:  1  2  3  4  5  6         sets 4 to 6 are dated 2031
//   after    log 1:  1  2  3 ┤                log cut at set 3
//            log 2:           1  2  3         the same operations and entries, in the same order, dated now
//
// 1. Find our own logs with sets dated more than ten minutes ahead (`Limits.clockDriftMilliseconds`).
// 2. Refuse if this machine's clock is disputed, because the sets would get another wrong date.
// 3. Ask for confirmation, and take a backup.
// 4. Find the logs again, because more may have been written during the backup, and restamp them in one transaction
//    that stores the log cuts, the new sets and the new incarnation. Peers are sent the cuts first, then the new sets.
//
// Without the cuts, the original sets would be applied when their date comes and would win over everything written
// since. Without the single transaction, a crash could leave cut logs whose sets are in no other log.
//
// Restamping changes only the sets' clocks and, if it is ahead too, the modification time that the profile itself
// carries. Dates in other fields stay as they were written.

import Engine
public import Platform
import Home
import Model
package import NodeRuntime
import Reasons
import Replication
import Storage
import Wire

/// The preview or the result of restamping the changes that this device made while its clock ran ahead.
public struct RestampSummary: Hashable, Sendable, Codable {
  /// Whether this is a preview.
  public let isPreview: Bool
  /// The number of change sets that are dated ahead, or were before they were restamped.
  public let changeSets: Int
  /// The date of the newest such change set; nil if there is none.
  public let newest: Date?
  /// The time by this device's clock.
  public let now: Date
  /// The incarnation under which the change sets were re-signed; nil if none were.
  public let incarnation: String?
  /// The path of the backup taken beforehand; nil if none was taken.
  public let backup: String?

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case changeSets
    case newest
    case now
    case incarnation
    case backup
  }
}

/// Re-signs, with the current time, the changes that this device made while its clock ran ahead.
package struct Restamper {
  private let isPreview: Bool
  private let isConfirmed: Bool

  package init(isPreview: Bool, isConfirmed: Bool) {
    self.isPreview = isPreview
    self.isConfirmed = isConfirmed
  }

  package func run(on node: NodeCore) async throws -> RestampSummary {
    try node.checkAdmitted()
    try node.maintenance.checkDisk()
    let now = node.wall()
    let clock = NodeInspection(of: node, now: now).clockAgreement
    let ended = try clock.logsAhead()
    let count = try node.store.countBehind(ended)
    let newest = node.store.newestClock(of: node.identity.device).milliseconds
    func summary(_ changeSets: Int, _ newest: Moment, _ incarnation: String? = nil, backup: String? = nil)
      -> RestampSummary
    {
      RestampSummary(
        isPreview: isPreview, changeSets: changeSets,
        newest: changeSets == 0 ? nil : Date(milliseconds: newest),
        now: Date(milliseconds: now), incarnation: incarnation, backup: backup)
    }
    if ended.isEmpty { return summary(0, newest) }
    if case .disputed(let other) = clock.verdict { throw WaymarkError.wallDisputed(now, other) }
    if isPreview { return summary(count, newest) }
    guard isConfirmed else { throw WaymarkError.restampNeedsYes(count, newest: newest, now: now) }
    let backup = try await node.backUp(before: "restamp")
    try node.checkOpen()
    // Find the logs again: sets written during the backup are dated ahead too, and another call may have been faster.
    let left = try node.inspection().clockAgreement.logsAhead()
    guard !left.isEmpty else { return summary(0, newest, backup: backup) }
    let restamped = try node.store.countBehind(left)
    let newestLeft = node.store.newestClock(of: node.identity.device).milliseconds
    try reauthor(left, on: node)
    return summary(restamped, newestLeft, node.replicator.incarnation.description, backup: backup)
  }

  /// Cuts our own logs after their last set with a good date, and re-authors the later sets under a new incarnation.
  private func reauthor(_ ended: [EndedLog], on node: NodeCore) throws {
    try node.checkIncarnation()
    do {
      try node.maintenance.withRoom { try node.loop.turn { try $0.restamp(ended, now: node.loop.time) } }
    } catch ReauthoringError.lastIncarnation {
      throw WaymarkError.lastIncarnation
    } catch ReauthoringError.tooManyStatements {
      throw WaymarkError.tooManyStatements
    } catch ReauthoringError.quotaUsed {
      throw node.quotaUsed(.records)
    } catch ReauthoringError.diskIsFull {
      throw WaymarkError.diskFull(node.home)
    }
  }
}

extension WaymarkError {
  fileprivate static func restampNeedsYes(_ count: Int, newest: Moment, now: Moment) -> WaymarkError {
    let sets = count == 1 ? "1 change set is" : "\(count) change sets are"
    return needsYes(
      "\(sets) dated ahead, up to \(CivilTime.sentenceText(newest)); this machine's clock says \(CivilTime.sentenceText(now)). "
        + "Each is signed again with the current time, in the same order; a backup is taken first.",
      next: .waymark("restamp --yes"))
  }

  fileprivate static func wallDisputed(_ now: Moment, _ other: Moment) -> WaymarkError {
    failed(
      .clockDisputed,
      "This machine's clock says \(CivilTime.sentenceText(now)), but according to the other devices it is "
        + "\(CivilTime.sentenceText(other)) or later. Nothing was changed: a wrong clock would give wrong dates again.",
      next: "set this machine's clock, then \(waymark: "restamp")")
  }

  fileprivate static let lastIncarnation = failed(
    .incarnationsSpent,
    "This device has already written under \(Limits.incarnationsMax) incarnations, the limit. Nothing was changed.",
    next: "\(waymark: "invite", on: "another device"); then here \(waymark: "join TICKET")")

  fileprivate static let tooManyStatements = failed(
    .tooManyStatements,
    "The circle already holds the maximum number of statements by this device. Nothing was changed.",
    next: "\(waymark: "invite", on: "another device"); then here \(waymark: "join TICKET")")
}
