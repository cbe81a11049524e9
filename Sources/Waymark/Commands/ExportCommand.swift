import Dispatch
import Exchange
import Records
import Replication
import Storage
import Wire

/// `export --format F`: what is visible here, as a file of another application.
extension Node {
  func exportFile(_ request: CommandRequest) async throws -> JSON {
    let format = try exchangeFormat(try request.required("format", "--format FORMAT"))
    let trip = try request.text("trip").map { try names.resolve(Registry.trip, $0).key }
    if trip != nil && format != .travelingSnails {
      throw CommandFailure.usage("--trip goes with --format traveling-snails only.")
    }
    let source = try exportSource(format)
    let file = await ExportFile.make(format, source, now: wall(), trip: trip?.id)
    let output = request.text("output")
    if let output { try Files.replace(output, with: file.bytes) }
    return document(
      request.command,
      [
        .init("format", .string(format.rawValue)), .init("output", .text(output)),
        .init("bytes", .integer(file.bytes.count)),
        .init("warnings", .array(file.warnings.map(JSON.string))),
        .init("content", output == nil ? .string(String(decoding: file.bytes, as: UTF8.self)) : .null),
      ])
  }

  /// Everything visible of the kinds that a format knows.
  private func exportSource(_ format: ExchangeFormat) throws -> ExportSource {
    var source = ExportSource()
    for kind in format.kinds {
      let blobs = kind.fields.filter { $0.type == .blob }.map(\.number)
      for record in try store.visible(kind) {
        source.add(RecordDraft(kind, record.key.id, record.fields))
        for id in blobs.flatMap({ Contents.parts(of: record[$0]) }) {
          let key = RecordKey(kind: KindNumbers.content, id: id)
          guard let content = try store.record(key) else { continue }
          source.add(RecordDraft(Registry.content, id, content.fields))
        }
      }
    }
    return source
  }
}

extension ExchangeFormat {
  /// The kinds whose records the format holds.
  fileprivate var kinds: [Kind] {
    switch self {
    case .ritualist: [Registry.category, Registry.habit, Registry.log, Registry.profile]
    case .travelingSnails:
      [Registry.trip] + Registry.owners + [Registry.organization, Registry.address, Registry.attachment]
    }
  }
}

/// Writing a file of another format, away from the node: a large one takes a while.
private enum ExportFile {
  static func make(
    _ format: ExchangeFormat, _ source: ExportSource, now: Moment, trip: RecordID?
  ) async -> ExportedFile {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: Exporter.file(format, from: source, now: now, trip: trip))
      }
    }
  }
}
