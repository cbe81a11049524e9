package import FileFormat
import JSONDocument
package import Records
import Wire

/// The input of an import: a file, or the relevant files of a folder.
package enum ImportSource: Sendable {
  case file([UInt8])
  /// The text of a Waymark export and the files that were separated from it; see `EmbeddedFiles`.
  case export(text: [UInt8], files: [FileReference])
  case folder([ImportedFile])
}

/// A file in a folder.
package struct ImportedFile: Sendable {
  /// The path relative to the folder, with `/` as separator.
  package let path: String
  package let bytes: [UInt8]

  package init(path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
  }
}

/// Reads files of other applications.
package enum Importer {
  /// Whether a file in a folder is read at all; all others are ignored.
  package static func reads(_ path: String) -> Bool {
    LoopFolderReader.reads(path) || path == FullExport.firstTable
  }

  /// Plans the import of a file or a folder.
  ///
  /// - Parameters:
  ///   - format: the format; nil to recognise it by the content.
  ///   - schema: the kinds that a full export can have.
  package static func plan(
    _ source: ImportSource, format: ExchangeFormat? = nil, schema: Schema = .builtIn,
    zones: ZoneOffsets = .system
  ) throws(ExchangeError) -> ImportPlan {
    switch source {
    case .file(let bytes): return try plan(bytes, format: format, schema: schema, zones: zones)
    case .export(let text, let files):
      return try plan(json: text, format: format, schema: schema, zones: zones, files: files)
    case .folder(let files):
      if files.contains(where: { $0.path == FullExport.firstTable && FullExport.isTable($0.bytes) }) {
        throw .isFullExportFolder
      }
      guard format == nil || format == .loopCSV else { throw .isFolder }
      let bytes = files.reduce(0) { $0 + $1.bytes.count }
      guard bytes <= Limits.importBytesMax else {
        throw .tooLarge(bytes: bytes, bytesMax: Limits.importBytesMax)
      }
      var reader = LoopFolderReader()
      return try reader.read(files)
    }
  }

  /// Plans the import of a file.
  ///
  /// - Parameters:
  ///   - format: the format; nil to recognise it by the content.
  ///   - schema: the kinds that a full export can have.
  package static func plan(
    _ bytes: [UInt8], format: ExchangeFormat? = nil, schema: Schema = .builtIn,
    zones: ZoneOffsets = .system
  ) throws(ExchangeError) -> ImportPlan {
    guard bytes.count <= Limits.importBytesMax else {
      throw .tooLarge(bytes: bytes.count, bytesMax: Limits.importBytesMax)
    }
    var format = format
    if format == nil { format = try FileSignature.format(of: bytes) }
    switch format {
    case .loopCSV: throw .isPartOfFolder
    case .loopDB:
      var reader = LoopDatabaseReader()
      return try reader.read(bytes)
    case .habitbull:
      var reader = HabitBullReader()
      return try reader.read(bytes)
    case .ics:
      var reader = CalendarReader(zones: zones)
      return try reader.read(bytes)
    case let format: return try plan(json: bytes, format: format, schema: schema, zones: zones)
    }
  }

  private static func plan(
    json bytes: [UInt8], format: ExchangeFormat?, schema: Schema, zones: ZoneOffsets,
    files: [FileReference] = []
  ) throws(ExchangeError) -> ImportPlan {
    let text: JSONText
    do throws(JSONError) {
      text = try JSONText(checking: bytes)
    } catch {
      throw .notJSON(error)
    }
    if format == nil, !FullImport.recognises(text), let schema = text["schema"]?.string,
      schema.hasPrefix("waymark.")
    {
      throw .isAnswer(schema)
    }
    guard let format = format ?? ExchangeFormat.recognised(text) else { throw .unknownFormat }
    switch format {
    case .json:
      var reader = FullImport(files: files, schema: schema)
      return try reader.read(text)
    case .travelingSnails:
      var reader = TravelingSnailsReader()
      return try reader.read(text)
    case .surmai:
      var reader = SurmaiReader(zones: zones)
      return try reader.read(text)
    default:
      var reader = RitualistReader(zones: zones)
      return try reader.read(text)
    }
  }
}

/// Recognises the format of a file by its first bytes.
enum FileSignature {
  /// Returns the format of a file; nil if the file may be JSON.
  static func format(of bytes: [UInt8]) throws(ExchangeError) -> ExchangeFormat? {
    if bytes.starts(with: sqlite) { return .loopDB }
    if bytes.starts(with: zip) { throw .isArchive }
    let start = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(3) : bytes[...]
    let line = start.prefix(80).prefix { $0 != 0x0a && $0 != 0x0d }
    let text = String(decoding: line, as: UTF8.self).lowercased()
    if text.hasPrefix("habitname,") { return .habitbull }
    if text.hasPrefix("begin:vcalendar") { return .ics }
    if text.hasPrefix("position,name,") || text.hasPrefix("date,value,notes") { throw .isPartOfFolder }
    if FullExport.isTable(Array(start.prefix(1_000))) { throw .isFullExportFolder }
    guard let first = start.first(where: { !blanks.contains($0) }) else { return nil }
    guard jsonStarts.contains(first) else { throw .unknownFormat }
    return nil
  }

  private static let sqlite = Array("SQLite format 3\0".utf8)
  private static let zip: [UInt8] = [0x50, 0x4b, 0x03, 0x04]
  static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
  private static let blanks = Array(" \t\r\n".utf8)
  private static let jsonStarts = Array("{[\"-0123456789tfn".utf8)
}
