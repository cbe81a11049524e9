import Platform
import Home
package import LogStorage
import Model
import Reasons
import Records
import Replication
package import Storage
package import Wire

/// Reads the history of the circle, and of single records.
package struct HistoryReader {
  let store: Store
  let own: DeviceKey
  let deviceName: (DeviceKey) -> String

  package init(store: Store, own: DeviceKey, deviceName: @escaping (DeviceKey) -> String) {
    (self.store, self.own, self.deviceName) = (store, own, deviceName)
  }

  // MARK: Operations

  /// Returns the newest operations, and whether there are more.
  ///
  /// - Parameter limit: at least 1.
  package func operations(
    _ limit: Int, _ pace: Pace
  ) async throws -> (newest: [History.Operation], hasMore: Bool) {
    try Self.check(limit)
    var walk = OperationWalk(store)
    var found: [History.Operation] = []
    while found.count < limit, let operation = try walk.next() {
      found.append(try self.operation(operation))
      try await pace.step()
    }
    return (found, try walk.next() != nil)
  }

  /// Returns the newest operations without yielding in between, which suits small limits.
  package func operations(_ limit: Int) throws -> [History.Operation] {
    try Self.check(limit)
    return try store.operations(limit: limit).map { try operation($0) }
  }

  private static func check(_ limit: Int) throws {
    guard limit > 0 else { throw WaymarkError.badValue("limit", "\(limit)", allowed: "use at least 1") }
  }

  /// Returns an operation as the history presents it.
  ///
  /// - Parameter content: what the operation did, if that is already known.
  package func operation(_ operation: LogStorage.Operation, _ content: OperationContent? = nil) throws
    -> History.Operation
  {
    let content = try content ?? OperationContent(operation, store)
    let key = operation.key
    return History.Operation(
      id: key.id, verb: operation.verb, time: Date(milliseconds: operation.clock.milliseconds),
      device: key.device, deviceName: deviceName(key.device), isOwn: key.device == own,
      undoes: operation.undone, undoneBy: try operation.undo(in: store)?.key.id,
      counts: content.recordCounts(store.schema), record: try content.single.map(store.reference),
      fields: content.fieldNames)
  }

  // MARK: Records

  private func record(_ row: RecordRow) throws -> History.Record {
    History.Record(
      kind: store.schema.name(row.key.kind), id: UUID(row.key.id), name: try store.title(row.key),
      state: row.isVisible ? .visible : row.isAlive ? .hidden : .deleted,
      erasure: try store.erasure(of: row.key).map { erasure in
        History.Erasure(
          time: Date(milliseconds: erasure.clock.milliseconds), device: erasure.device,
          deviceName: deviceName(erasure.device))
      })
  }

  // MARK: One record

  /// Returns the newest writes to a record.
  ///
  /// - Parameter limit: at least 1.
  package func history(of row: RecordRow, _ limit: Int, _ pace: Pace) async throws -> History.OfRecord {
    try Self.check(limit)
    let history = try await RecordHistory(of: row.key, in: store, pace)
    let record = try record(row)
    var values = ShownValues(store: store)
    var writes: [History.Write] = []
    for index in history.newest(limit) {
      writes.append(
        try write(try history.item(index), row.key, isErased: record.erasure != nil, &values))
      try await pace.step()
    }
    return History.OfRecord(record: record, writes: writes, hasMore: history.count > limit)
  }

  /// - Parameter isErased: whether the record was erased at some time, so that absent values count as erased.
  private func write(
    _ item: RecordHistory.Item, _ record: RecordKey, isErased: Bool, _ values: inout ShownValues
  ) throws -> History.Write {
    let operation = try store.operation(item.write.operation)
    let kind = store.schema.kind(record.kind)
    let fields = try item.cells.map { cell in
      let field = kind?.field(cell.field)
      let isLife = cell.field == Fields.life
      return History.Field(
        field: isLife ? "life" : field?.name ?? "field \(cell.field)",
        value: try values.value(cell.content, of: field, isLife: isLife), isErased: isErased && cell.isAbsent,
        before: try cell.before.map { try values.value($0, of: field, isLife: isLife) } ?? .absent,
        isBeforeErased: isErased && cell.isBeforeAbsent, state: cell.state, lostTo: cell.lostTo.map(author))
    }
    let writer = author(item.write)
    return History.Write(
      id: writer.id, verb: writer.verb, time: writer.time, device: writer.device,
      deviceName: writer.deviceName, isOwn: writer.isOwn, undoes: operation?.undone,
      undoneBy: try operation?.undo(in: store)?.key.id, isHidden: item.isHidden, fields: fields)
  }

  func author(_ write: RecordWrite) -> OperationReference {
    let key = write.operation
    return OperationReference(
      id: key.id, verb: write.verb,
      time: Date(milliseconds: write.place.origin.stamp.clock.milliseconds), device: key.device,
      deviceName: deviceName(key.device), isOwn: key.device == own)
  }

  // MARK: Provenance of values

  /// Returns, for each value of a record, who wrote the value and which other values it won against.
  package func explanation(of row: RecordRow, _ pace: Pace) async throws -> RecordExplanation {
    let history = try await RecordHistory(of: row.key, in: store, pace)
    let record = try record(row)
    var writes: [FieldNumber: [FieldWrite]] = [:]
    for index in history.newest(history.count) {
      let item = try history.item(index)
      for cell in item.cells { writes[cell.field, default: []].append((item.write, cell)) }
      try await pace.step()
    }
    var values = ShownValues(store: store)
    var found: [RecordExplanation.Provenance] = []
    for (field, writes) in writes.sorted(by: { $0.key < $1.key }) {
      if let value = try await provenance(
        field, of: row.key, writes, isErased: record.erasure != nil, &values, pace)
      {
        found.append(value)
      }
    }
    return RecordExplanation(record: record, values: found)
  }

  private typealias FieldWrite = (write: RecordWrite, cell: RecordHistory.Cell)

  /// Returns who wrote the displayed value of a field, and which values it won against: those of concurrent writes and
  /// earlier ones. Returns nil if every listed write lost to a concurrent one.
  ///
  /// - Parameters:
  ///   - writes: newest first.
  ///   - isErased: whether the record was erased at some time, so that absent values count as erased.
  private func provenance(
    _ field: FieldNumber, of record: RecordKey, _ writes: [FieldWrite], isErased: Bool,
    _ values: inout ShownValues, _ pace: Pace
  ) async throws -> RecordExplanation.Provenance? {
    // A write of a whole record lists only the fields that it changed. The values of the other fields come from
    // earlier writes.
    guard
      let shown = writes.first(where: { $0.cell.state == .shows })
        ?? writes.first(where: { $0.cell.state != .lost })
    else { return nil }
    let definition = store.schema.kind(record.kind)?.field(field)
    let isLife = field == Fields.life
    var beaten: [RecordExplanation.Written] = []
    for other in writes where other.write.place.origin.stamp != shown.write.place.origin.stamp {
      beaten.append(
        RecordExplanation.Written(
          value: try values.value(other.cell.content, of: definition, isLife: isLife),
          author: author(other.write), how: other.cell.state == .lost ? .concurrent : .earlier,
          isErased: isErased && other.cell.isAbsent))
      try await pace.step()
    }
    return RecordExplanation.Provenance(
      field: isLife ? "life" : definition?.name ?? "field \(field)",
      written: RecordExplanation.Written(
        value: try values.value(shown.cell.content, of: definition, isLife: isLife),
        author: author(shown.write), how: nil, isErased: isErased && shown.cell.isAbsent),
      wonAgainst: beaten)
  }
}
