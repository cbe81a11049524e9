import JSONDocument
import Membership
import Records
import Replication
import Storage
import Wire

/// `why`: why a peer is not in sync; where each value of a record came from.
extension Node {
  func explain(_ request: CommandRequest) async throws -> JSON {
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
    if peers.isEmpty { return try await explainRecord(request) { try self.names.anyRecord(subject) } }
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
    let explanation = try explanation(ofPeer: peer.device)
    func json(_ value: some Encodable) throws -> JSON { try AnswerCoding.encode(value) }
    let holder = explanation.holds
    return document(
      request.command,
      [
        .init("subject", "peer"), .init("peer", try json(explanation.peer)),
        .init("causes", try json(explanation.causes)),
        .init("lacking", holder?.lacking.map { JSON.integer($0) } ?? .null),
        .init("newestLacking", timeJSON(holder?.newestLacking?.milliseconds)),
        .init("asOf", timeJSON(holder?.asOf?.milliseconds)), .init("record", .null), .init("values", []),
      ])
  }

  // MARK: A record

  func explainRecord(_ request: CommandRequest, _ find: () throws -> RecordRow) async throws -> JSON {
    try await inSlices { pace in
      let record = try find()
      let history = try await RecordHistory(of: record.key, in: store, pace)
      var writes: [FieldNumber: [FieldWrite]] = [:]
      for index in history.newest(history.count) {
        let item = try history.item(index)
        for cell in item.cells { writes[cell.field, default: []].append((item.write, cell)) }
        try await pace.step()
      }
      var titles = RecordDocument(store: store)
      let state = record.isVisible ? "visible" : record.isAlive ? "hidden" : "deleted"
      var reference = try operationDocument.reference(record.key).members ?? []
      reference.append(.init("state", .string(state)))
      var values: [JSON] = []
      for (field, writes) in writes.sorted(by: { $0.key < $1.key }) {
        if let value = try await provenance(field, of: record.key, writes, &titles, pace) {
          values.append(value)
        }
      }
      return document(
        request.command,
        [
          .init("subject", "record"), .init("peer", .null), .init("causes", []), .init("lacking", .null),
          .init("newestLacking", .null), .init("asOf", .null), .init("record", .object(reference)),
          .init("values", .array(values)),
        ])
    }
  }

  private typealias FieldWrite = (write: RecordWrite, cell: RecordHistory.Cell)

  /// Who wrote what a field shows, and what it won against: what others wrote without knowing of it, and what it
  /// replaced.
  ///
  /// - Parameter writes: newest first.
  private func provenance(
    _ field: FieldNumber, of record: RecordKey, _ writes: [FieldWrite], _ titles: inout RecordDocument,
    _ pace: Pace
  ) async throws -> JSON? {
    // Of a whole record a write lists what it changed: the rest is from the write before.
    guard
      let shown = writes.first(where: { $0.cell.state == .shows })
        ?? writes.first(where: { $0.cell.state != .lost })
    else { return nil }
    let definition = Registry.kind(record.kind)?.field(field)
    let isLife = field == Fields.life
    func entry(_ write: FieldWrite, _ how: String?) throws -> JSON {
      var members: [JSON.Member] = [
        .init("value", try value(write.cell.content, isLife, definition, &titles))
      ]
      members += operationDocument.members(
        of: write.write.operation, verb: write.write.verb, at: write.write.place.origin.stamp.clock)
      if let how { members.append(.init("how", .string(how))) }
      return .object(members)
    }
    var beaten: [JSON] = []
    for other in writes where other.write.place.origin.stamp != shown.write.place.origin.stamp {
      beaten.append(try entry(other, other.cell.state == .lost ? "concurrent" : "earlier"))
      try await pace.step()
    }
    return [
      "field": .string(isLife ? "life" : definition?.name ?? "field \(field)"),
      "written": try entry(shown, nil),
      "wonAgainst": .array(beaten),
    ]
  }
}
