public import Foundation
import Exchange
import JSONDocument
import Records
import Replication
import Storage
import Wire

/// Formats of files that can be imported.
public enum ImportFormat: String, Hashable, Sendable, CaseIterable {
  /// Habits, their categories and entries, and the profile, as Ritualist writes them.
  case ritualist
  /// Trips with all that belongs to them, as Traveling Snails writes them.
  case travelingSnails = "traveling-snails"
  /// The unpacked archive of Loop Habit Tracker, a folder.
  case loopCSV = "loop-csv"
  /// A backup of Loop Habit Tracker, a database.
  case loopDB = "loop-db"
  /// Habits, as HabitBull writes them.
  case habitBull = "habitbull"
  /// A calendar.
  case iCalendar = "ics"
  /// A trip, as Surmai writes it.
  case surmai
}

/// Formats of files that can be exported.
public enum ExportFormat: String, Hashable, Sendable, CaseIterable {
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

  fileprivate var format: ExchangeFormat {
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

/// What an import says while it goes on.
public enum ImportEvent: Hashable, Sendable {
  /// A file is being read.
  case reading(URL, done: Int, total: Int)
  /// Something in the file that can't be imported: where, and why.
  case skipped(URL, place: String, reason: String)
  /// Something that was imported otherwise than it is in the file.
  case warning(URL, String)
  /// Everything is read, and is written now.
  case writing(entries: Int)
}

/// What an import changed, or would change.
public struct ImportSummary: Hashable, Sendable, Decodable {
  /// Whether nothing was written.
  public let isPreview: Bool
  /// Records that are new.
  public let added: Int
  /// Records that are changed.
  public let updated: Int
  /// Records that are as they were.
  public let unchanged: Int
  /// Places in the files that can't be imported.
  public let skipped: Int
  /// Sentences for people.
  public let warnings: [String]

  private enum CodingKeys: String, CodingKey {
    case isPreview = "preview"
    case added
    case updated
    case unchanged
    case skipped
    case warnings
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

extension Node {
  /// What importing files would change; writes nothing.
  ///
  /// The parameters are those of ``importFiles(_:as:progress:)``.
  public func importPreview(
    of files: [URL], as format: ImportFormat? = nil,
    progress: @escaping @Sendable (ImportEvent) -> Void = { _ in }
  ) async throws -> ImportSummary {
    try await importFiles(files, format, isPreview: true, progress)
  }

  /// Imports files as one operation, which can be undone: all of them, or nothing if one is broken. The same file
  /// twice changes nothing.
  ///
  /// - Parameters:
  ///   - files: files, and folders where a format is one.
  ///   - format: nil to recognise each file by its content.
  ///   - progress: called on some thread.
  /// - Throws: `WaymarkError` with the code `import` or `file`.
  @discardableResult
  public func importFiles(
    _ files: [URL], as format: ImportFormat? = nil,
    progress: @escaping @Sendable (ImportEvent) -> Void = { _ in }
  ) async throws -> ImportSummary {
    try await importFiles(files, format, isPreview: false, progress)
  }

  private func importFiles(
    _ files: [URL], _ format: ImportFormat?, isPreview: Bool,
    _ progress: @escaping @Sendable (ImportEvent) -> Void
  ) async throws -> ImportSummary {
    let arguments: JSON = [
      "files": .array(files.map { .file($0) }), "format": .text(format?.rawValue),
      "preview": .bool(isPreview),
    ]
    return try await typed("import", arguments) { if let event = ImportEvent($0) { progress(event) } }
  }

  /// What is visible here, as the content of a file of a format that is one file.
  ///
  /// - Parameters:
  ///   - format: one whose ``ExportFormat/isFolder`` is false.
  ///   - trip: nil for everything.
  /// - Throws: `WaymarkError` with the code `usage` for a format that is a folder or holds no trips, and `not_found`.
  public func export(as format: ExportFormat, trip: UUID? = nil) async throws -> ExportedFile {
    do {
      let trip = try tripToExport(trip, format)
      guard !format.isFolder else {
        throw WaymarkError.usage("An export as \(format.rawValue) is several files: say which folder.")
      }
      let file = try await exportedFile(format.format, trip)
      return ExportedFile(content: Data(file.bytes), warnings: file.warnings)
    } catch {
      throw WaymarkError.reading(home, error)
    }
  }

  /// Writes what is visible here to a file, or to a folder where the format is one.
  ///
  /// - Parameters:
  ///   - format: what to write.
  ///   - target: a file, which is replaced; a folder that is not there yet or empty.
  ///   - trip: nil for everything.
  @discardableResult
  public func export(as format: ExportFormat, to target: URL, trip: UUID? = nil) async throws
    -> ExportSummary
  {
    struct Answer: Decodable {
      let bytes: Int
      let files: [String]?
      let warnings: [String]
    }
    let answer: Answer = try await typed(
      "export",
      [
        "format": .string(format.rawValue), "output": .file(target), "trip": .id(trip), "yes": true,
      ])
    return ExportSummary(
      format: format, bytes: answer.bytes, files: answer.files ?? [], warnings: answer.warnings)
  }

  private func tripToExport(_ trip: UUID?, _ format: ExportFormat) throws -> RecordID? {
    try checkOpen()
    guard let trip else { return nil }
    guard format.holdsTrips else {
      throw WaymarkError.usage("A trip goes with formats that hold trips: not with \(format.rawValue).")
    }
    return try names.resolve(Registry.trip, trip.uuidString.lowercased()).key.id
  }
}

extension ImportEvent {
  init?(_ json: JSON) {
    let file = json["file"]?.string.map { URL(filePath: $0) }
    func count(_ key: String) -> Int { json[key]?.integer.map { Int(clamping: $0) } ?? 0 }
    switch (json["type"]?.string, json["stage"]?.string, file) {
    case ("progress", "reading", let file?):
      self = .reading(file, done: count("done"), total: count("total"))
    case ("progress", "writing", _): self = .writing(entries: count("total"))
    case ("skipped", _, let file?):
      self = .skipped(file, place: json["place"]?.string ?? "", reason: json["reason"]?.string ?? "")
    case ("warning", _, let file?): self = .warning(file, json["text"]?.string ?? "")
    default: return nil
    }
  }
}
