import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `undo`: takes back what an operation wrote, as far as it still shows.
extension Node {
  func undo(_ request: CommandRequest) async throws -> JSON {
    try await inSlices { pace in
      let (operation, plan) = try await undoPlan(request, pace)
      let isPreview = request.flag("preview")
      if plan.change.drafts.isEmpty, !isPreview { throw try nothingToUndo(operation, plan) }
      var written: OperationID?
      if !isPreview {
        written = try write(
          Operation.undoVerb, target: operation.key.id, plan.change.drafts, leastClock: plan.change.leastClock
        )
      }
      return document(request.command, try members(operation, plan, written, isPreview))
    }
  }

  /// The plan for the store as it is now: if records change while it is made, it is made again, and the last time
  /// without a break.
  private func undoPlan(_ request: CommandRequest, _ pace: Pace) async throws -> (Operation, UndoPlan) {
    let isForced = request.flag("yes")
    func plan(_ pace: Pace) async throws -> (Operation, UndoPlan) {
      if let operation = try request.text("operation").map(self.operation) {
        return (
          operation, try await UndoPlan(of: operation, in: store, isForced: isForced, now: wall(), pace)
        )
      }
      let operation = try await newestUndoable(pace)
      return (operation, try await UndoPlan(of: operation, in: store, isForced: isForced, now: wall(), pace))
    }
    for _ in 0..<3 {
      let version = store.recordsVersion
      let planned = try await plan(pace)
      if store.recordsVersion == version { return planned }
    }
    return try await plan(Pace(slice: nil) {})
  }

  /// The operation whose id begins so.
  func operation(_ text: String) throws -> Operation {
    let digits = text.lowercased().filter { $0 != "-" }
    let isPrefix = !digits.isEmpty && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
    let found = isPrefix ? try store.operations(prefix: digits, limit: 100) : []
    guard let first = found.first else {
      throw WaymarkError.notFound("operation", text, next: "waymark history")
    }
    guard found.count == 1 else {
      throw WaymarkError.ambiguous("operation", text, NameResolver.shown(found.map(label)))
    }
    return first
  }

  private func label(_ operation: Operation) -> String {
    let id = operation.key.id.description
    return "\(id)  \(CivilTime.text(operation.clock.milliseconds))  \(name(of: operation.key.device))  "
      + Self.words(operation.verb)
  }

  /// The newest operation of this device that is no undo and counts.
  private func newestUndoable(_ pace: Pace) async throws -> Operation {
    var walk = OperationWalk(store, of: identity.device)
    // One that changed nothing, as a decision for what shows anyway, does not block those before it.
    while let operation = try walk.next() {
      try await pace.step()
      guard operation.verb != Operation.undoVerb, try operation.undo(in: store) == nil else { continue }
      let plan = try await UndoPlan(of: operation, in: store, isForced: false, now: wall(), pace)
      if !plan.isEmpty { return operation }
    }
    throw WaymarkError.failed(
      "nothing_to_undo", "There is nothing to undo: nothing that this device did still counts.",
      next: "waymark history, then waymark undo OPERATION")
  }

  private func nothingToUndo(_ operation: Operation, _ plan: UndoPlan) throws -> WaymarkError {
    let short = Self.short(operation.key.id)
    guard plan.left.isEmpty else {
      return WaymarkError(
        exitCode: ExitCode.needsYes, code: "needs_yes",
        message: "All that \(short) wrote was changed since, or is in use; nothing was undone.",
        next: "waymark undo \(short) --yes", candidates: NameResolver.shown(try plan.left.map(sentence)))
    }
    let undo = try operation.undo(in: store)
    return WaymarkError.failed(
      "nothing_to_undo",
      undo.map { "\(short) is undone already, by \(Self.short($0.key.id)) on \(name(of: $0.key.device))." }
        ?? "Taking \(short) back would change nothing: nothing of it shows.",
      next: undo.map { "waymark undo \(Self.short($0.key.id)) brings it back" } ?? "waymark history")
  }

  private func members(
    _ operation: Operation, _ plan: UndoPlan, _ written: OperationID?, _ isPreview: Bool
  ) throws -> [JSON.Member] {
    let changes = OperationContent(plan.change.drafts)
    return [
      .init("undo", .text(written?.description)), .init("preview", .bool(isPreview)),
      .init("operation", .object(try operationDocument.members(operation))),
      .init("changes", changes.json), .init("left", .array(try plan.left.map(json))),
    ]
  }

  // MARK: What is left alone

  private func json(_ left: UndoPlan.LeftAlone) throws -> JSON {
    let documents = operationDocument
    let kind = Registry.kind(left.record.kind)
    var members = try documents.reference(left.record).members ?? []
    switch left.reason {
    case .changedSince(let fields, let by):
      members.append(.init("reason", "changed_since"))
      members.append(.init("fields", .array(fields.map { .string(Self.fieldName($0, kind)) })))
      members.append(.init("users", []))
      members.append(.init("by", .string(by.log.device.description)))
      members.append(.init("byName", .string(name(of: by.log.device))))
      members.append(.init("time", timeJSON(by.origin.stamp.clock.milliseconds)))
    case .usedBy(let users):
      members.append(.init("reason", "in_use"))
      members.append(.init("fields", []))
      members.append(.init("users", .array(try users.map(documents.reference))))
      members += [.init("by", .null), .init("byName", .null), .init("time", .null)]
    }
    return .object(members)
  }

  private func sentence(_ left: UndoPlan.LeftAlone) throws -> String {
    let kind = Registry.kind(left.record.kind)
    let record =
      "\(kind?.name ?? "record") \(try operationDocument.title(left.record) ?? left.record.id.uuid)"
    switch left.reason {
    case .changedSince(let fields, let by):
      let names = fields.map { Self.fieldName($0, kind) }.joined(separator: ", ")
      return "\(record): \(names) changed by \(name(of: by.log.device))"
    case .usedBy(let users): return "\(record): used by \(users.count)"
    }
  }

  private static func fieldName(_ field: FieldNumber, _ kind: Kind?) -> String {
    if kind?.mergeClass == .wholeRecord { return "all fields" }
    return field == Fields.life ? "life" : kind?.field(field)?.name ?? "field \(field)"
  }

  /// Enough of an operation's id to type.
  static func short(_ id: OperationID) -> String { String(id.description.prefix(8)) }

  /// `trip.add` as it is typed.
  static func words(_ verb: String) -> String { verb.replacing(".", with: " ") }
}
