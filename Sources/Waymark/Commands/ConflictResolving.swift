// Protocol/merge.md, "Resolving"

import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `conflicts resolve`: one ordinary operation that follows all sides, and so settles the conflict everywhere.
extension Node {
  func resolveConflicts(_ request: CommandRequest) throws -> JSON {
    let take = try request.required("take", "`--take winner`, `--take loser` or `--take DEVICE`")
    let chosen = try request.flag("all") ? everyWinner(request, take) : [oneSide(request, take)]
    var resolution = Resolution(store: store, now: wall())
    for (conflict, side) in chosen { try resolution.settle(conflict, side) }
    guard !chosen.isEmpty else { return try resolved(request, chosen, operation: nil, closed: []) }
    let before = Set(try store.conflicts().map(\.id))
    var writer = ConflictDocument(self)
    let summary = try writer.summary(chosen)
    let operation = try write("resolve", resolution.drafts, leastClock: resolution.leastClock)
    let closed = before.subtracting(try store.conflicts().map(\.id))
    return try resolved(request, chosen, operation: operation, closed: closed, summary)
  }

  private func resolved(
    _ request: CommandRequest, _ chosen: [(conflict: StoredConflict, side: StoredConflict.Side)],
    operation: OperationID?,
    closed: Set<String>, _ summary: String = "No conflicts."
  ) throws -> JSON {
    let others = closed.subtracting(chosen.map(\.conflict.id)).count
    let also = others == 0 ? "" : " This settled \(others) other conflict\(others == 1 ? "" : "s") too."
    let remaining = try store.conflictCount()
    return document(
      request.command,
      [
        .init("operation", .text(operation?.description)),
        .init("resolved", .array(closed.sorted().map(JSON.string))), .init("remaining", .integer(remaining)),
        .init("text", .string(summary + also)),
        .init("next", remaining > 0 ? "waymark conflicts" : .null),
      ])
  }

  private func everyWinner(
    _ request: CommandRequest, _ take: String
  ) throws -> [(conflict: StoredConflict, side: StoredConflict.Side)] {
    guard take == "winner", request.text("id") == nil else {
      throw WaymarkError.usage(
        "All conflicts at once can only keep what shows: `--all --take winner` without an id.",
        next: "waymark conflicts resolve --all --take winner")
    }
    return try store.conflicts().map { ($0, $0.winner) }
  }

  private func oneSide(
    _ request: CommandRequest, _ take: String
  ) throws -> (conflict: StoredConflict, side: StoredConflict.Side) {
    let conflict = try conflict(named: request.required("id", "the id of a conflict, or `--all`"))
    switch take {
    case "winner": return (conflict, conflict.winner)
    case "loser": return (conflict, try only(conflict.losers, of: conflict, take))
    default:
      let sides = [conflict.winner] + conflict.losers
      let found = named(take, sides)
      guard !found.isEmpty else {
        var writer = ConflictDocument(self)
        throw WaymarkError(
          exitCode: ExitCode.usage, code: "not_found",
          message: "No side of this conflict comes from “\(shortened(take))”.",
          next: "waymark conflicts show \(conflict.id.prefix(8))",
          candidates: try sides.map { try writer.line($0, conflict) })
      }
      return (conflict, try only(found, of: conflict, take))
    }
  }

  /// The sides written by a device: its whole name, else the beginning of its id or name.
  private func named(_ text: String, _ sides: [StoredConflict.Side]) -> [StoredConflict.Side] {
    let exact = sides.filter { name(of: $0.stamp.device) == text }
    guard exact.isEmpty, !text.isEmpty else { return exact }
    let folded = text.lowercased()
    return sides.filter {
      $0.stamp.device.description.hasPrefix(folded)
        || name(of: $0.stamp.device).lowercased().hasPrefix(folded)
    }
  }

  private func only(
    _ sides: [StoredConflict.Side], of conflict: StoredConflict, _ take: String
  ) throws -> StoredConflict.Side {
    // All that a deletion hides comes back together: the changes of one record are one side.
    let isDeletion = sides.contains { $0.content == .deletion }
    let isOne = sides.count == 1 || (conflict.hiddenBy != nil && !isDeletion)
    guard isOne, let side = sides.first else {
      var writer = ConflictDocument(self)
      throw WaymarkError(
        exitCode: ExitCode.usage, code: "ambiguous",
        message: "“\(shortened(take))” could be more than one side of this conflict. Name the device.",
        next: "waymark conflicts show \(conflict.id.prefix(8))",
        candidates: try sides.map { try writer.line($0, conflict) })
    }
    return side
  }
}

/// What decisions about conflicts write, in one operation.
struct Resolution {
  let store: Store
  let now: Moment
  /// The clock of the set must not be before a profile's new time of change.
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

  /// Writes again what one side says, so that it follows the others.
  mutating func settle(_ conflict: StoredConflict, _ side: StoredConflict.Side) throws {
    switch side.content {
    case .value(.bool(let isAlive)) where conflict.field == Fields.life:
      lives[conflict.record] = isAlive ? .restore : .delete
    case .value(let value): fields[conflict.record, default: [:]][conflict.field ?? Fields.life] = value
    case .fields(let whole): try settle(conflict.record, whole)
    case .deletion: lives[conflict.hiddenBy ?? conflict.record] = .delete
    case .write:
      // What was written shows only if nothing above is deleted either.
      for key in try store.deletedAncestors(conflict.record) { lives[key] = .restore }
    }
  }

  private mutating func settle(_ key: RecordKey, _ whole: [FieldNumber: Value]) throws {
    guard let held = try store.record(key) else { return }
    let changedAt = max(now, try store.profileTime(held) + 1)
    var whole = whole
    whole[Fields.wholeRecordUpdatedAt] = .integer(changedAt)
    fields[key] = whole
    leastClock = max(leastClock, Clock(milliseconds: changedAt))
  }
}

extension ConflictDocument {
  /// What was decided, for a person.
  mutating func summary(_ chosen: [(conflict: StoredConflict, side: StoredConflict.Side)]) throws -> String {
    guard chosen.count == 1, let (conflict, side) = chosen.first else {
      return "Kept what shows in \(chosen.count) conflicts."
    }
    switch side.content {
    case .value, .fields:
      return "\(try title(conflict)): took what \(author(side)) wrote."
    case .deletion:
      return "Deleted again: \(try phrase(conflict.hiddenBy ?? conflict.record))."
    case .write:
      let restored = try ancestors(of: conflict).map(phrase).joined(separator: " and ")
      return "Restored \(restored)."
    }
  }
}
