// Protocol/merge.md, "Resolving"

import Home
import LogStorage
import Model
import Reasons
import Records
package import Replication
import Storage
package import Wire

/// A conflict and the side of it to keep.
package struct ConflictDecision {
  let conflict: StoredConflict
  let side: StoredConflict.Side
}

/// Finds the side of a conflict that the user means, and writes the resolution.
package struct ConflictResolver {
  /// The verb of resolutions.
  package static let verb = LogStorage.Operation.resolutionVerb

  private var reader: ConflictReader
  private let store: Store

  package init(_ history: HistoryReader) {
    reader = ConflictReader(history)
    store = history.store
  }

  /// Returns the conflict whose id begins with the given prefix, and the side that the user means.
  ///
  /// - Parameter take: `winner`, `loser`, or a device's name or a prefix of its name or id.
  package mutating func decision(_ id: String, taking take: String) throws -> ConflictDecision {
    let conflict = try reader.find(id)
    switch take {
    case "winner": return ConflictDecision(conflict: conflict, side: conflict.winner)
    case "loser":
      return ConflictDecision(conflict: conflict, side: try only(conflict.losers, of: conflict, take))
    default:
      let sides = [conflict.winner] + conflict.losers
      let found = named(take, sides)
      guard !found.isEmpty else {
        throw WaymarkError.missing(
          "No side of this conflict comes from “\(shortened(take))”.",
          next: .waymark("conflicts show \(conflict.id.prefix(8))"),
          candidates: try sides.map { try reader.line($0, conflict) })
      }
      return ConflictDecision(conflict: conflict, side: try only(found, of: conflict, take))
    }
  }

  /// Chooses the side that is currently displayed in every conflict.
  package func winners() throws -> [ConflictDecision] {
    try store.conflicts().map { ConflictDecision(conflict: $0, side: $0.winner) }
  }

  /// Returns the sides written by the devices that a string refers to: it is a device's full name or, if no device has
  /// that name, a prefix of a device's id or name.
  private func named(_ text: String, _ sides: [StoredConflict.Side]) -> [StoredConflict.Side] {
    let exact = sides.filter { reader.author($0) == text }
    guard exact.isEmpty, !text.isEmpty else { return exact }
    let folded = text.lowercased()
    return sides.filter {
      $0.stamp.device.description.hasPrefix(folded) || reader.author($0).lowercased().hasPrefix(folded)
    }
  }

  private mutating func only(
    _ sides: [StoredConflict.Side], of conflict: StoredConflict, _ take: String
  ) throws -> StoredConflict.Side {
    // A deletion hides all concurrent changes to a record together, so these changes count as one side.
    let isDeletion = sides.contains { $0.content == .deletion }
    let isOne = sides.count == 1 || (conflict.hiddenBy != nil && !isDeletion)
    guard isOne, let side = sides.first else {
      throw WaymarkError(
        exitCode: ExitCode.usage, code: .ambiguous,
        message: "“\(shortened(take))” matches more than one side of this conflict. Name the device.",
        next: .waymark("conflicts show \(conflict.id.prefix(8))"),
        candidates: try sides.map { try reader.line($0, conflict) })
    }
    return side
  }

  /// Resolves the conflicts by writing one ordinary operation. Because the operation causally follows all sides, it
  /// resolves the conflicts on every device.
  package func resolve(
    _ decisions: [ConflictDecision], now: Moment,
    write: (_ drafts: [EntryDraft], _ leastClock: Clock) throws -> OperationID
  ) throws -> Conflict.Resolution {
    var drafts = ResolvingDrafts(store: store, now: now)
    for decision in decisions { try drafts.settle(decision.conflict, decision.side) }
    guard !decisions.isEmpty else {
      return resolution(nil, [], try store.conflictCount(), "No conflicts.")
    }
    let before = Set(try store.conflicts().map(\.id))
    let summary = try reader.summary(decisions)
    let operation = try write(drafts.drafts, drafts.leastClock)
    let closed = before.subtracting(try store.conflicts().map(\.id))
    let others = closed.subtracting(decisions.map(\.conflict.id)).count
    let also: LocalizableText =
      others == 0 ? "" : " This also resolved \(others) other conflict\(others == 1 ? "" : "s")."
    return resolution(operation, closed.sorted(), try store.conflictCount(), summary + also)
  }

  private func resolution(
    _ operation: OperationID?, _ resolved: [String], _ remaining: Int, _ text: LocalizableText
  ) -> Conflict.Resolution {
    Conflict.Resolution(
      operation: operation, resolved: resolved, remaining: remaining, text: text,
      next: remaining > 0 ? .waymark("conflicts") : nil)
  }
}

/// Collects the entries of the operation that resolves conflicts.
private struct ResolvingDrafts {
  let store: Store
  let now: Moment
  /// The earliest clock that the change set may have: the profile's new time of change, or zero if the profile is not
  /// written.
  private(set) var leastClock = Clock.zero
  private var fields: [RecordKey: [FieldNumber: Value]] = [:]
  private var lives: [RecordKey: EntryType] = [:]

  init(store: Store, now: Moment) {
    self.store = store
    self.now = now
  }

  var drafts: [EntryDraft] {
    fields.map { key, fields in EntryDraft(.put, key, fields.map { (field: $0.key, value: $0.value) }) }
      + lives.map { EntryDraft($0.value, $0.key) }
  }

  /// Re-authors the value of one side, so that the new write causally follows all sides.
  mutating func settle(_ conflict: StoredConflict, _ side: StoredConflict.Side) throws {
    // Keeping an absent winner changes nothing that is displayed, but an absent loser can't replace a value.
    if side.isAbsent, side.stamp != conflict.winner.stamp, conflict.hiddenBy == nil {
      throw try WaymarkError.absentSide(isErased: store.erasure(of: conflict.record) != nil, conflict.id)
    }
    switch side.content {
    case .value(.bool(let isAlive)) where conflict.field == Fields.life:
      lives[conflict.record] = isAlive ? .restore : .delete
    case .value(let value):
      if let field = conflict.field { fields[conflict.record, default: [:]][field] = value }
    case .fields(let whole): try settle(conflict.record, whole)
    case .deletion: lives[conflict.hiddenBy ?? conflict.record] = .delete
    case .write:
      // An edited record is visible only if none of the records that it belongs to is deleted, so all are restored.
      for key in try store.deletedAncestors(conflict.record) { lives[key] = .restore }
    }
  }

  private mutating func settle(_ key: RecordKey, _ whole: [FieldNumber: Value]) throws {
    guard let held = try store.record(key) else { return }
    let changedAt = max(now, (try store.timeOfChange(of: held.key) ?? 0) + 1)
    var whole = whole
    whole[Fields.wholeRecordUpdatedAt] = .integer(changedAt)
    fields[key] = whole
    leastClock = max(leastClock, Clock(milliseconds: changedAt))
  }
}

extension WaymarkError {
  fileprivate static func absentSide(isErased: Bool, _ conflict: String) -> WaymarkError {
    .failed(
      isErased ? .erased : .noContent,
      isErased ? "The value of that side was erased." : "The value of that side is not on this device.",
      next: .waymark("conflicts resolve \(conflict.prefix(8)) --take winner"))
  }
}
