package import JSONDocument
package import Reasons
package import Records
import Wire

/// A file format for imports or exports: another application's own format, or a common one.
package enum ExchangeFormat: String, CaseIterable, Sendable {
  /// Ritualist's JSON export, with habits, categories, logs and the profile.
  case ritualist
  /// Traveling Snails' JSON export, with trips and their items.
  case travelingSnails = "traveling-snails"
  /// Loop Habit Tracker's folder of comma-separated values, in any of its three dialects.
  case loopCSV = "loop-csv"
  /// Loop Habit Tracker's backup, a SQLite database.
  case loopDB = "loop-db"
  /// HabitBull's comma-separated values.
  case habitbull
  /// iCalendar (RFC 5545), with trips, events from TripIt and KItinerary, and single events.
  case ics
  /// Surmai's trip.json.
  case surmai
  /// Everything visible, with its files, as JSON with the field names of `waymark KIND show`.
  case json
  /// Everything visible, as comma-separated values (RFC 4180), one file per kind.
  case csv

  /// The formats that can be imported.
  package static let imported = allCases.filter { $0 != .csv }
  /// The formats that can be exported.
  package static let exported: [ExchangeFormat] = [.ritualist, .travelingSnails, .json, .csv, .ics, .loopCSV]

  /// Whether an export is a folder with several files.
  package var isFolder: Bool { self == .csv || self == .loopCSV }

  /// The kinds whose records an export includes, apart from Content records.
  package func kinds(_ schema: Schema) -> [Kind] {
    switch self {
    case .ritualist: [Kind.category, Kind.habit, Kind.habitEntry, Kind.profile, Kind.setting]
    case .loopCSV, .loopDB, .habitbull: [Kind.habit, Kind.habitEntry]
    case .travelingSnails, .surmai:
      [Kind.trip] + Kind.owners + [Kind.leg, Kind.organization, Kind.address, Kind.attachment]
    case .ics: [Kind.trip] + Kind.owners + [Kind.leg, Kind.organization]
    case .json, .csv: schema.exportedKinds
    }
  }

  /// Recognises the format of a JSON file by its top-level keys; nil if it is unknown.
  static func recognised(_ text: JSONText) -> ExchangeFormat? {
    if FullImport.recognises(text) { return .json }
    let keys = Set(text.keys)
    return [ritualist, travelingSnails, surmai].first { format in
      keys.contains(format.mainKey) && !keys.isDisjoint(with: format.otherKeys)
    }
  }

  /// The key that a file of this format must have.
  var mainKey: String {
    switch self {
    case .ritualist: "habits"
    case .travelingSnails: "trips"
    case .surmai: "trip"
    default: ""
    }
  }

  private var otherKeys: [String] {
    switch self {
    case .ritualist:
      ["categories", "habitLogs", "profile", "exportedAt", "avatar", "syncMetadata"]
    case .travelingSnails: ["exportInfo", "organizations", "addresses", "attachments"]
    case .surmai:
      ["transportations", "lodgings", "activities", "expenses", "attachments", "travellerProfiles"]
    default: []
    }
  }

  /// Checks that the keys that should hold lists in a file of this format do hold lists.
  ///
  /// A missing list counts as empty, because some applications omit empty lists. But if the file also has an unknown
  /// key, the missing key was probably damaged, and the file is rejected.
  func checkLists(_ keys: [String], of text: JSONText) throws(ExchangeError) {
    let present = text.keys
    let hasUnknown = present.contains { !(otherKeys + [mainKey]).contains($0) }
    for key in keys where text.list(key) == nil {
      guard present.contains(key) || key == mainKey || hasUnknown else { continue }
      throw .wrongShape(place: "\"\(key)\"", expected: "a list")
    }
  }
}

/// The reason why a file can't be imported at all. Nothing from the file is written.
package enum ExchangeError: Error, Hashable, Sendable, CustomStringConvertible {
  case tooLarge(bytes: Int, bytesMax: Int)
  case notJSON(JSONError)
  case unknownFormat
  /// A part of the file that is larger than a row is missing or has the wrong type.
  case wrongShape(place: String, expected: String)
  /// The file violates its format at one position.
  case damaged(place: String, reason: String)
  /// The file is a database, but not one that can be imported.
  case unsuitable(reason: String)
  /// The file is a full export by a newer version, with this schema.
  case newerExport(String)
  /// The file is what a command of Waymark printed, with this schema.
  case isAnswer(String)
  /// The folder, or the file, is a full export as comma-separated values.
  case isFullExportFolder
  case isArchive
  case isPartOfFolder
  /// The source is a folder, but the format is that of a single file.
  case isFolder

  package var description: String { clause.description }

  /// What is wrong, as a clause without a final period.
  package var clause: LocalizableText {
    switch self {
    case .tooLarge(let bytes, let bytesMax):
      "the file has \(bytes) bytes; the limit is \(bytesMax)"
    case .notJSON(let error): "the file is not valid JSON: \(error)"
    case .unknownFormat:
      "unknown format; supported formats: \(ExchangeFormat.imported.map(\.rawValue).joined(separator: ", "))"
    case .wrongShape(let place, let expected): "the file is damaged: \(place) should be \(expected)"
    case .damaged(let place, let reason): "the file is damaged: \(place): \(reason)"
    case .unsuitable(let reason): LocalizableText(word: reason)
    case .newerExport(let schema):
      "a newer version of Waymark exported it (\(schema)); this version reads \(FullExport.schemaPrefix)\(FullExport.version)"
    case .isAnswer(let schema): "it is the output of a Waymark command (\(schema)), not an export"
    case .isFullExportFolder:
      "it is a Waymark export as CSV, which is for spreadsheets and lacks what an import needs"
    case .isArchive: "it is a zip archive, which must be unpacked first"
    case .isPartOfFolder: "it is one file of a Loop Habit Tracker archive, which is imported as a folder"
    case .isFolder: "it is a folder; only Loop Habit Tracker archives (loop-csv) are imported as folders"
    }
  }

  /// What the user can do about the error; nil if all that can help is to export the file again.
  package var remedy: Step? {
    switch self {
    case .newerExport: "install that version of Waymark here, then import the file again"
    case .isAnswer, .isFullExportFolder:
      "where the records are: \(waymark: "export --format json --output FILE"); then here: \(waymark: "import FILE")"
    case .isArchive: "unpack it (unzip FILE -d FOLDER), then \(waymark: "import FOLDER")"
    case .isPartOfFolder: "import the folder that has Habits.csv in it: \(waymark: "import FOLDER")"
    case .unsuitable:
      "\(waymark: "help formats") lists what can be imported; for a full copy: \(waymark: "backup FILE")"
    case .isFolder: "name the file itself: \(waymark: "import FILE")"
    case .unknownFormat:
      "\(waymark: "help import") lists the formats; \(waymark: "import --format F FILE") selects one"
    default: nil
    }
  }
}
