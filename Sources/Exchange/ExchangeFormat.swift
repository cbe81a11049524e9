package import Records
package import Wire

/// A file format of another application.
package enum ExchangeFormat: String, CaseIterable, Sendable {
  /// Ritualist's JSON export: habits, categories, logs, profile.
  case ritualist
  /// Traveling Snails' JSON export: trips and what belongs to them.
  case travelingSnails = "traveling-snails"

  /// The format of a file by its top-level keys; nil if it is none of these.
  static func recognised(_ text: JSONText) -> ExchangeFormat? {
    let keys = Set(text.keys)
    return allCases.first { format in
      keys.contains(format.mainKey) && !keys.isDisjoint(with: format.otherKeys)
    }
  }

  /// The list that a file of this format cannot be without.
  var mainKey: String {
    switch self {
    case .ritualist: "habits"
    case .travelingSnails: "trips"
    }
  }

  private var otherKeys: [String] {
    switch self {
    case .ritualist:
      ["categories", "habitLogs", "profile", "exportedAt", "avatar", "syncMetadata"]
    case .travelingSnails: ["exportInfo", "organizations", "addresses", "attachments"]
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

  package var description: String {
    switch self {
    case .tooLarge(let bytes, let bytesMax):
      "the file has \(bytes) bytes, more than the \(bytesMax) that are read"
    case .notJSON(let error): "the file is damaged or no JSON: \(error)"
    case .unknownFormat:
      "the file is none of the formats known: \(ExchangeFormat.allCases.map(\.rawValue).joined(separator: ", "))"
    case .wrongShape(let place, let expected): "the file is damaged: \(place) should be \(expected)"
    }
  }
}

/// Reads files of other applications.
package enum Importer {
  /// A larger file is refused before it is looked at.
  package static let bytesMax = 256 * 1024 * 1024

  /// What an import of the file would write.
  ///
  /// - Parameters:
  ///   - format: nil to recognise it by the content.
  package static func plan(
    _ bytes: [UInt8], format: ExchangeFormat? = nil, zones: ZoneOffsets = .system
  ) throws(ExchangeError) -> ImportPlan {
    guard bytes.count <= bytesMax else { throw .tooLarge(bytes: bytes.count, bytesMax: bytesMax) }
    let text: JSONText
    do throws(JSONError) {
      text = try JSONText(checking: bytes)
    } catch {
      throw .notJSON(error)
    }
    guard let format = format ?? ExchangeFormat.recognised(text) else { throw .unknownFormat }
    switch format {
    case .ritualist:
      var reader = RitualistReader(zones: zones)
      return try reader.read(text)
    case .travelingSnails:
      var reader = TravelingSnailsReader()
      return try reader.read(text)
    }
  }
}
