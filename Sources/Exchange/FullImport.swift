import FileFormat
import JSONDocument
import Reasons
import Records
import Wire

/// Reads an export of everything that ``FullExport`` has written, without loss: ids and values are those of the file.
struct FullImport {
  private var builder = PlanBuilder()
  /// The files that the export contains and that were separated from its text.
  private let files: [FileReference]

  private let schema: Schema

  init(files: [FileReference], schema: Schema) { (self.files, self.schema) = (files, schema) }

  /// Whether a document is a full export, of any version.
  static func recognises(_ text: JSONText) -> Bool {
    text["schema"]?.string?.hasPrefix(FullExport.schemaPrefix) == true
  }

  mutating func read(_ text: JSONText) throws(ExchangeError) -> ImportPlan {
    try Self.checkVersion(text["schema"]?.string)
    let known = ["schema", "exportedAt"] + schema.exportedKinds.map(\.plural)
    builder.noteUnknownKeys(text.keys, known: Set(known), in: "the file")
    for kind in schema.exportedKinds where text.keys.contains(kind.plural) {
      guard text.list(kind.plural) != nil else {
        throw .wrongShape(place: "\"\(kind.plural)\"", expected: "a list")
      }
      read(kind, text.pieces(kind.plural))
    }
    return builder.plan(.json)
  }

  private static func checkVersion(_ schema: String?) throws(ExchangeError) {
    let version = schema.flatMap { Int($0.dropFirst(FullExport.schemaPrefix.count)) }
    guard let schema, let version, version >= 1 else {
      throw .wrongShape(place: "\"schema\"", expected: "\"\(FullExport.schemaPrefix)\(FullExport.version)\"")
    }
    guard version <= FullExport.version else { throw .newerExport(schema) }
  }

  /// Reads the rows of one kind on all cores.
  private mutating func read(_ kind: Kind, _ pieces: [JSONItems]) {
    let known = Set(["id"] + kind.fields.flatMap(\.parts))
    let files = files
    let read = concurrently(pieces.count) { number in
      var piece = RowPiece()
      for (index, json) in zip((number * JSONText.itemsInPiece)..., pieces[number]) {
        let unknown = (json.members ?? []).map(\.key).filter { !known.contains($0) }
        piece.findings.noteUnknownKeys(unknown, in: kind.plural)
        do throws(RowError) {
          piece.append(try ImportedRow.draft(json, kind, files), from: index)
        } catch {
          piece.refused.append((index, error))
        }
      }
      return piece
    }
    builder.add(read, of: kind.plural)
  }
}

/// Reads a row of the export.
private enum ImportedRow {
  static func draft(
    _ json: JSON, _ kind: Kind, _ files: [FileReference]
  ) throws(RowError) -> RecordDraft {
    let row = try Row(json)
    var fields: [FieldValue] = []
    for field in kind.fields {
      let value: Value?
      do throws(FieldError) {
        value = field.type == .blob ? try blob(field, json, files) : try field.value(in: json)
      } catch {
        throw RowError(error.description)
      }
      if let value { fields.append(FieldValue(field.number, value)) }
    }
    var draft = RecordDraft(kind, try row.id(), ascending: fields)
    // Nothing can change the name of the organization None.
    if draft.key == FixedRecords.none { draft[FixedRecords.organizationName] = nil }
    try checkID(of: draft)
    try PlanBuilder.check(draft, isComplete: false)
    return draft
  }

  /// Rejects records whose id belongs to another record: there is one profile, and a setting's id follows from its key.
  private static func checkID(of draft: RecordDraft) throws(RowError) {
    if draft.kind == Kind.profile, draft.key != FixedRecords.profile {
      throw RowError("its id should be \(FixedRecords.profileID.uuid), the id of the profile")
    }
    guard draft.kind == Kind.setting else { return }
    guard let key = draft.text("key"), draft.id == RecordID(kind: draft.kind, key: key) else {
      throw RowError("its id is not that of its key")
    }
  }

  /// Reads a field of type `blob`: base64 text, or the size and the id of a file with or without its content.
  private static func blob(
    _ field: Field, _ row: JSON, _ files: [FileReference]
  ) throws(FieldError) -> Value? {
    guard let json = row[field.name] else { return nil }
    if json.isNull { return .null }
    if let content = content(json, files) { return content }
    guard let size = json["bytes"]?.integer.flatMap({ Int(exactly: $0) }),
      let id = json["file"]?.string.flatMap({ FileID(hex: $0) }),
      let file = FileReference(size: size, id: id)
    else { throw error(field, "base64 text, or the size and the id of a file") }
    guard let content = json["base64"] else { return file.value }
    guard let value = Self.content(content, files) else { throw error(field, "base64 text") }
    guard reference(value) == file else { throw error(field, "content that matches its size and id") }
    // Another client may have stored short content as a file, which is nowhere else in the export.
    return value
  }

  /// Returns the bytes of base64 text, or the file that was separated from the text.
  private static func content(_ json: JSON, _ files: [FileReference]) -> Value? {
    if let index = json.integer { return files.indices.contains(Int(index)) ? files[Int(index)].value : nil }
    return json.string.flatMap { Base64.decode($0) }.map(Value.bytes)
  }

  private static func reference(_ value: Value) -> FileReference? {
    switch Blob(value) {
    case .file(let file): file
    case .inline(let bytes): FileHasher.list(of: bytes)?.reference
    case nil: nil
    }
  }

  private static func error(_ field: Field, _ allowed: LocalizableText) -> FieldError {
    FieldError(field: field.name, value: "its content", allowed: allowed)
  }
}
