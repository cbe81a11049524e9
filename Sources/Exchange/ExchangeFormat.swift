package import JSONDocument
package import Records
import Wire

/// A file format of another application, or one that everybody reads.
package enum ExchangeFormat: String, CaseIterable, Sendable {
  /// Ritualist's JSON export: habits, categories, logs, profile.
  case ritualist
  /// Traveling Snails' JSON export: trips and what belongs to them.
  case travelingSnails = "traveling-snails"
  /// Loop Habit Tracker's folder of comma-separated values, in any of its three dialects.
  case loopCSV = "loop-csv"
  /// Loop Habit Tracker's backup, a SQLite database.
  case loopDB = "loop-db"
  /// HabitBull's comma-separated values.
  case habitbull
  /// iCalendar (RFC 5545): trips, what TripIt and KItinerary put into calendars, and single events.
  case ics
  /// Surmai's trip.json.
  case surmai
  /// FullExport, with the names of `waymark KIND show`.
  case json
  /// FullExport as comma-separated values (RFC 4180), one file a kind.
  case csv

  /// Formats that are read.
  package static let imported = allCases.filter { $0 != .json && $0 != .csv }
  /// Formats that are written.
  package static let exported: [ExchangeFormat] = [.ritualist, .travelingSnails, .json, .csv, .ics, .loopCSV]

  /// Whether an export is a folder with several files.
  package var isFolder: Bool { self == .csv || self == .loopCSV }

  /// The kinds whose records an export holds, contents besides.
  package var kinds: [Kind] {
    switch self {
    case .ritualist: [Registry.category, Registry.habit, Registry.habitEntry, Registry.profile]
    case .loopCSV, .loopDB, .habitbull: [Registry.habit, Registry.habitEntry]
    case .travelingSnails, .surmai:
      [Registry.trip] + Registry.owners + [Registry.organization, Registry.address, Registry.attachment]
    case .ics: [Registry.trip] + Registry.owners + [Registry.organization]
    case .json, .csv: FullExport.kinds
    }
  }

  /// The format of a JSON file by its top-level keys; nil if it is none of these.
  static func recognised(_ text: JSONText) -> ExchangeFormat? {
    let keys = Set(text.keys)
    return [ritualist, travelingSnails, surmai].first { format in
      keys.contains(format.mainKey) && !keys.isDisjoint(with: format.otherKeys)
    }
  }

  /// The part that a file of this format cannot be without.
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

  /// Checks that the lists of a file of this format are lists.
  ///
  /// An application that leaves out an empty list means no harm. A key that is missing while another is there
  /// that nobody knows is a damaged file.
  func checkLists(_ keys: [String], of text: JSONText) throws(ExchangeError) {
    let present = text.keys
    let hasUnknown = present.contains { !(otherKeys + [mainKey]).contains($0) }
    for key in keys where text.list(key) == nil {
      guard present.contains(key) || key == mainKey || hasUnknown else { continue }
      throw .wrongShape(place: "\"\(key)\"", expected: "a list")
    }
  }
}

/// Why a file cannot be imported at all. Nothing of it is written.
package enum ExchangeError: Error, Hashable, Sendable, CustomStringConvertible {
  case tooLarge(bytes: Int, bytesMax: Int)
  case notJSON(JSONError)
  case unknownFormat
  /// A part of the file that is no single row is missing or is something else.
  case wrongShape(place: String, expected: String)
  /// The file does not keep to its format at one place.
  case damaged(place: String, reason: String)
  /// The file is a database, but not one that is read.
  case unsuitable(reason: String)
  case isArchive
  case isPartOfFolder
  /// A folder where a file was expected.
  case isFolder

  package var description: String {
    switch self {
    case .tooLarge(let bytes, let bytesMax):
      "the file has \(bytes) bytes, more than the \(bytesMax) that are read"
    case .notJSON(let error): "the file is damaged or no JSON: \(error)"
    case .unknownFormat:
      "the file is none of the formats known: \(ExchangeFormat.imported.map(\.rawValue).joined(separator: ", "))"
    case .wrongShape(let place, let expected): "the file is damaged: \(place) should be \(expected)"
    case .damaged(let place, let reason): "the file is damaged: \(place): \(reason)"
    case .unsuitable(let reason): reason
    case .isArchive: "it is a zip archive, which is not read as it is"
    case .isPartOfFolder: "it is one file of an archive of Loop Habit Tracker, which is a folder"
    case .isFolder: "it is a folder, and only an archive of Loop Habit Tracker (loop-csv) is one"
    }
  }

  /// What a person can do about it, where that is not to export once more.
  package var remedy: String? {
    switch self {
    case .isArchive: "unpack it (unzip FILE -d FOLDER), then waymark import FOLDER"
    case .isPartOfFolder: "import the folder that has Habits.csv in it: waymark import FOLDER"
    case .unsuitable: "waymark help formats says what is read; for a copy of everything: waymark backup FILE"
    case .isFolder: "name the file itself: waymark import FILE"
    case .unknownFormat:
      "waymark help import lists what is read; waymark import --format F FILE says which it is"
    default: nil
    }
  }
}
