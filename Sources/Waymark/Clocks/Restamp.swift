import Engine
public import Foundation
import Replication
import Storage
import Wire

/// What this device wrote while its clock ran ahead, and what became of it.
public struct RestampSummary: Hashable, Sendable, Codable {
  /// Whether nothing was to be written.
  public let isPreview: Bool
  /// How many change sets are dated ahead, or were.
  public let changeSets: Int
  /// The date of the newest; nil if there is none.
  public let newest: Date?
  /// What this device's clock says.
  public let now: Date
  /// The incarnation whose logs hold them now; nil if nothing was done.
  public let incarnation: String?
  /// The backup that was taken before; nil if nothing was done.
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

/// Re-timestamps what this device wrote while its clock ran ahead.
package struct Restamper {
  private let isPreview: Bool
  private let isConfirmed: Bool

  package init(isPreview: Bool, isConfirmed: Bool) {
    self.isPreview = isPreview
    self.isConfirmed = isConfirmed
  }

  package func run(on node: isolated Node) async throws -> RestampSummary {
    try node.checkAdmitted()
    try node.maintenance.checkDisk()
    let now = node.wall()
    let clock = NodeInspection(of: node, now: now).clockAgreement
    let ended = try clock.logsAhead()
    let count = try node.store.countBehind(ended)
    let newest = node.store.newestClock(of: node.identity.device).milliseconds
    func summary(backup: String? = nil, _ incarnation: String? = nil) -> RestampSummary {
      RestampSummary(
        isPreview: isPreview, changeSets: count,
        newest: ended.isEmpty ? nil : Date(milliseconds: newest), now: Date(milliseconds: now),
        incarnation: incarnation, backup: backup)
    }
    if ended.isEmpty { return summary() }
    if case .disputed(let other) = clock.verdict { throw WaymarkError.wallDisputed(now, other) }
    if isPreview { return summary() }
    guard isConfirmed else { throw WaymarkError.restampNeedsYes(count, newest: newest, now: now) }
    let backup = try await node.backUp(before: "restamp")
    try node.checkOpen()
    // What was written while the backup was taken is dated ahead too.
    try reauthor(try node.inspection().clockAgreement.logsAhead(), on: node)
    return summary(backup: backup, node.replicator.incarnation.description)
  }

  /// Ends the own logs behind the last sets with a good date, and writes the rest again under a new incarnation.
  private func reauthor(_ ended: [EndedLog], on node: isolated Node) throws {
    try node.checkIncarnation()
    do {
      try node.maintenance.withRoom { try node.loop.turn { try $0.restamp(ended, now: node.loop.time) } }
    } catch ReauthoringError.lastIncarnation {
      throw WaymarkError.lastIncarnation
    } catch ReauthoringError.tooManyStatements {
      throw WaymarkError.tooManyStatements
    } catch ReauthoringError.diskIsFull {
      throw WaymarkError.diskFull(node.home)
    }
  }
}

extension WaymarkError {
  fileprivate static func restampNeedsYes(_ count: Int, newest: Moment, now: Moment) -> WaymarkError {
    let sets = count == 1 ? "1 change set is" : "\(count) change sets are"
    return needsYes(
      "\(sets) dated ahead, up to \(CivilTime.text(newest)); this machine's clock says \(CivilTime.text(now)). "
        + "Each is written again with the present time, in the same order; a backup is taken first.",
      next: .waymark("restamp --yes"))
  }

  fileprivate static func wallDisputed(_ now: Moment, _ other: Moment) -> WaymarkError {
    failed(
      .clockDisputed,
      "This machine's clock says \(CivilTime.text(now)), but for the other devices it is "
        + "\(CivilTime.text(other)) or later: dating anything by this clock would be wrong, and nothing was changed.",
      next: "set this machine's clock, then \(waymark: "restamp")")
  }

  fileprivate static let lastIncarnation = failed(
    .incarnationsSpent,
    "This device has begun its log anew \(Limits.incarnationsMax) times, the most that is allowed: nothing was changed.",
    next: "\(waymark: "invite", on: "another device"); then here \(waymark: "join TICKET")")

  fileprivate static let tooManyStatements = failed(
    .tooManyStatements,
    "The circle holds as many statements of this device as it may: nothing was changed.",
    next: "\(waymark: "invite", on: "another device"); then here \(waymark: "join TICKET")")
}
