import Platform
import Home
import JSONDocument
import LogStorage
import Model
import Reasons
import Records
package import Replication
import Storage
package import Wire

/// The operation to undo.
package enum UndoTarget: Sendable {
  /// The newest operation of this device that is in effect and is not an undo.
  case newest
  /// The operation whose id begins with a prefix.
  case operation(String)
}

/// Finds the operation that the user means, plans its undo, and reports the result.
package struct Undoer {
  let history: HistoryReader
  let isForced: Bool
  let wall: () -> Moment

  package init(history: HistoryReader, isForced: Bool, wall: @escaping () -> Moment) {
    (self.history, self.isForced, self.wall) = (history, isForced, wall)
  }

  private var store: Store { history.store }

  /// Undoes the operation, or only previews the undo.
  ///
  /// - Parameter write: writes the entries as one operation that undoes the given one.
  package func undo(
    _ target: UndoTarget, isPreview: Bool, _ pace: Pace,
    write: (_ undone: OperationID, _ drafts: [EntryDraft], _ leastClock: Clock) throws -> OperationID
  ) async throws -> UndoSummary {
    let (operation, plan) = try await plan(target, pace)
    if plan.change.drafts.isEmpty, !isPreview { throw try await nothingToUndo(operation, plan, pace) }
    let undo =
      isPreview ? nil : try write(operation.key.id, plan.change.drafts, plan.change.leastClock)
    return try await summary(operation, plan, undo: undo, isPreview: isPreview, pace)
  }

  /// Plans the undo for the current state of the store. If records change during planning, planning starts over. The
  /// last attempt does not yield, so that no record can change.
  private func plan(_ target: UndoTarget, _ pace: Pace) async throws -> (LogStorage.Operation, UndoPlan) {
    for _ in 0..<3 {
      let version = store.recordsVersion
      let planned = try await planOnce(target, pace)
      if store.recordsVersion == version { return planned }
    }
    return try await planOnce(target, Pace())
  }

  private func planOnce(_ target: UndoTarget, _ pace: Pace) async throws -> (LogStorage.Operation, UndoPlan) {
    let operation =
      switch target {
      case .newest: try await newestUndoable(pace)
      case .operation(let text): try find(text)
      }
    return (
      operation, try await UndoPlan(of: operation, in: store, isForced: isForced, now: wall(), pace)
    )
  }

  /// Returns the operation whose id begins with the given text. Throws if there is none, or more than one.
  private func find(_ text: String) throws -> LogStorage.Operation {
    let digits = text.lowercased().filter { $0 != "-" }
    let isPrefix = !digits.isEmpty && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
    let found = isPrefix ? try store.operations(prefix: digits, limit: 100) : []
    guard let first = found.first else {
      throw WaymarkError.notFound("operation", text, next: .waymark("history"))
    }
    guard found.count == 1 else {
      throw WaymarkError.ambiguous("operation", text, NameResolver.shown(found.map(label)))
    }
    return first
  }

  private func label(_ operation: LogStorage.Operation) -> String {
    let id = operation.key.id.description
    return "\(id)  \(CivilTime.sentenceText(operation.clock.milliseconds))  "
      + "\(history.deviceName(operation.key.device))  \(operation.verb.replacing(".", with: " "))"
  }

  /// Returns the newest operation of this device that is in effect, is not an undo, and would change something if it
  /// were undone.
  private func newestUndoable(_ pace: Pace) async throws -> LogStorage.Operation {
    var walk = OperationWalk(store, of: history.own)
    // An operation without an effect, such as a conflict resolution that kept the displayed value, must not prevent
    // earlier operations from being undone.
    while let operation = try walk.next() {
      try await pace.step()
      // Sharing the kinds of an app is the program's own doing.
      let isPersons = ![LogStorage.Operation.undoVerb, AppSchema.verb].contains(operation.verb)
      guard isPersons, try operation.undo(in: store) == nil else {
        continue
      }
      let plan = try await UndoPlan(of: operation, in: store, isForced: false, now: wall(), pace)
      if !plan.isEmpty { return operation }
    }
    throw WaymarkError.failed(
      .nothingToUndo, "There is nothing to undo: no operation of this device is still in effect.",
      next: "\(waymark: "history"), then \(waymark: "undo OPERATION")")
  }

  // MARK: Result

  private func summary(
    _ operation: LogStorage.Operation, _ plan: UndoPlan, undo: OperationID?, isPreview: Bool, _ pace: Pace
  ) async throws -> UndoSummary {
    var resolved = ResolvedConflicts(operation, history, pace)
    return UndoSummary(
      undo: undo, isPreview: isPreview, operation: try history.operation(operation),
      changes: OperationContent(plan.change.drafts).recordCounts(store.schema),
      left: try plan.left.map(leftAlone),
      resolvedConflicts: try await resolved.find(plan.outcomes))
  }

  private func leftAlone(_ left: UndoPlan.LeftAlone) throws -> UndoSummary.LeftAlone {
    let kind = store.schema.kind(left.record.kind)
    let record = try store.reference(left.record)
    switch left.reason {
    case .changedSince(let fields, let by):
      let author = by.log.device
      return UndoSummary.LeftAlone(
        kind: record.kind, id: record.id, name: record.name, reason: .changedSince,
        fields: fields.map { Self.fieldName($0, kind) }, users: [], by: author,
        byName: history.deviceName(author),
        time: Date(milliseconds: by.origin.stamp.clock.milliseconds))
    case .erased(let fields, let by):
      return UndoSummary.LeftAlone(
        kind: record.kind, id: record.id, name: record.name, reason: .erased,
        fields: fields.map { Self.fieldName($0, kind) }, users: [], by: by?.device,
        byName: (by?.device).map(history.deviceName),
        time: by.map { Date(milliseconds: $0.clock.milliseconds) })
    case .usedBy(let users):
      return UndoSummary.LeftAlone(
        kind: record.kind, id: record.id, name: record.name, reason: .inUse, fields: [],
        users: try users.map(store.reference), by: nil, byName: nil, time: nil)
    }
  }

  private func nothingToUndo(
    _ operation: LogStorage.Operation, _ plan: UndoPlan, _ pace: Pace
  ) async throws -> WaymarkError {
    let short = Self.short(operation.key.id)
    if plan.left.count == 1, let only = plan.left.first, case .erased(let fields, let by?) = only.reason,
      fields.isEmpty
    {
      return store.erasedError(only.record, by, history.deviceName)
    }
    if !plan.left.isEmpty, plan.left.allSatisfy(\.isErased) {
      return WaymarkError(
        exitCode: ExitCode.failed, code: .erased,
        message: "Nothing was undone: the values that \(short) erased or replaced can't be restored.",
        next: "\(waymark: "history"), then \(waymark: "undo OPERATION"), to undo another one",
        candidates: NameResolver.shown(try plan.left.map(sentence)))
    }
    guard plan.left.isEmpty else {
      return WaymarkError(
        exitCode: ExitCode.needsYes, code: .needsYes,
        message: "Nothing was undone: everything that \(short) wrote has been changed since, or is in use.",
        next: .waymark("undo \(short) --yes"), candidates: NameResolver.shown(try plan.left.map(sentence)))
    }
    let undo = try operation.undo(in: store)
    var resolved = ResolvedConflicts(operation, history, pace)
    let conflicts = try await resolved.find(plan.outcomes)
    if undo == nil, !conflicts.isEmpty { return Self.nothingToReopen(short, conflicts) }
    return WaymarkError.failed(
      .nothingToUndo,
      undo.map {
        "\(short) was already undone by \(Self.short($0.key.id)) on \(history.deviceName($0.key.device))."
      } ?? "Undoing \(short) would have no effect: all of its values have been superseded.",
      next: undo.map { "\(waymark: "undo \(Self.short($0.key.id))"), to reapply it" } ?? .waymark("history"))
  }

  /// The error for a resolution that kept the displayed values, which an undo therefore would not change.
  private static func nothingToReopen(
    _ short: String, _ conflicts: [UndoSummary.ResolvedConflict]
  ) -> WaymarkError {
    let others = conflicts.flatMap(\.others)
    let lines = conflicts.flatMap { conflict in
      conflict.others.map { "\(conflict.title): \($0.text)" + ($0.next.map { " (\($0))" } ?? "") }
    }
    return WaymarkError(
      exitCode: ExitCode.failed, code: .nothingToUndo,
      message:
        "Undoing \(short) would have no effect: it kept the current \(others.count == 1 ? "value" : "values"), "
        + "and a resolved conflict stays resolved.",
      next: others.count == 1 ? others[0].next : .waymark("history"), candidates: NameResolver.shown(lines))
  }

  private func sentence(_ left: UndoPlan.LeftAlone) throws -> String {
    let kind = store.schema.kind(left.record.kind)
    let record = "\(kind?.name ?? "record") \(try store.title(left.record) ?? left.record.id.uuid)"
    switch left.reason {
    case .changedSince(let fields, let by):
      let names = fields.map { Self.fieldName($0, kind) }.joined(separator: ", ")
      return "\(record): \(names) changed by \(history.deviceName(by.log.device))"
    case .erased(let fields, let by):
      let names =
        fields.isEmpty ? "its values" : fields.map { Self.fieldName($0, kind) }.joined(separator: ", ")
      guard let by else { return "\(record): the former values of \(names) are not on this device" }
      return "\(record): \(names) erased on \(CivilTime.sentenceText(by.clock.milliseconds)) by "
        + history.deviceName(by.device)
    case .usedBy(let users): return "\(record): used by \(plural(users.count, "other record"))"
    }
  }

  private static func fieldName(_ field: FieldNumber, _ kind: Kind?) -> String {
    if kind?.mergeClass == .wholeRecord { return "all fields" }
    return field == Fields.life ? "life" : kind?.field(field)?.name ?? "field \(field)"
  }

  /// Returns the prefix of an operation's id that messages and commands use.
  private static func short(_ id: OperationID) -> String { String(id.description.prefix(8)) }
}

extension UndoPlan.LeftAlone {
  /// Whether the former values were erased, so that not even a forced undo can bring them back.
  fileprivate var isErased: Bool {
    if case .erased = reason { true } else { false }
  }
}

extension UndoSummary.ResolvedConflict {
  /// `trip · Rome · name`
  package var title: String {
    [kind.rawValue, name, field == "life" ? nil : field].compactMap(\.self).joined(separator: " · ")
  }
}

extension UndoSummary.ResolvedConflict.Side {
  /// `Roma, from alice`
  fileprivate var text: String {
    shortened(value.json.string ?? value.json.text()) + (deviceName.map { ", from \($0)" } ?? "")
  }
}
