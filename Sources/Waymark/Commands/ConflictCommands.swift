import Records
import Replication
import Storage
import Wire

/// `conflicts list`: what was changed on two devices at once, what shows, and what else was written.
extension Node {
  func listConflicts(_ request: CommandRequest) throws -> JSON {
    var titles = RecordDocument(store: store)
    let conflicts = try store.conflicts().map { try json($0, &titles) }
    return document(request.command, [.init("conflicts", .array(conflicts))])
  }

  private func json(_ conflict: Conflict, _ titles: inout RecordDocument) throws -> JSON {
    let kind = Registry.kind(conflict.record.kind)
    let field = conflict.field.flatMap { number in kind?.field(number) }
    return [
      "id": .string(conflict.id), "kind": .string(kind?.name ?? "kind \(conflict.record.kind.rawValue)"),
      "record": .string(conflict.record.id.uuid), "name": .text(try title(conflict.record, kind)),
      "field": .text(field?.name ?? conflict.field.map { $0 == Fields.life ? "life" : "field \($0)" }),
      "reason": .string(conflict.reason.rawValue),
      "winner": try json(conflict.winner, kind, field, &titles),
      "losers": .array(try conflict.losers.map { try json($0, kind, field, &titles) }),
    ]
  }

  /// The name also of a record that is deleted or hidden.
  private func title(_ key: RecordKey, _ kind: Kind?) throws -> String? {
    guard let kind else { return nil }
    return try store.record(key).flatMap { kind.title(of: $0) }
  }

  private func json(
    _ side: Conflict.Side, _ kind: Kind?, _ field: Field?, _ titles: inout RecordDocument
  ) throws -> JSON {
    [
      "value": try value(side.content, kind, field, &titles),
      "device": .string(side.stamp.device.description), "deviceName": .string(name(of: side.stamp.device)),
      "time": timeJSON(side.stamp.clock.milliseconds),
    ]
  }

  private func value(
    _ content: Conflict.Content, _ kind: Kind?, _ field: Field?, _ titles: inout RecordDocument
  ) throws -> JSON {
    switch content {
    case .value(let value): return try field.map { try titles.value($0, value) } ?? value.documentJSON
    case .fields(let fields):
      guard let kind else { return .null }
      return .object(try kind.fields.flatMap { try titles.members($0, fields[$0.number] ?? .null) })
    case .write: return "edited"
    case .deletion: return "deleted"
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
