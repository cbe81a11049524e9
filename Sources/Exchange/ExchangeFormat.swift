package import Records
package import Wire

/// A file format of another application.
package enum ExchangeFormat: String, CaseIterable, Sendable {
  /// Ritualist's JSON export: habits, categories, logs, profile.
  case ritualist
  /// Traveling Snails' JSON export: trips and what belongs to them.
  case travelingSnails = "traveling-snails"

  /// The format of a file by its top-level keys; nil if it is none of these.
  static func recognised(_ json: JSON) -> ExchangeFormat? {
    allCases.first { format in
      json[format.mainKey] != nil && format.otherKeys.contains { json[$0] != nil }
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

  /// The rows of the lists that a file of this format holds.
  ///
  /// An application that leaves out an empty list means no harm. A key that is missing while another is there
  /// that nobody knows is a damaged file.
  func lists(_ keys: [String], of json: JSON) throws(ExchangeError) -> [String: [JSON]] {
    let unknown = (json.members ?? []).first { !(otherKeys + [mainKey]).contains($0.key) }
    var lists: [String: [JSON]] = [:]
    for key in keys {
      let isNeeded = key == mainKey || unknown != nil
      guard let rows = json[key].map(\.array) ?? (isNeeded ? nil : []) else {
        throw .wrongShape(place: "\"\(key)\"", expected: "a list")
      }
      lists[key] = rows
    }
    return lists
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
    let json: JSON
    do throws(JSONError) {
      json = try JSON.parse(bytes)
    } catch {
      throw .notJSON(error)
    }
    guard let format = format ?? ExchangeFormat.recognised(json) else { throw .unknownFormat }
    switch format {
    case .ritualist:
      var reader = RitualistReader(zones: zones)
      return try reader.read(json)
    case .travelingSnails:
      var reader = TravelingSnailsReader()
      return try reader.read(json)
    }
  }
}
