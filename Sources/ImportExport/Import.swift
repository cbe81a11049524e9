package import Exchange
import FileFormat
package import FileStore
public import Platform
import Home
import Reasons
package import Records
package import Replication
package import Storage
import Wire

/// The formats that data can be imported from.
public enum ImportFormat: String, Hashable, Sendable, CaseIterable {
  /// Habits with their categories and entries, and the profile, in the format of Ritualist.
  case ritualist
  /// Trips with their items, in the format of Traveling Snails.
  case travelingSnails = "traveling-snails"
  /// An unpacked archive from Loop Habit Tracker, which is a folder.
  case loopCSV = "loop-csv"
  /// A backup from Loop Habit Tracker, which is a database.
  case loopDB = "loop-db"
  /// Habits, in the format of HabitBull.
  case habitBull = "habitbull"
  /// A calendar.
  case iCalendar = "ics"
  /// A trip, in the format of Surmai.
  case surmai
  /// Everything that Waymark itself has exported as JSON; see ``ExportFormat/json``.
  case json

  package var format: ExchangeFormat {
    switch self {
    case .ritualist: .ritualist
    case .travelingSnails: .travelingSnails
    case .loopCSV: .loopCSV
    case .loopDB: .loopDB
    case .habitBull: .habitbull
    case .iCalendar: .ics
    case .surmai: .surmai
    case .json: .json
    }
  }
}

/// The progress and the findings of an import.
public enum ImportEvent: Hashable, Sendable {
  /// A file is being read.
  case reading(URL, done: Int, total: Int)
  /// A part of the file was not imported. The event says which part, and why.
  case skipped(URL, place: String, reason: String)
  /// A part of the file was imported in a form different from that in the file.
  case warning(URL, String)
  /// All files have been read, and their entries are being written to the store.
  case writing(entries: Int)
}

/// The result or the preview of an import.
public struct ImportSummary: Hashable, Sendable, Codable {
  /// Whether this is only a preview, so that nothing was written.
  public let isPreview: Bool
  /// The number of new records.
  public let added: Int
  /// The number of changed records.
  public let updated: Int
  /// The number of unchanged records.
  public let unchanged: Int
  /// The number of places in the files that were not imported.
  public let skipped: Int
  /// The warnings, each of which is a sentence.
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

/// The records from all files of one import, which are added file by file.
package struct ImportedRecords: Sendable {
  /// The records in ascending order of their keys, each of them once.
  private var drafts = DraftList()
  /// The formats of the files.
  private var formats: Set<ExchangeFormat> = []
  private var skipped = 0
  private var warnings: [String] = []

  package init() {}

  /// Reads a file or a folder into memory and plans its import. Large ones take a while.
  ///
  /// - Parameters:
  ///   - format: the format of the file; nil to recognise the format by the content.
  ///   - schema: the kinds that a full export can have.
  ///   - files: receives bytes that are too long for a field; nil for a preview.
  /// - Throws: `WaymarkError`, `FileStoreError`, or `CancellationError`.
  package static func plan(
    _ file: URL, _ format: ImportFormat?, _ schema: Schema, addingTo files: FileAddition?
  ) throws -> ImportPlan {
    var plan = try Self.plan(file, format, schema) { next in try files?.write(next) ?? reference(next) }
    try plan.replaceLongBytes { bytes in
      try Task.checkCancellation()
      return try files?.write(bytes).value ?? Blob.value(of: bytes)
    }
    return plan
  }

  /// Returns what a file would be called, without storing it.
  private static func reference(_ next: () throws -> [UInt8]?) throws -> FileReference {
    var hasher = FileHasher()
    while let piece = try next() { hasher.update(piece) }
    guard let list = hasher.finish() else { throw FileStoreError.tooLarge }
    return list.reference
  }

  private static func plan(
    _ file: URL, _ format: ImportFormat?, _ schema: Schema,
    _ keep: @escaping (() throws -> [UInt8]?) throws -> FileReference
  ) throws -> ImportPlan {
    let path = file.path(percentEncoded: false)
    do {
      return try Importer.plan(
        try ImportFolder.source(path, keep: keep), format: format?.format, schema: schema)
    } catch let error as ExchangeError {
      // A reader that is cancelled reports that the file is damaged, so rule out a cancellation first.
      try Task.checkCancellation()
      throw WaymarkError.failed(
        .import, "Nothing was imported from \(path): \(error.clause).",
        next: error.remedy
          ?? "export the file again from the application, then \(waymark: "import \(shellWord(path))")")
    }
  }

  /// Adds the records of one more file, and reports what was skipped and the warnings.
  package mutating func add(_ plan: ImportPlan, of file: URL, _ report: (ImportEvent) -> Void) {
    for row in plan.skipped { report(.skipped(file, place: row.place, reason: row.reason)) }
    for warning in plan.warnings { report(.warning(file, warning)) }
    formats.insert(plan.format)
    skipped += plan.skipped.count
    warnings += plan.warnings
    drafts = Self.joined(drafts, plan.drafts)
  }

  /// Compares the records with the store, and frees them.
  ///
  /// - Parameter contents: the contents of the import, which are still empty.
  /// - Throws: `WaymarkError` with the code `usage` if Waymark's own exports are mixed with other files. The former have
  ///   exact values; those of other formats replace a value only as far as the format can represent it.
  package mutating func takeDifference(
    from store: Store, into contents: consuming OperationContents, now: Moment
  ) throws -> ImportDifference {
    let isExact = formats.contains(.json)
    guard !isExact || formats.count == 1 else {
      throw WaymarkError.usage(
        "A Waymark export can't be imported together with files of other applications; nothing was imported.",
        next: "import it on its own")
    }
    defer { drafts = DraftList() }
    return try ImportDifference(drafts, into: contents, store: store, now: now, isExact: isExact)
  }

  package func summary(_ difference: ImportDifference, isPreview: Bool) -> ImportSummary {
    ImportSummary(
      isPreview: isPreview, added: difference.added, updated: difference.updated,
      unchanged: difference.unchanged, skipped: skipped, warnings: warnings)
  }

  /// Returns the drafts of both files in the order of their keys. If both files contain a record, their fields are
  /// combined, and the fields of the later file win.
  private static func joined(_ earlier: DraftList, _ later: DraftList) -> DraftList {
    if earlier.isEmpty { return later }
    var joined = DraftList()
    var next = earlier.startIndex
    for draft in later {
      while next < earlier.endIndex, earlier.key(at: next) < draft.key {
        joined.append(earlier[next])
        next += 1
      }
      guard next < earlier.endIndex, earlier.key(at: next) == draft.key else {
        joined.append(draft)
        continue
      }
      var both = earlier[next]
      let later =
        draft.key == FixedRecords.none ? draft.keepingIDOfNone(both[draft.kind.number("otherKeys")]) : draft
      for field in later.fields { both[field.number] = field.value }
      joined.append(both)
      next += 1
    }
    for draft in earlier[next...] { joined.append(draft) }
    return joined
  }
}
