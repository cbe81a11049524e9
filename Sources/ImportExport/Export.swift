package import Exchange
public import Foundation
package import Home
import Records
package import Replication
package import Storage
package import Wire

/// Export formats.
public enum ExportFormat: String, Hashable, Sendable, CaseIterable, Codable {
  /// Habits, their categories and entries, and the profile, as Ritualist writes them.
  case ritualist
  /// Trips with their items, as Traveling Snails writes them.
  case travelingSnails = "traveling-snails"
  /// Everything in one document, for other programs. It can't be imported: for that use ``ritualist`` and
  /// ``travelingSnails``, or a backup.
  case json
  /// Everything, one table per kind; a folder.
  case csv
  /// Trips, as a calendar.
  case iCalendar = "ics"
  /// Habits, as Loop Habit Tracker writes them; a folder.
  case loopCSV = "loop-csv"

  /// Whether it is a folder with several files.
  public var isFolder: Bool { format.isFolder }

  /// Whether a single trip can be exported.
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

/// The visible records as a file in memory.
public struct ExportedFile: Hashable, Sendable {
  /// The bytes of the file.
  public let content: Data
  /// What the format can't represent, as sentences.
  public let warnings: [String]
}

/// The result of an export.
public struct ExportSummary: Hashable, Sendable {
  /// The format that was written.
  public let format: ExportFormat
  /// The size of all files.
  public let bytes: Int
  /// The files of a folder; empty for a single file.
  public let files: [String]
  /// What the format can't represent, as sentences.
  public let warnings: [String]
}

/// Exports the visible records of a store to files of a format.
package struct StoreExport: Sendable {
  private let format: ExportFormat
  /// The trip to export; nil for everything.
  private let trip: RecordID?
  private var source = ExportSource()

  /// - Throws: `WaymarkError` with the code `usage` for a trip in a format that has no trips.
  package init(_ format: ExportFormat, trip: RecordID?) throws {
    guard trip == nil || format.holdsTrips else {
      throw WaymarkError.usage("The format \(format.rawValue) has no trips, so it can't export one.")
    }
    self.format = format
    self.trip = trip
  }

  /// Reads all visible records of the kinds that the format has.
  ///
  /// - Parameter step: called after each record; the store may change meanwhile.
  package mutating func read(_ store: Store, step: () async throws -> Void) async throws {
    source = ExportSource()
    for kind in format.format.kinds {
      let blobs = kind.fields.filter { $0.type == .blob }.map(\.number)
      for record in try store.records(RecordQuery(kind.number)) {
        source.add(RecordDraft(kind, record.key.id, record.fields))
        for id in Set(blobs.flatMap { Contents.parts(of: record[$0]) }) {
          try await step()
          let key = RecordKey(kind: KindNumbers.content, id: id)
          guard let content = try store.record(key) else { continue }
          source.add(RecordDraft(Registry.content, id, content.fields))
        }
        try await step()
      }
    }
  }

  /// The content of the file, for a format that is a single file.
  package func file(now: Moment) -> ExportedFile {
    let file = Exporter.file(format.format, from: source, now: now, trip: trip)
    return ExportedFile(content: Data(file.bytes), warnings: file.warnings)
  }

  package func write(to target: ExportTarget, now: Moment) throws -> ExportSummary {
    switch target {
    case .file(let output):
      let file = Exporter.file(format.format, from: source, now: now, trip: trip)
      try output.write(file.bytes)
      return ExportSummary(format: format, bytes: file.bytes.count, files: [], warnings: file.warnings)
    case .folder(let path):
      let folder = Exporter.folder(format.format, from: source, trip: trip)
      try Folders.create(path, with: folder.files)
      return ExportSummary(
        format: format, bytes: folder.files.reduce(0) { $0 + $1.bytes.count },
        files: folder.files.map(\.path), warnings: folder.warnings)
    }
  }
}

/// The target of an export, checked before anything is read.
package enum ExportTarget: Sendable {
  case file(OutputFile)
  case folder(String)

  /// - Throws: `WaymarkError` with the code `needs_yes` for a file that exists, unless it is to be overwritten.
  package init(_ path: String, _ format: ExportFormat, in home: Home, overwrites: Bool) throws {
    if format.isFolder {
      try OutputFile.checkFolder(path, in: home)
      self = .folder(path)
    } else {
      self = .file(try OutputFile(path, in: home, overwrites: overwrites))
    }
  }
}
