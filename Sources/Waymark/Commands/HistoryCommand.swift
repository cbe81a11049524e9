import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `history`: what was done in the circle, or to one record.
extension Node {
  func showHistory(_ request: CommandRequest) async throws -> JSON {
    let limit = try historyLimit(request)
    return try await inSlices { pace in
      if let name = request.text("record") {
        return document(request.command, try await recordHistory(try names.anyRecord(name), limit, pace))
      }
      var walk = OperationWalk(store)
      var items: [JSON] = []
      while items.count < limit, let operation = try walk.next() {
        items.append(.object(try operationDocument.members(operation)))
        try await pace.step()
      }
      return document(
        request.command,
        [
          .init("record", .null), .init("operations", .array(items)), .init("writes", []),
          .init("more", .bool(try walk.next() != nil)),
        ])
    }
  }

  var operationDocument: OperationDocument {
    OperationDocument(store: store, own: identity.device) { self.name(of: $0) }
  }

  private func historyLimit(_ request: CommandRequest) throws -> Int {
    guard let text = request.text("limit") else { return 20 }
    guard let limit = Int(text), (1...1_000_000).contains(limit) else {
      throw WaymarkError.badValue("--limit", text, allowed: "it is a whole number from 1 on")
    }
    return limit
  }

  func recordHistory(_ record: RecordRow, _ limit: Int, _ pace: Pace) async throws -> [JSON.Member] {
    let history = try await RecordHistory(of: record.key, in: store, pace)
    var titles = RecordDocument(store: store)
    var writes: [JSON] = []
    for index in history.newest(limit) {
      writes.append(try json(try history.item(index), record.key, &titles))
      try await pace.step()
    }
    let state = record.isVisible ? "visible" : record.isAlive ? "hidden" : "deleted"
    var reference = try operationDocument.reference(record.key).members ?? []
    reference.append(.init("state", .string(state)))
    return [
      .init("record", .object(reference)), .init("operations", []), .init("writes", .array(writes)),
      .init("more", .bool(history.count > limit)),
    ]
  }

  private func json(
    _ item: RecordHistory.Item, _ record: RecordKey, _ titles: inout RecordDocument
  ) throws -> JSON {
    let write = item.write
    let documents = operationDocument
    let operation = try store.operation(write.operation)
    let kind = Registry.kind(record.kind)
    let cells = try item.cells.map { cell -> JSON in
      let field = kind?.field(cell.field)
      let isLife = cell.field == Fields.life
      return [
        "field": .string(isLife ? "life" : field?.name ?? "field \(cell.field)"),
        "value": try value(cell.content, isLife, field, &titles),
        "before": try value(cell.before, isLife, field, &titles), "state": .string(cell.state.rawValue),
        "lostTo": cell.lostTo.map { other in
          .object(
            documents.members(of: other.operation, verb: other.verb, at: other.place.origin.stamp.clock))
        } ?? .null,
      ]
    }
    return .object(
      documents.members(of: write.operation, verb: write.verb, at: write.place.origin.stamp.clock)
        + [
          .init("undoes", .text(operation?.undone?.description)),
          .init("undoneBy", .text(try operation?.undo(in: store)?.key.id.description)),
          .init("hidden", .bool(item.isHidden)), .init("fields", .array(cells)),
        ])
  }

  func value(
    _ content: [UInt8]?, _ isLife: Bool, _ field: Field?, _ titles: inout RecordDocument
  ) throws -> JSON {
    guard let content else { return .null }
    let value = try Value(encoded: content[...])
    if isLife { return value == .bool(true) ? "alive" : "deleted" }
    guard let field, value == .null || field.type.isOf(content) else { return value.documentJSON }
    return try titles.value(field, value)
  }
}

extension NameResolver {
  /// The record of any kind that a name or id means, whether people can see it or not: `profile` is the profile.
  func anyRecord(_ text: String) throws -> RecordRow {
    if text.lowercased() == Registry.profile.name, let profile = try store.record(FixedRecords.profile) {
      return profile
    }
    var resolver = self
    resolver.scope = .all
    let found = try Registry.kinds.flatMap { kind in try resolver.find(kind, text).map { (kind, $0) } }
    // What people can see is meant before what they can't.
    let visible = found.filter { $0.1.isVisible }
    let meant = visible.isEmpty ? found : visible
    guard let first = meant.first else {
      throw WaymarkError.notFound("record", text, next: "waymark history")
    }
    guard meant.count == 1 else {
      let labels = meant.map { "\($0.0.name) \(label($0.0, $0.1))" }
      throw WaymarkError.ambiguous("record", text, Self.shown(labels))
    }
    return first.1
  }
}

extension FieldType {
  /// Whether content is of this type; anything else is kept, and shown as it is.
  fileprivate func isOf(_ content: [UInt8]) -> Bool {
    var columns: [ColumnValue] = []
    return appendColumns(of: content, in: 0..<content.count, to: &columns)
  }
}
