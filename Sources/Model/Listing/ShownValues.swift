package import FileFormat
package import JSONDocument
package import Records
import Replication
package import Storage
package import Wire

/// Converts field values to a form for display and, next to each reference, adds the name of the record that it
/// refers to.
package struct ShownValues {
  let store: Store
  /// Returns where a file is; nil if states of files are not shown.
  private let fileState: ((FileReference) throws -> FileState)?
  /// The names that were already looked up, kept because a list refers to the same few records repeatedly.
  private var titles: [RecordKey: String?] = [:]

  package init(store: Store, fileState: ((FileReference) throws -> FileState)? = nil) {
    (self.store, self.fileState) = (store, fileState)
  }

  /// Returns the fields of one record, beginning with its id.
  mutating func parts(_ kind: Kind, _ record: RecordRow) throws -> [ShownValue.Part] {
    var parts = [ShownValue.Part("id", .text(record.key.id.uuid))]
    parts.reserveCapacity(2 * kind.fields.count)
    for field in kind.fields { try append(field, record[field.number] ?? .null, to: &parts) }
    return parts
  }

  /// Returns the value of one field; for a field that has several parts, the value consists of all of them.
  package mutating func value(_ field: Field, _ value: Value) throws -> ShownValue {
    var parts: [ShownValue.Part] = []
    append(field.members(of: value, zones: CivilTime.offsets), to: &parts)
    return parts.count == 1 ? parts[0].value : .parts(parts)
  }

  /// Returns a value that is encoded as in change sets. The life of a record is returned as `alive` or `deleted`.
  ///
  /// - Parameters:
  ///   - content: the encoded value.
  ///   - field: the field; nil for a field that this version does not know.
  ///   - isLife: whether the value is the life of a record.
  package mutating func value(_ content: [UInt8], of field: Field?, isLife: Bool) throws -> ShownValue {
    let value = try Value(encoded: content[...])
    if isLife { return .text(value == .bool(true) ? "alive" : "deleted") }
    // Content whose type differs from that of the field is kept, and shown as it is stored.
    guard let field, value == .null || field.type.accepts(content) else {
      return ShownValue(value.documentJSON)
    }
    return try self.value(field, value)
  }

  /// Appends one field and, if the field is a reference, the name of the record that it refers to.
  package mutating func append(_ field: Field, _ value: Value, to parts: inout [ShownValue.Part]) throws {
    switch field.type {
    case .reference(FixedRecords.organization): parts += try organization(field, value)
    case .reference(KindNumbers.address): parts.append(try address(field, value))
    case .blob: parts.append(.init(field.name, try file(value)))
    default:
      append(field.members(of: value, zones: CivilTime.offsets), to: &parts)
      if let name = try name(field, value) { parts.append(name) }
    }
  }

  private func append(_ members: [JSON.Member], to parts: inout [ShownValue.Part]) {
    for member in members { parts.append(.init(member.key, ShownValue(member.value))) }
  }

  /// Returns the name of the record that a field refers to; nil if the field is not a reference.
  private mutating func name(_ field: Field, _ value: Value) throws -> ShownValue.Part? {
    switch field.type {
    case .reference(let kind):
      let title = try value.asRecordID.flatMap { try self.title(RecordKey(kind: kind, id: $0)) }
      return .init(Field.nameKey(field.name), ShownValue(title))
    case .keyReference(let kind):
      let title = try value.asText.flatMap { key in
        try store.schema.kind(kind).flatMap {
          try self.title(RecordKey(kind: kind, id: RecordID(kind: $0, key: key)))
        }
      }
      return .init(Field.nameKey(field.name), ShownValue(title))
    case .owner: return .init("parentName", ShownValue(try owner(value).flatMap { try title($0) }))
    default: return nil
    }
  }

  private func owner(_ value: Value) -> RecordKey? {
    guard let kind = value.part(0).asInteger.flatMap({ store.schema.kind(number: $0) }),
      let id = value.part(1).asRecordID
    else { return nil }
    return RecordKey(kind: kind.number, id: id)
  }

  /// Returns a reference to an organization and the organization's name. An organization that is not visible is shown
  /// as None.
  private mutating func organization(_ field: Field, _ value: Value) throws -> [ShownValue.Part] {
    guard let id = value.asRecordID else {
      return [.init(field.name, .absent), .init("organizationName", .text("None"))]
    }
    let title = try title(RecordKey(kind: FixedRecords.organization, id: id))
    let shown = title == nil ? FixedRecords.none.id : id
    return [.init(field.name, .text(shown.uuid)), .init("organizationName", .text(title ?? "None"))]
  }

  /// Returns an address with all its fields, because users do not see it as a separate record.
  private mutating func address(_ field: Field, _ value: Value) throws -> ShownValue.Part {
    guard let id = value.asRecordID, let record = try store.visible(Kind.address, id) else {
      return .init(field.name, .absent)
    }
    return .init(field.name, .parts(try parts(Kind.address, record)))
  }

  /// Returns the name of a visible record; nil if there is no such record or it has no name.
  mutating func title(_ key: RecordKey) throws -> String? {
    if let known = titles[key] { return known }
    let found = try store.schema.kind(key.kind).flatMap { kind in
      try store.visible(kind, key.id).flatMap { kind.title(of: $0) }
    }
    titles[key] = .some(found)
    return found
  }

  /// Returns the size and the state of a file, which are shown instead of its content.
  private func file(_ value: Value) throws -> ShownValue {
    guard let blob = Blob(value) else { return .absent }
    var parts = [ShownValue.Part("bytes", .integer(Int64(blob.byteCount)))]
    if case .file(let file) = blob { parts.append(.init("file", .text(file.id.description))) }
    guard let fileState else { return .parts(parts) }
    switch blob {
    case .inline: parts += FileState.here.parts
    case .file(let file): parts += try fileState(file).parts
    }
    return .parts(parts)
  }
}

extension ShownValue {
  package init(_ text: String?) { self = text.map(ShownValue.text) ?? .absent }

  package init(_ json: JSON) {
    switch json {
    case .null: self = .absent
    case .bool(let flag): self = .flag(flag)
    case .number: self = json.integer.map(ShownValue.integer) ?? json.float.map(ShownValue.number) ?? .absent
    case .string(let text): self = .text(text)
    case .array(let items): self = .list(items.map { ShownValue($0) })
    case .object(let members): self = .parts(members.map { Part($0.key, ShownValue($0.value)) })
    }
  }

  /// The value in the form that JSON documents use.
  package var json: JSON {
    switch self {
    case .absent: .null
    case .flag(let flag): .bool(flag)
    case .integer(let number): .integer(number)
    case .number(let number): .float(number)
    case .text(let text): .string(text)
    case .list(let values): .array(values.map(\.json))
    case .parts(let parts): .object(parts.map { .init($0.name, $0.value.json) })
    }
  }
}

extension FieldType {
  /// Reports whether encoded content is of this type.
  fileprivate func accepts(_ content: [UInt8]) -> Bool {
    var columns: [ColumnValue] = []
    return appendColumns(of: content, in: 0..<content.count, to: &columns)
  }
}
