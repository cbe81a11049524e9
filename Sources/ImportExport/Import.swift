package import Exchange
public import Foundation
import Home
package import Records
import Wire

/// Import formats.
public enum ImportFormat: String, Hashable, Sendable, CaseIterable {
  /// Habits, their categories and entries, and the profile, as Ritualist writes them.
  case ritualist
  /// Trips with their items, as Traveling Snails writes them.
  case travelingSnails = "traveling-snails"
  /// The unpacked archive of Loop Habit Tracker; a folder.
  case loopCSV = "loop-csv"
  /// A backup of Loop Habit Tracker; a database.
  case loopDB = "loop-db"
  /// Habits, as HabitBull writes them.
  case habitBull = "habitbull"
  /// A calendar.
  case iCalendar = "ics"
  /// A trip, as Surmai writes it.
  case surmai

  package var format: ExchangeFormat {
    switch self {
    case .ritualist: .ritualist
    case .travelingSnails: .travelingSnails
    case .loopCSV: .loopCSV
    case .loopDB: .loopDB
    case .habitBull: .habitbull
    case .iCalendar: .ics
    case .surmai: .surmai
    }
  }
}

/// Progress and findings of an import.
public enum ImportEvent: Hashable, Sendable {
  /// A file is being read.
  case reading(URL, done: Int, total: Int)
  /// Something in the file was not imported: where, and why.
  case skipped(URL, place: String, reason: String)
  /// Something was imported differently than the file has it.
  case warning(URL, String)
  /// Everything has been read and is being written.
  case writing(entries: Int)
}

/// The result of an import, or its preview.
public struct ImportSummary: Hashable, Sendable, Codable {
  /// Whether this is a preview, so that nothing was written.
  public let isPreview: Bool
  /// The number of new records.
  public let added: Int
  /// The number of changed records.
  public let updated: Int
  /// The number of unchanged records.
  public let unchanged: Int
  /// The number of places in the files that were not imported.
  public let skipped: Int
  /// Warnings, as sentences.
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

/// The records of all files of one import, added file by file.
package struct ImportedRecords: Sendable {
  /// Ascending by key, each record once.
  private var drafts: [RecordDraft] = []
  private var skipped = 0
  private var warnings: [String] = []

  package init() {}

  /// Reads a file or a folder into memory; a large one takes a while.
  ///
  /// - Parameter format: nil to recognise it by the content.
  /// - Throws: `WaymarkError`, or `CancellationError`.
  package static func plan(_ file: URL, _ format: ImportFormat?) throws -> ImportPlan {
    let path = file.path(percentEncoded: false)
    let source = try ImportFolder.source(path)
    do throws(ExchangeError) {
      return try Importer.plan(source, format: format?.format)
    } catch {
      // A reader that was cancelled reports a damaged file.
      try Task.checkCancellation()
      throw WaymarkError.failed(
        .import, "Nothing was imported from \(path): \(error).",
        next: error.remedy.map { Step($0) }
          ?? "export the file again from the application, then \(waymark: "import \(shellWord(path))")")
    }
  }

  /// Adds the records of one more file, and reports what was skipped.
  package mutating func add(_ plan: ImportPlan, of file: URL, _ report: (ImportEvent) -> Void) {
    for row in plan.skipped { report(.skipped(file, place: row.place, reason: row.reason)) }
    for warning in plan.warnings { report(.warning(file, warning)) }
    skipped += plan.skipped.count
    warnings += plan.warnings
    drafts = Self.joined(drafts, plan.drafts)
  }

  /// Returns the records and removes them here, so that they are not kept twice.
  package mutating func takeDrafts() -> [RecordDraft] {
    defer { drafts = [] }
    return drafts
  }

  package func summary(_ difference: ImportDifference, isPreview: Bool) -> ImportSummary {
    ImportSummary(
      isPreview: isPreview, added: difference.added, updated: difference.updated,
      unchanged: difference.unchanged, skipped: skipped, warnings: warnings)
  }

  /// The drafts of both, by key; if both have a record, the fields of the later file win.
  private static func joined(_ earlier: [RecordDraft], _ later: [RecordDraft]) -> [RecordDraft] {
    if earlier.isEmpty { return later }
    var joined: [RecordDraft] = []
    joined.reserveCapacity(earlier.count + later.count)
    var next = earlier.startIndex
    for draft in later {
      while next < earlier.endIndex, earlier[next] < draft {
        joined.append(earlier[next])
        next += 1
      }
      guard next < earlier.endIndex, earlier[next].key == draft.key else {
        joined.append(draft)
        continue
      }
      var both = earlier[next]
      for field in draft.fields { both[field.number] = field.value }
      joined.append(both)
      next += 1
    }
    return joined + earlier[next...]
  }
}
