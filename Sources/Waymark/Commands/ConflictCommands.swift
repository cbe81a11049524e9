import JSONDocument
import Membership
import Records
import Replication
import Storage
import Wire

/// `conflicts list|show`: what was changed on two devices at once, what shows, and what else was written.
extension Node {
  func listConflicts(_ request: CommandRequest) throws -> JSON {
    var writer = ConflictDocument(self)
    let conflicts = try store.conflicts().map { JSON.object(try writer.members($0)) }
    return document(request.command, [.init("conflicts", .array(conflicts))])
  }

  func showConflict(_ request: CommandRequest) throws -> JSON {
    let conflict = try conflict(named: request.required("id", "the id of a conflict"))
    var writer = ConflictDocument(self)
    return document(
      request.command,
      try writer.members(conflict) + [.init("choices", .array(try writer.choices(conflict)))])
  }

  /// A conflict by unique prefix of its id.
  func conflict(named name: String) throws -> StoredConflict {
    let conflicts = try store.conflicts()
    let found = name.isEmpty ? [] : conflicts.filter { $0.id.hasPrefix(name.lowercased()) }
    guard let first = found.first else {
      throw WaymarkError.notFound("conflict", name, next: "waymark conflicts")
    }
    guard found.count == 1 else {
      var writer = ConflictDocument(self)
      throw WaymarkError.ambiguous("conflict", name, try found.map { "\($0.id)  \(try writer.title($0))" })
    }
    return first
  }
}

/// Writes conflicts as documents.
struct ConflictDocument {
  private let store: Store
  private let name: (DeviceKey) -> String
  private var titles: RecordDocument
  private let operations: OperationDocument

  init(_ node: isolated Node) {
    store = node.store
    let members = node.circle.evaluation.members
    name = { members[$0]?.name ?? String($0.description.prefix(8)) }
    titles = RecordDocument(store: node.store)
    operations = node.operationDocument
  }

  mutating func members(_ conflict: StoredConflict) throws -> [JSON.Member] {
    let row = try store.record(conflict.record)
    return [
      .init("id", .string(conflict.id)), .init("kind", .string(kindName(conflict.record))),
      .init("record", .string(conflict.record.id.uuid)),
      .init("name", .text(try name(of: conflict.record))),
      .init("field", .text(fieldName(conflict))), .init("reason", .string(conflict.reason.rawValue)),
      .init("visible", .bool(row?.isVisible ?? false)),
      .init("hiddenBy", try conflict.hiddenBy.map { try reference($0) } ?? .null),
      .init("winner", .object(try members(conflict.winner, conflict))),
      .init("losers", .array(try conflict.losers.map { .object(try members($0, conflict)) })),
    ]
  }

  private func fieldName(_ conflict: StoredConflict) -> String? {
    conflict.field.map { number in
      if number == Fields.life { return "life" }
      return Registry.kind(conflict.record.kind)?.field(number)?.name ?? "field \(number)"
    }
  }

  private func kindName(_ key: RecordKey) -> String { RecordKind(key.kind).rawValue }

  /// The name also of a record that is deleted or hidden.
  private func name(of key: RecordKey) throws -> String? { try operations.title(key) }

  private func reference(_ key: RecordKey) throws -> JSON {
    [
      "kind": .string(kindName(key)), "record": .string(key.id.uuid), "name": .text(try name(of: key)),
    ]
  }

  // MARK: Sides

  private mutating func members(_ side: StoredConflict.Side, _ conflict: StoredConflict) throws -> [JSON
    .Member]
  {
    let device = side.stamp.device
    var members: [JSON.Member] = [
      .init("value", try value(side.content, conflict)), .init("device", .string(device.description)),
      .init("deviceName", .string(name(device))), .init("time", timeJSON(side.stamp.clock.milliseconds)),
    ]
    if case .write(let fields) = side.content {
      members.append(.init("fields", .object(try written(fields, conflict.record))))
    }
    return members
  }

  private mutating func value(_ content: StoredConflict.Content, _ conflict: StoredConflict) throws -> JSON {
    switch content {
    case .value(let value):
      if conflict.field == Fields.life { return value == .bool(true) ? "alive" : "deleted" }
      let field = conflict.field.flatMap { Registry.kind(conflict.record.kind)?.field($0) }
      return try field.map { try titles.value($0, value) } ?? value.documentJSON
    case .fields(let fields): return .object(try written(fields, conflict.record, all: true))
    case .write: return "edited"
    case .deletion: return "deleted"
    }
  }

  /// The fields that a write holds; with `all` those of the kind that it lacks too.
  private mutating func written(
    _ fields: [FieldNumber: Value], _ key: RecordKey, all: Bool = false
  ) throws -> [JSON.Member] {
    let known = Registry.kind(key.kind)?.fields ?? []
    var members: [JSON.Member] = []
    for field in known where all || fields[field.number] != nil {
      try titles.append(field, fields[field.number] ?? .null, to: &members)
    }
    let numbers = Set(known.map(\.number)).union([Fields.life])
    for (number, value) in fields.sorted(by: { $0.key < $1.key }) where !numbers.contains(number) {
      members.append(.init("field \(number)", value.documentJSON))
    }
    return members
  }

  // MARK: Choices

  /// `trip · Rome · name`
  mutating func title(_ conflict: StoredConflict) throws -> String {
    [kindName(conflict.record), try name(of: conflict.record), fieldName(conflict)].compactMap(\.self)
      .joined(separator: " · ")
  }

  /// A record in a sentence: `trip “Rome”`.
  func phrase(_ key: RecordKey) throws -> String {
    "\(kindName(key)) " + (try name(of: key).map { "“\(shortened($0))”" } ?? key.id.uuid)
  }

  func author(_ side: StoredConflict.Side) -> String { name(side.stamp.device) }

  func ancestors(of conflict: StoredConflict) throws -> [RecordKey] {
    try store.deletedAncestors(conflict.record)
  }

  /// One line for a side that could be meant.
  mutating func line(_ side: StoredConflict.Side, _ conflict: StoredConflict) throws -> String {
    let time = CivilTime.text(side.stamp.clock.milliseconds)
    return "\(name(side.stamp.device))  \(side.stamp.device.description.prefix(8))  \(time)  "
      + shortened(try value(side.content, conflict).text())
  }

  /// What can be typed to settle the conflict, and what it does.
  mutating func choices(_ conflict: StoredConflict) throws -> [JSON] {
    func choice(_ take: String, _ effect: String) -> JSON {
      [
        "take": .string(take), "effect": .string(effect),
        "command": .string("waymark conflicts resolve \(conflict.id.prefix(8)) --take \(shellWord(take))"),
      ]
    }
    switch conflict.reason {
    case .field, .profile:
      let keep = choice("winner", "keep what shows now")
      guard conflict.losers.count != 1 else { return [keep, choice("loser", "take the other")] }
      let devices = Set(conflict.losers.map { name($0.stamp.device) }).sorted()
      return [keep] + devices.map { choice($0, "take what \($0) wrote") }
    case .editLostToDelete, .hiddenByParent:
      guard let hiding = conflict.hiddenBy else { return [] }
      let above = try ancestors(of: conflict).map(phrase)
      return [
        choice("winner", "delete \(try phrase(hiding)) again, in view of these changes"),
        choice("loser", "restore \(above.joined(separator: " and ")), with these changes"),
      ]
    }
  }
}

extension RecordDocument {
  /// The value of one field: of a field with several parts, an object of these.
  mutating func value(_ field: Field, _ value: Value) throws -> JSON {
    let members = field.members(of: value, zones: CivilTime.offsets)
    if members.count == 1, let only = members.first { return only.value }
    return .object(members)
  }
}

/// A conflict as the store finds it; `Conflict` is what applications see.
typealias StoredConflict = Storage.Conflict
