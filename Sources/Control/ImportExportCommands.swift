import Platform
import Home
import NodeOperations
import Records
package import Waymark
package import WaymarkFiles
import Wire

/// `import`: imports all files in one operation, or none of them if one is broken.
package struct ImportFiles: NodeCommand {
  package static let name = "import"
  package typealias Answer = ImportSummary

  package var files: [String]?
  package var format: String?
  package var preview: Bool?
  package var isReadOnly: Bool { preview == true }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> ImportSummary {
    let files = (files ?? []).map { URL(filePath: $0) }
    let format: ImportFormat? = try format.map(exchangeFormat)
    let tell: @Sendable (ImportEvent) -> Void = { call.tell(CommandEvent($0)) }
    return preview == true
      ? try await node.importPreview(of: files, as: format, progress: tell)
      : try await node.importFiles(files, as: format, progress: tell)
  }
}

/// `export`: writes the visible records as a file for another application, or as a folder of several files.
package struct ExportRecords: NodeCommand, ConfirmableCommand {
  package static let name = "export"

  package var format: String?
  package var trip: String?
  /// The file or folder to write; nil for standard output.
  package var output: String?
  package var yes: Bool?
  package var isReadOnly: Bool { output == nil }
  package var needsNoWriting: Bool { true }
  package var readsFiles: Bool { true }

  package struct Answer: Codable, Sendable {
    package let format: ExportFormat
    package var output: String?
    package let bytes: Int
    /// The files in the folder that was written; nil if a single file was written.
    package let files: [String]?
    package let warnings: [String]
    /// The text of the file; nil if it was written to `output`.
    package var content: String?

    package func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(format, forKey: .format)
      try container.encodeIfPresent(output, forKey: .output)
      try container.encode(bytes, forKey: .bytes)
      if let files { try container.encode(files, forKey: .files) }
      try container.encode(warnings, forKey: .warnings)
      try container.encodeIfPresent(content, forKey: .content)
    }
  }

  package func perform(on node: isolated Node, _ call: CommandCall) async throws -> Answer {
    let format: ExportFormat = try exchangeFormat(try required(format, Self.name, "--format FORMAT"))
    let trip = try trip.map { try node.typedRecords(zone: nil).trip($0) }
    if trip != nil, !format.holdsTrips {
      throw WaymarkError.usage("--trip can't be used with \(format.rawValue), which has no trips.")
    }
    let tripID = trip.map { Trip.ID($0) }
    guard let path = output else {
      if format.isFolder {
        throw WaymarkError.usage(
          "A \(format.rawValue) export consists of several files: name a folder for them.",
          next: .waymark("export --format \(format.rawValue) --output FOLDER"))
      }
      let file = try await ImportExportOperations(node.core).export(as: format, trip: tripID)
      return Answer(
        format: format, bytes: file.content.count, files: nil, warnings: file.warnings,
        content: String(decoding: file.content, as: UTF8.self))
    }
    let output = format.isFolder ? path : try OutputFile.path(path, naturally: format.fileName)
    let written = try await ImportExportOperations(node.core).export(
      as: format, to: output, trip: tripID, overwrites: yes == true)
    return Answer(
      format: format, output: output, bytes: written.bytes,
      files: format.isFolder ? written.files : nil, warnings: written.warnings)
  }
}

extension ExportFormat {
  /// The name of an exported file if the user specifies only a directory.
  fileprivate var fileName: String {
    switch self {
    case .iCalendar: "waymark.ics"
    case .json: "waymark.json"
    default: "\(rawValue).json"
    }
  }
}

extension CommandEvent {
  fileprivate init(_ event: ImportEvent) {
    func path(_ file: URL) -> String { file.path(percentEncoded: false) }
    switch event {
    case .reading(let file, let done, let total):
      self = .progress(WorkProgress(stage: "reading", done: done, total: total), file: path(file))
    case .skipped(let file, let place, let reason):
      self = .skipped(file: path(file), place: place, reason: reason)
    case .warning(let file, let text): self = .warning(file: path(file), text: text)
    case .writing(let entries):
      self = .progress(WorkProgress(stage: "writing", done: 0, total: entries))
    }
  }
}

/// Returns the format with the name that the user typed.
///
/// - Throws: `WaymarkError` with the code `bad_value`.
private func exchangeFormat<Format: RawRepresentable & CaseIterable>(
  _ name: String
) throws -> Format where Format.RawValue == String {
  guard let format = Format(rawValue: name) else {
    let known = Format.allCases.map(\.rawValue).joined(separator: ", ")
    throw WaymarkError.badValue("--format", name, allowed: "expected one of \(known)")
  }
  return format
}
