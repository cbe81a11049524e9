package import Exchange
import FileFormat
import FileStore
public import Platform
package import Home
import Reasons
import Records
package import Replication
package import Storage
package import Wire

/// The formats that data can be exported to.
public enum ExportFormat: String, Hashable, Sendable, CaseIterable, Codable {
  /// Habits with their categories and entries, and the profile, in the format of Ritualist.
  case ritualist
  /// Trips with their items, in the format of Traveling Snails.
  case travelingSnails = "traveling-snails"
  /// Everything visible in one document, with the files that are on this device. It can be imported without loss; see
  /// ``ImportFormat/json``.
  case json
  /// Everything, as a folder with one table per kind.
  case csv
  /// Trips, as a calendar.
  case iCalendar = "ics"
  /// Habits in the format of Loop Habit Tracker, as a folder.
  case loopCSV = "loop-csv"

  /// Whether an export in this format is a folder with several files.
  public var isFolder: Bool { format.isFolder }

  /// Whether the format can contain trips, so that a single trip can be exported.
  public var holdsTrips: Bool { self != .ritualist && self != .loopCSV }

  package var format: ExchangeFormat {
    switch self {
    case .ritualist: .ritualist
    case .travelingSnails: .travelingSnails
    case .json: .json
    case .csv: .csv
    case .iCalendar: .ics
    case .loopCSV: .loopCSV
    }
  }
}

/// The visible records, exported to a file in memory.
public struct ExportedFile: Hashable, Sendable {
  /// The bytes of the file.
  public let content: Data
  /// Sentences that say which data the format can't represent.
  public let warnings: [String]
}

/// The result of an export.
public struct ExportSummary: Hashable, Sendable {
  /// The format that was written.
  public let format: ExportFormat
  /// The total size of all files in bytes.
  public let bytes: Int
  /// The paths of the files in the exported folder, relative to it; empty if the export is a single file.
  public let files: [String]
  /// Sentences that say which data the format can't represent.
  public let warnings: [String]
}

/// Exports the visible records of a store in a given format.
package struct StoreExport: Sendable {
  private let format: ExportFormat
  /// The trip to export; nil to export everything.
  private let trip: RecordID?
  private var source = ExportSource()
  /// The files of the store, which are read when the export is written.
  private var files: FileStore?

  /// - Throws: `WaymarkError` with the code `usage` if a trip is given but the format has no trips.
  package init(_ format: ExportFormat, trip: RecordID?) throws {
    guard trip == nil || format.holdsTrips else {
      throw WaymarkError.usage(
        "The format \(format.rawValue) can't contain trips; choose another format.")
    }
    self.format = format
    self.trip = trip
  }

  /// Reads all visible records of the kinds that the format can contain.
  ///
  /// - Parameter step: called after each record; the store may change while it runs.
  package mutating func read(_ store: Store, step: () async throws -> Void) async throws {
    source = ExportSource(schema: store.schema)
    files = store.files
    for kind in format.format.kinds(store.schema) {
      let blobs = kind.fields.filter { $0.type == .blob }.map(\.number)
      for record in try store.records(RecordQuery(kind.number)) {
        source.add(RecordDraft(kind, record.key.id, record.fields))
        for case .file(let file) in blobs.compactMap({ Blob(record[$0]) }) { source.add(file) }
        try await step()
      }
    }
  }

  /// Returns the exported file. To be called only for a format whose exports are a single file.
  package func file(now: Moment) throws -> ExportedFile {
    let file = Exporter.file(format.format, from: try readable(), now: now, trip: trip)
    var content = Data()
    for part in file.parts { try send(part) { content.append(contentsOf: $0) } }
    return ExportedFile(content: content, warnings: file.warnings)
  }

  /// Writes the export piece by piece. If it fails, nothing is written.
  package func write(to target: ExportTarget, now: Moment) throws -> ExportSummary {
    var byteCount = 0
    switch target {
    case .file(let output):
      let file = Exporter.file(
        format.format, from: try readable(), now: now, trip: trip, isInMemory: false)
      try output.write { write in
        for part in file.parts {
          try send(part) { bytes in
            try write(bytes)
            byteCount += bytes.count
          }
        }
      }
      return ExportSummary(format: format, bytes: byteCount, files: [], warnings: file.warnings)
    case .folder(let path):
      let folder = Exporter.folder(format.format, from: try readable(), trip: trip)
      try Folders.create(path, with: folder.files.map(\.path)) { index, write in
        try send(folder.files[index].content) { bytes in
          try write(bytes)
          byteCount += bytes.count
        }
      }
      return ExportSummary(
        format: format, bytes: byteCount, files: folder.files.map(\.path), warnings: folder.warnings
      )
    }
  }

  // MARK: Files

  /// Returns what to export without the files that are missing here or damaged, so that one such file does not stop the
  /// export. For that, each file is read once more.
  private func readable() throws -> ExportSource {
    var readable = source
    for file in source.readableFiles {
      try Task.checkCancellation()
      if (try? files?.verify(file)) != true { readable.remove(file) }
    }
    return readable
  }

  private func send(_ part: ExportPart, _ write: ([UInt8]) throws -> Void) throws {
    switch part {
    case .bytes(let bytes): try write(bytes)
    case .file(let file): try read(file, write)
    case .base64(let file):
      var encoder = Base64.Encoder()
      try write([UInt8(ascii: "\"")])
      try read(file) { try write(encoder.encode($0)) }
      try write(encoder.finish() + [UInt8(ascii: "\"")])
    }
  }

  private func read(_ file: FileReference, _ each: ([UInt8]) throws -> Void) throws {
    guard let files else { preconditionFailure("an export that has read no records") }
    do {
      var reader = try files.open(file)
      while let leaf = try reader.next() {
        try Task.checkCancellation()
        try each(leaf)
      }
    } catch is FileStoreError {
      // The file was intact just now.
      throw WaymarkError.failed(
        .noContent, "A file was deleted or damaged while it was exported; nothing was written.",
        next: "try again")
    }
  }
}

/// The target of an export, checked before anything is read.
package enum ExportTarget: Sendable {
  case file(OutputFile)
  case folder(String)

  /// - Throws: `WaymarkError` with the code `needs_yes` if the file exists and `overwrites` is false.
  package init(_ path: String, _ format: ExportFormat, in home: Home, overwrites: Bool) throws {
    if format.isFolder {
      try OutputFile.checkFolder(path, in: home)
      self = .folder(path)
    } else {
      self = .file(try OutputFile(path, in: home, overwrites: overwrites))
    }
  }
}
