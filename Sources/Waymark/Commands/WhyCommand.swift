import Membership
import Records
import Replication
import Storage
import Wire

/// `why`: why a peer is not in sync; where each value of a record came from.
extension Node {
  func explain(_ request: CommandRequest) throws -> JSON {
    let subject = try request.required("subject", "a peer or a record")
    let peers = peersMatching(subject)
    let records = recordLabels(subject)
    if peers.isEmpty, records.isEmpty {
      if [name(of: identity.device), identity.device.description].contains(subject) {
        throw WaymarkError.usage(
          "“\(shortened(subject))” is this device itself; `why` is about another one, or a record.",
          next: "waymark status")
      }
      throw WaymarkError.notFound("peer or record", subject, next: "waymark peers, or waymark history")
    }
    if !peers.isEmpty, !records.isEmpty {
      throw WaymarkError.ambiguous(
        "thing", subject,
        peers.map { "peer \(name(of: $0.device))  \($0.device)" } + NameResolver.shown(records))
    }
    if peers.isEmpty { return try explainRecord(try names.anyRecord(subject), request) }
    return try explainPeer(try peer(named: subject), request)
  }

  private func recordLabels(_ subject: String) -> [String] {
    do {
      let record = try names.anyRecord(subject)
      let kind = Registry.kind(record.key.kind)
      return ["\(kind?.name ?? "record") \(kind.map { names.label($0, record) } ?? record.key.id.uuid)"]
    } catch let failure as WaymarkError {
      return failure.candidates
    } catch {
      return []
    }
  }

  // MARK: A peer

  private func explainPeer(_ peer: Member, _ request: CommandRequest) throws -> JSON {
    let snapshot = try snapshot()
    guard let found = snapshot.peers.first(where: { $0.device == peer.device }) else {
      throw WaymarkError.notFound("peer", peer.name, next: "waymark peers")
    }
    let own = snapshot.causes.filter { $0.peer?.device == peer.device }
    let hidden = snapshot.consequence(found).map { code in
      snapshot.causes.filter { $0.peer == nil && $0.reason == code }
    }
    let holder = snapshot.loss.peers.first { $0.device == peer.device }
    var json = found.json
    json["consequenceOf"] = .text(snapshot.consequence(found)?.rawValue)
    return document(
      request.command,
      [
        .init("subject", "peer"), .init("peer", json),
        .init("causes", .array((own + (hidden ?? [])).map(\.json))),
        .init("lacking", holder?.lacking.map { JSON.integer($0) } ?? .null),
        .init("newestLacking", timeJSON(holder?.newest)), .init("asOf", timeJSON(holder?.asOf)),
        .init("record", .null), .init("values", []),
      ])
  }

  // MARK: A record

  func explainRecord(_ record: RecordRow, _ request: CommandRequest) throws -> JSON {
    let history = try RecordHistory(of: record.key, in: store)
    let items = try history.newest(history.count)
    var titles = RecordDocument(store: store)
    let state = record.isVisible ? "visible" : record.isAlive ? "hidden" : "deleted"
    var reference = try operationDocument.reference(record.key).members ?? []
    reference.append(.init("state", .string(state)))
    var values: [JSON] = []
    for field in Set(items.flatMap { $0.cells.map(\.field) }).sorted() {
      if let value = try provenance(field, of: record.key, items, &titles) { values.append(value) }
    }
    return document(
      request.command,
      [
        .init("subject", "record"), .init("peer", .null), .init("causes", []), .init("lacking", .null),
        .init("newestLacking", .null), .init("asOf", .null), .init("record", .object(reference)),
        .init("values", .array(values)),
      ])
  }

  /// Who wrote what a field shows, and what it won against: what others wrote without knowing of it, and what it
  /// replaced.
  private func provenance(
    _ field: FieldNumber, of record: RecordKey, _ items: [RecordHistory.Item], _ titles: inout RecordDocument
  ) throws -> JSON? {
    let writes = items.compactMap { item in
      item.cells.first { $0.field == field }.map { (write: item.write, cell: $0) }
    }
    // Of a whole record a write lists what it changed: the rest is from the write before.
    guard
      let shown = writes.first(where: { $0.cell.state == .shows })
        ?? writes.first(where: { $0.cell.state != .lost })
    else { return nil }
    let definition = Registry.kind(record.kind)?.field(field)
    let isLife = field == Fields.life
    func entry(_ write: (write: RecordWrite, cell: RecordHistory.Cell), _ how: String?) throws -> JSON {
      var members: [JSON.Member] = [
        .init("value", try value(write.cell.content, isLife, definition, &titles))
      ]
      members += operationDocument.members(
        of: write.write.operation, verb: write.write.verb, at: write.write.place.origin.stamp.clock)
      if let how { members.append(.init("how", .string(how))) }
      return .object(members)
    }
    let others = writes.filter { $0.write.place.origin.stamp != shown.write.place.origin.stamp }
    let beaten = try others.map { try entry($0, $0.cell.state == .lost ? "concurrent" : "earlier") }
    return [
      "field": .string(isLife ? "life" : definition?.name ?? "field \(field)"),
      "written": try entry(shown, nil),
      "wonAgainst": .array(beaten),
    ]
  }
}
