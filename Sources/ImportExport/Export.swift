package import Exchange
public import Foundation
package import Home
import Records
package import Replication
package import Storage
package import Wire

/// Formats of files that can be exported.
public enum ExportFormat: String, Hashable, Sendable, CaseIterable, Codable {
  /// Habits, their categories and entries, and the profile, as Ritualist writes them.
  case ritualist
  /// Trips with all that belongs to them, as Traveling Snails writes them.
  case travelingSnails = "traveling-snails"
  /// Everything, in one document for other programs. There is no way back: what shall be imported again is exported as
  /// ``ritualist`` and ``travelingSnails``, or kept as a backup.
  case json
  /// Everything, a table a kind: a folder.
  case csv
  /// Trips, as a calendar.
  case iCalendar = "ics"
  /// Habits, as Loop Habit Tracker has them: a folder.
  case loopCSV = "loop-csv"

  /// Whether it is a folder of several files.
  public var isFolder: Bool { format.isFolder }

  /// Whether one trip can be exported alone.
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

/// What is visible, as a file that nobody has written yet.
public struct ExportedFile: Hashable, Sendable {
  /// The bytes of the file.
  public let content: Data
  /// What the format can't hold, as sentences for people.
  public let warnings: [String]
}

/// What an export wrote.
public struct ExportSummary: Hashable, Sendable {
  /// The format that was written.
  public let format: ExportFormat
  /// The size of all that was written.
  public let bytes: Int
  /// The files of a folder; empty for one file.
  public let files: [String]
  /// What the format can't hold, as sentences for people.
  public let warnings: [String]
}

/// What is visible in a store, on its way into files of a format.
package struct StoreExport: Sendable {
  private let format: ExportFormat
  /// Nil for everything.
  private let trip: RecordID?
  private var source = ExportSource()

  /// - Throws: `WaymarkError` with the code `usage` for a format that holds no trips.
  package init(_ format: ExportFormat, trip: RecordID?) throws {
    guard trip == nil || format.holdsTrips else {
      throw WaymarkError.usage("A trip goes with formats that hold trips: not with \(format.rawValue).")
    }
    self.format = format
    self.trip = trip
  }

  /// Everything visible of the kinds that the format knows.
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

  /// The content of the one file that the format is.
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

/// Where an export goes, checked before anything is read.
package enum ExportTarget: Sendable {
  case file(OutputFile)
  case folder(String)

  /// - Throws: `WaymarkError` with the code `needs_yes` for a file that is there already, unless it is overwritten.
  package init(_ path: String, _ format: ExportFormat, in home: Home, overwrites: Bool) throws {
    if format.isFolder {
      try OutputFile.checkFolder(path, in: home)
      self = .folder(path)
    } else {
      self = .file(try OutputFile(path, in: home, overwrites: overwrites))
    }
  }
}
