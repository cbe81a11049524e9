import FileFormat
import JSONDocument
package import Records
import Wire

/// An export of everything visible, for tools other than Waymark. It uses the field names of `waymark KIND show`.
struct FullExport {
  private let source: ExportSource
  private let zones: ZoneOffsets

  init(_ source: ExportSource, zones: ZoneOffsets) {
    self.source = source
    self.zones = zones
  }

  // MARK: JSON

  /// The version of the JSON document. Version 1 had the content of a file as base64 text alone.
  static let version = 2
  static let schemaPrefix = "waymark.export/"

  /// Returns one object with a list per kind. Records are sorted by id.
  ///
  /// Each file that records refer to is written once, with the first reference to it. So importing the document gives
  /// the same records, and it is no larger than what it contains.
  func json(now: Int64) -> ExportedFile {
    var document = JSONDocumentParts()
    document.add("{\n  \"schema\": \"\(Self.schemaPrefix)\(Self.version)\",\n  \"exportedAt\": ")
    document.add(fileTime(now))
    var written: Set<FileReference> = []
    for kind in source.schema.exportedKinds {
      document.add(",\n  \"\(kind.plural)\": [")
      for (index, record) in source.records(kind).enumerated() {
        document.add(index == 0 ? "\n    " : ",\n    ")
        document.add(row(of: record, &document, &written))
      }
      document.add(source.records(kind).isEmpty ? "]" : "\n  ]")
    }
    document.add("\n}")
    return document.file
  }

  private func row(
    of record: RecordDraft, _ document: inout JSONDocumentParts, _ written: inout Set<FileReference>
  ) -> JSON {
    var row: [JSON.Member] = [.init("id", .string(record.id.uuid))]
    for field in record.kind.fields {
      let value = record[field.number] ?? .null
      switch field.type {
      case .blob: row.append(.init(field.name, blob(field, of: record, &document, &written)))
      // An absent list differs from an empty one.
      case .list where value == .null: row.append(.init(field.name, .null))
      default: field.append(value, zones: zones, to: &row)
      }
    }
    return .object(row)
  }

  /// Returns base64 text if the field itself holds the bytes, and otherwise the size and the id of the file, with its
  /// content unless that was written before or is not on this device.
  private func blob(
    _ field: Field, of record: RecordDraft, _ document: inout JSONDocumentParts,
    _ written: inout Set<FileReference>
  ) -> JSON {
    switch Blob(record[field.number]) {
    case nil: return .null
    case .inline(let bytes): return .string(Base64.encode(bytes))
    case .file(let file):
      var members: [JSON.Member] = [
        .init("bytes", .integer(file.size)), .init("file", .string(file.id.description)),
      ]
      if !source.readableFiles.contains(file) {
        document.warnings.append(missing(record, field))
      } else if written.insert(file).inserted {
        members.append(.init("base64", document.placeholder(file)))
      }
      return .object(members)
    }
  }

  private func missing(_ record: RecordDraft, _ field: Field) -> String {
    "\(field.name) of \(record.kind.name) \(record.id.uuid) is incomplete on this device and is left out"
  }

  // MARK: Comma-separated values

  /// Returns a folder with one CSV file per kind. Attachments and the avatar are separate files.
  func csv() -> ExportedFolder {
    var folder = ExportedFolder()
    for kind in source.schema.exportedKinds {
      var table = CSVText()
      table.add(Self.heading(of: kind))
      for record in source.records(kind) {
        var row = [CSVText.Cell.plain(record.id.uuid)]
        for field in kind.fields { row += cells(field, of: record, &folder) }
        table.add(row)
      }
      folder.add("\(kind.plural).csv", table.bytes)
    }
    return folder
  }

  /// The file by which a folder is recognised as a full export.
  static let firstTable = "\(Kind.trip.plural).csv"

  /// Whether the content of a file is one of the tables of a full export as CSV.
  static func isTable(_ bytes: [UInt8]) -> Bool {
    Schema.builtIn.exportedKinds.contains { kind in
      var table = CSVText()
      table.add(heading(of: kind))
      return bytes.starts(with: table.bytes.dropLast(2))
    }
  }

  private static func heading(of kind: Kind) -> [String] { ["id"] + kind.fields.flatMap(\.parts) }

  private func cells(_ field: Field, of record: RecordDraft, _ folder: inout ExportedFolder)
    -> [CSVText.Cell]
  {
    let value = record[field.number] ?? .null
    switch field.type {
    case .blob: return [file(field, value, record, &folder)]
    case .money: return [value.part(0), value.part(1)].map { .plain($0.columnText) }
    default: return field.members(of: value, zones: zones).map { CSVText.Cell($0.value) }
    }
  }

  /// Writes the bytes of a field to a file, and returns its path.
  private func file(
    _ field: Field, _ value: Value, _ record: RecordDraft, _ folder: inout ExportedFolder
  ) -> CSVText.Cell {
    guard value != .null else { return .plain("") }
    guard let content = source.content(value) else {
      folder.warnings.append(missing(record, field))
      return .plain("")
    }
    let path = "files/\(record.id.uuid)\(ending(of: record))"
    switch content {
    case .inline(let bytes): folder.add(path, bytes)
    case .file(let file): folder.files.append(.init(path: path, content: .file(file)))
    }
    return .plain(path)
  }

  /// Returns an attachment's file name extension with its dot, if it is harmless; otherwise an empty string.
  private func ending(of record: RecordDraft) -> String {
    guard record.kind == Kind.attachment, let ending = record.text("fileExtension"),
      !ending.isEmpty,
      ending.utf8.count <= 10, ending.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
    else { return "" }
    return ".\(ending)"
  }
}

extension Value {
  fileprivate var columnText: String {
    guard case .text(let text) = self else { return "" }
    return text
  }
}

/// Writes comma-separated values (RFC 4180) with CRLF, and quotation marks where needed.
///
/// Spreadsheets run a cell as a formula if it begins with one of ``CSVText/formulaSigns``. An apostrophe is
/// inserted before such a sign at the beginning of a string, and also after a quotation mark, a semicolon, a tab or a
/// line break: a spreadsheet whose locale separates cells with semicolons starts another cell there, even inside
/// quotation marks. If apostrophes already precede the sign, one more is inserted, so that the import can reverse
/// this exactly.
struct CSVText {
  private(set) var bytes: [UInt8] = []

  enum Cell {
    /// A value that can't be a formula: a number, a time or an id.
    case plain(String)
    case text(String)

    init(_ json: JSON) {
      switch json {
      case .null: self = .plain("")
      case .string(let text): self = .text(text)
      case .number, .bool: self = .plain(json.text())
      case .array, .object: self = .text(json.text())
      }
    }

    fileprivate var content: String {
      switch self {
      case .plain(let text): text
      case .text(let text): CSVText.guarded(text)
      }
    }
  }

  /// The characters that make a cell a formula if it begins with one of them, including full-width forms.
  private static let formulaSigns: Set<Unicode.Scalar> = [
    "=", "+", "-", "@", "\t", "\r", "\n", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}",
  ]
  /// The characters after which a cell can begin.
  private static let cellStarts: Set<Unicode.Scalar> = ["\"", ";", "\t", "\r", "\n"]

  /// Returns a string with an apostrophe before each possible formula.
  static func guarded(_ text: String) -> String {
    rewritten(text) { apostrophes in apostrophes + 1 }
  }

  /// Returns the original of a string that ``guarded(_:)`` returned. A string that needed no apostrophes is unchanged.
  static func unguarded(_ text: String) -> String {
    rewritten(text) { apostrophes in max(0, apostrophes - 1) }
  }

  /// Changes the number of apostrophes before each formula sign that could begin a cell.
  private static func rewritten(_ text: String, _ count: (Int) -> Int) -> String {
    var written = String.UnicodeScalarView()
    var (isStart, apostrophes) = (true, 0)
    for scalar in text.unicodeScalars {
      if isStart, scalar == "'" {
        apostrophes += 1
        continue
      }
      if isStart {
        let kept = formulaSigns.contains(scalar) ? count(apostrophes) : apostrophes
        written.append(contentsOf: repeatElement("'", count: kept))
      }
      (isStart, apostrophes) = (cellStarts.contains(scalar), 0)
      written.append(scalar)
    }
    written.append(contentsOf: repeatElement("'", count: apostrophes))
    return String(written)
  }

  mutating func add(_ cells: [String]) { add(cells.map { Cell.plain($0) }) }

  mutating func add(_ cells: [Cell]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      add(cell.content)
    }
    bytes += [0x0d, 0x0a]
  }

  private mutating func add(_ text: String) {
    let special = Array(",\"\r\n".utf8)
    guard text.utf8.contains(where: special.contains) || text.hasPrefix(" ") || text.hasSuffix(" ")
    else {
      bytes += Array(text.utf8)
      return
    }
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\"") { bytes.append(byte) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

/// The parts of a JSON document that is written value by value, so that there is never a tree of all its values.
private struct JSONDocumentParts {
  var warnings: [String] = []
  private var parts: [ExportPart] = []
  /// The text since the last part.
  private var text: [UInt8] = []
  private var files: [FileReference] = []

  mutating func add(_ text: String) { self.text += Array(text.utf8) }

  /// Adds an item of a list in the outermost object, or a value in that object.
  mutating func add(_ json: JSON) {
    let (texts, rest) = json.pieces(.pretty, indent: 2)
    for piece in texts {
      text += piece.text
      flush()
      parts.append(.base64(files[piece.placeholder]))
    }
    text += rest
    if text.count > Self.partBytes { flush() }
  }

  /// Returns a value that stands for the content of a file until it is added.
  mutating func placeholder(_ file: FileReference) -> JSON {
    files.append(file)
    return .placeholder(files.count - 1)
  }

  private mutating func flush() {
    parts.append(.bytes(text))
    text = []
  }

  private static let partBytes = 256 * 1024

  var file: ExportedFile { ExportedFile(parts: parts + [.bytes(text)], warnings: warnings) }
}

extension Schema {
  /// The kinds in the order in which a full export has them, with categories before the habits that refer to them by key.
  package var exportedKinds: [Kind] {
    kinds.reduce(into: [Kind]()) { kinds, kind in
      for kind in kind.kindsNamedByKey + [kind] where kind.view != nil && !kinds.contains(kind) {
        kinds.append(kind)
      }
    }
  }
}
