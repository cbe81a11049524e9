import Foundation
import Records
import Replication
import Storage
import Wire

/// Maps the properties of a record to fields in the store.
///
/// The ``Record`` protocol requires this map; applications do not need to use it.
public struct RecordFields<Owner: Record>: Sendable {
  let kind: Kind
  let all: [RecordField<Owner>]
  private let id: any KeyPath<Owner, UUID> & Sendable

  init(_ kind: Kind, id: any KeyPath<Owner, UUID> & Sendable, _ fields: [RecordField<Owner>]) {
    self.kind = kind
    self.id = id
    all = fields.map { field in
      var field = field
      field.number = kind.number(field.name)
      return field
    }
  }

  /// Returns the component of a field that a property shows; nil if the property is not a single stored value.
  func part(_ path: PartialKeyPath<Owner>) -> RecordQuery.Part? {
    if path == id { return .id }
    for field in all {
      guard let part = field.parts.first(where: { $0.path == path }) else { continue }
      return RecordQuery.Part(field.number, part.index, absent: part.absent)
    }
    return nil
  }
}

/// One field of a kind, and the properties that show the field.
struct RecordField<Owner: Record>: Sendable {
  typealias Path<Property> = any WritableKeyPath<Owner, Property> & Sendable

  /// One component of the field, and the property that shows it.
  struct Part {
    let path: any PartialKeyPath<Owner> & Sendable
    var index = 0
    /// The value that the property has if the field is null.
    var absent = ColumnValue.null
  }

  let name: String
  var number: FieldNumber = 0
  let read: @Sendable (Value, inout Owner) -> Void
  let write: @Sendable (Owner) -> Value
  var parts: [Part] = []
}

extension RecordField {
  /// Maps a field to a property that is nil if the field is null.
  static func field<Content: FieldContent>(_ name: String, _ path: Path<Content?>) -> RecordField {
    RecordField(
      name: name, read: { $1[keyPath: path] = Content($0) }, write: { $0[keyPath: path]?.value ?? .null },
      parts: [Part(path: path)])
  }

  /// Maps a field to a property that has a default value if the field is null.
  static func field<Content: FieldContent>(
    _ name: String, _ path: Path<Content>, absent: Content
  ) -> RecordField {
    let operand = (absent as? any QueryValue)?.queryOperand.column ?? .null
    return RecordField(
      name: name, read: { $1[keyPath: path] = Content($0) ?? absent }, write: { $0[keyPath: path].value },
      parts: [Part(path: path, absent: operand)])
  }

  /// Maps a field to a text property that is empty if the field is null.
  static func text(_ name: String, _ path: Path<String>) -> RecordField { field(name, path, absent: "") }

  /// Maps a field to an id that is never nil; it is zero if the field is null.
  static func id(_ name: String, _ path: Path<UUID>) -> RecordField {
    RecordField(
      name: name, read: { $1[keyPath: path] = UUID($0) ?? zeroID }, write: { $0[keyPath: path].value },
      parts: [Part(path: path)])
  }

  /// Maps a field to two properties, a time and its zone. They form one field because neither means anything without
  /// the other.
  static func time(_ name: String, _ path: Path<Date?>, zone: Path<String?>) -> RecordField {
    RecordField(
      name: name,
      read: {
        $1[keyPath: path] = Date($0.part(0))
        $1[keyPath: zone] = String($0.part(1))
      },
      write: { record in
        guard let time = record[keyPath: path] else { return .null }
        return .array([time.value, record[keyPath: zone]?.value ?? .null])
      }, parts: [Part(path: path), Part(path: zone, index: 1)])
  }
}

let zeroID = UUID(RecordID(.zero))
