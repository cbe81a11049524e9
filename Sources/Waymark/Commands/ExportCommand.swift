import Exchange
import JSONDocument
import Records
import Replication
import Storage
import Wire

/// `export --format F`: what is visible here, as a file of another application, or as a folder of several.
extension Node {
  func exportFile(_ request: CommandRequest) async throws -> JSON {
    let format = try exchangeFormat(
      try request.required("format", "--format FORMAT"), ExchangeFormat.exported)
    let trip = try request.text("trip").map { try names.resolve(Registry.trip, $0).key.id }
    if trip != nil && (format == .ritualist || format == .loopCSV) {
      throw WaymarkError.usage("--trip goes with formats that hold trips: not with \(format.rawValue).")
    }
    let output = request.text("output")
    let target =
      try format.isFolder
      ? nil : output.map { try OutputFile($0, in: home, overwrites: request.flag("yes")) }
    if format.isFolder {
      return try await exportFolder(request, format, try await exportSource(format), trip)
    }
    let file = try await exportedFile(format, trip)
    try target?.write(file.bytes)
    return document(
      request.command,
      [
        .init("format", .string(format.rawValue)), .init("output", .text(output)),
        .init("bytes", .integer(file.bytes.count)),
        .init("warnings", .array(file.warnings.map(JSON.string))),
        .init("content", output == nil ? .string(String(decoding: file.bytes, as: UTF8.self)) : .null),
      ])
  }

  /// What is visible here, as the content of a file.
  func exportedFile(_ format: ExchangeFormat, _ trip: RecordID?) async throws -> (
    bytes: [UInt8], warnings: [String]
  ) {
    let (source, now) = (try await exportSource(format), wall())
    let file = try await offNode { Exporter.file(format, from: source, now: now, trip: trip) }
    return (file.bytes, file.warnings)
  }

  private func exportFolder(
    _ request: CommandRequest, _ format: ExchangeFormat, _ source: ExportSource, _ trip: RecordID?
  ) async throws -> JSON {
    guard let output = request.text("output") else {
      throw WaymarkError.usage(
        "An export as \(format.rawValue) is several files: say which folder they go to.",
        next: .waymark("export --format \(format.rawValue) --output FOLDER"))
    }
    try OutputFile.checkFolder(output, in: home)
    let folder = try await offNode { Exporter.folder(format, from: source, trip: trip) }
    try Folders.create(output, with: folder.files)
    return document(
      request.command,
      [
        .init("format", .string(format.rawValue)), .init("output", .string(output)),
        .init("bytes", .integer(folder.files.reduce(0) { $0 + $1.bytes.count })),
        .init("files", .array(folder.files.map { .string($0.path) })),
        .init("warnings", .array(folder.warnings.map(JSON.string))), .init("content", .null),
      ])
  }

  /// Everything visible of the kinds that a format knows.
  private func exportSource(_ format: ExchangeFormat) async throws -> ExportSource {
    try await inSlices { pace in
      var source = ExportSource()
      for kind in format.kinds {
        let blobs = kind.fields.filter { $0.type == .blob }.map(\.number)
        for record in try store.visible(kind) {
          source.add(RecordDraft(kind, record.key.id, record.fields))
          for id in Set(blobs.flatMap { Contents.parts(of: record[$0]) }) {
            try await pace.step()
            let key = RecordKey(kind: KindNumbers.content, id: id)
            guard let content = try store.record(key) else { continue }
            source.add(RecordDraft(Registry.content, id, content.fields))
          }
          try await pace.step()
        }
      }
      return source
    }
  }
}
