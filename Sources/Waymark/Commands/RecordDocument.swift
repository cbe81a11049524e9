import JSONDocument
import Records
import Replication
import Storage
import Wire

/// Writes records as documents: all fields, and beside each reference the name of what it refers to.
struct RecordDocument {
  let store: Store
  /// Names found so far: a list refers to the same few records again and again.
  private var titles: [RecordKey: String?] = [:]

  init(store: Store) { self.store = store }

  /// The members of one record, its id first.
  mutating func members(_ kind: Kind, _ record: RecordRow) throws -> [JSON.Member] {
    var members = [JSON.Member("id", .string(record.key.id.uuid))]
    members.reserveCapacity(2 * kind.fields.count)
    for field in kind.fields { try append(field, record[field.number] ?? .null, to: &members) }
    return members
  }

  mutating func json(_ kind: Kind, _ record: RecordRow) throws -> JSON {
    .object(try members(kind, record))
  }

  /// Appends one field, and the name of what it refers to.
  mutating func append(_ field: Field, _ value: Value, to members: inout [JSON.Member]) throws {
    switch field.type {
    case .reference(FixedRecords.organization): members += try organization(field, value)
    case .reference(KindNumbers.address): members.append(try address(field, value))
    case .blob: members.append(.init(field.name, Self.size(value)))
    default:
      field.append(value, zones: CivilTime.offsets, to: &members)
      if let name = try name(field, value) { members.append(name) }
    }
  }

  /// The name of what a field refers to; nil if it is no reference.
  private mutating func name(_ field: Field, _ value: Value) throws -> JSON.Member? {
    switch field.type {
    case .reference(let kind):
      let title = try value.asRecordID.flatMap { try self.title(RecordKey(kind: kind, id: $0)) }
      return .init(Self.nameKey(field), .text(title))
    case .keyReference(let kind):
      let title = try value.asText.flatMap { key in
        try Registry.kind(kind).flatMap {
          try self.title(RecordKey(kind: kind, id: RecordID(kind: $0, key: key)))
        }
      }
      return .init(Self.nameKey(field), .text(title))
    case .owner: return .init("parentName", .text(try owner(value).flatMap { try title($0) }))
    default: return nil
    }
  }

  private func owner(_ value: Value) -> RecordKey? {
    guard let kind = value.part(0).asInteger.flatMap({ Registry.kind(number: $0) }),
      let id = value.part(1).asRecordID
    else { return nil }
    return RecordKey(kind: kind.number, id: id)
  }

  /// What refers to no organization that is visible reads as None.
  private mutating func organization(_ field: Field, _ value: Value) throws -> [JSON.Member] {
    guard let id = value.asRecordID else {
      return [.init(field.name, .null), .init("organizationName", "None")]
    }
    let title = try title(RecordKey(kind: FixedRecords.organization, id: id))
    let shown = title == nil ? FixedRecords.none.id : id
    return [.init(field.name, .string(shown.uuid)), .init("organizationName", .string(title ?? "None"))]
  }

  /// An address is shown in place, because it has no life of its own for people.
  private mutating func address(_ field: Field, _ value: Value) throws -> JSON.Member {
    guard let id = value.asRecordID, let record = try store.visible(Registry.address, id) else {
      return .init(field.name, .null)
    }
    return .init(field.name, try json(Registry.address, record))
  }

  /// The name of a visible record; nil if there is none.
  mutating func title(_ key: RecordKey) throws -> String? {
    if let known = titles[key] { return known }
    let found = try Registry.kind(key.kind).flatMap { kind in
      try store.visible(kind, key.id).flatMap { kind.title(of: $0) }
    }
    titles[key] = .some(found)
    return found
  }

  /// `trip` has `tripName`, `habitID` has `habitName`.
  private static func nameKey(_ field: Field) -> String {
    for suffix in ["ID", "Id"] where field.name.hasSuffix(suffix) { return field.name.dropLast(2) + "Name" }
    return field.name + "Name"
  }

  /// A document says how much there is of a file, not what.
  private static func size(_ value: Value) -> JSON {
    switch value {
    case .bytes(let bytes): ["bytes": .integer(bytes.count), "parts": 0]
    case .array(let parts): ["bytes": .null, "parts": .integer(parts.count)]
    default: .null
    }
  }
}
