import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `cleanup`: takes away trips that tests have left behind, after a yes, in one operation that can be undone.
extension Node {
  func cleanUp(_ request: CommandRequest) async throws -> JSON {
    let found = try leftovers()
    if request.flag("preview") || found.isEmpty { return cleanupDocument(request, found) }
    guard request.flag("yes") else { throw WaymarkError.leftovers(found) }
    let backup = try await backUp(before: "cleanup")
    try checkOpen()
    // What came while the backup was taken was not agreed to; what went meanwhile needs nothing.
    let agreed = Set(found.map(\.key))
    let deleted = try leftovers().filter { agreed.contains($0.key) }
    guard !deleted.isEmpty else { return cleanupDocument(request, deleted, backup: backup) }
    let operation = try write(request.command, deleted.map { EntryDraft(.delete, $0.key) })
    return cleanupDocument(request, deleted, operation: operation, backup: backup)
  }

  private func leftovers() throws -> [Leftover] {
    try RecordList(store: store, names: names).records(Registry.trip)
      .compactMap { trip in
        guard let name = Registry.trip.title(of: trip), let mark = TestLeftovers.mark(in: name) else {
          return nil
        }
        let summary = try store.tripSummary(trip.key.id)
        return Leftover(
          key: trip.key, name: name, mark: mark,
          items: summary.lodgings + summary.transportations + summary.activities)
      }
  }

  private func cleanupDocument(
    _ request: CommandRequest, _ found: [Leftover], operation: OperationID? = nil, backup: String? = nil
  ) -> JSON {
    document(
      request.command,
      [
        .init("preview", .bool(request.flag("preview"))),
        .init("deleted", .integer(operation == nil ? 0 : found.count)),
        .init("operation", .text(operation?.description)), .init("backup", .text(backup)),
        .init("trips", .array(found.map(\.json))),
      ])
  }
}

/// A trip that looks like a test's.
private struct Leftover {
  let key: RecordKey
  let name: String
  let mark: String
  let items: Int

  var json: JSON {
    [
      "id": .string(key.id.uuid), "name": .string(name), "mark": .string(mark), "items": .integer(items),
    ]
  }
}

extension WaymarkError {
  fileprivate static func leftovers(_ found: [Leftover]) -> WaymarkError {
    let count = found.count == 1 ? "1 trip looks" : "\(found.count) trips look"
    return WaymarkError(
      exitCode: ExitCode.needsYes, code: .needsYes,
      message: "\(count) as if a test had left \(found.count == 1 ? "it" : "them") behind; "
        + "deleting can be undone, and a backup is taken first.",
      next: .waymark("cleanup --yes"),
      candidates: found.map { trip in
        "\(trip.key.id.uuid)  \(shortened(trip.name))  (\(trip.items) \(trip.items == 1 ? "item" : "items"))"
      })
  }
}
