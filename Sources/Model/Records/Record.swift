package import Platform
public import Records
package import Replication
package import Storage
import Wire

/// A record from the store, as a value that can be read, changed and saved.
///
/// Each kind of record is a plain struct: ``Trip``, ``Lodging``, ``Transportation``, ``Leg``, ``Activity``, ``Organization``,
/// ``Address``, ``Attachment``, ``Habit``, ``HabitCategory``, ``HabitEntry``, ``Profile``. Records refer to one
/// another by id, so a value can be kept, compared and passed to any thread.
///
/// Saving writes only the fields that were changed since the value was read, so other devices' changes to other
/// fields are kept. After saving, continue with the value that the call returns; or edit a record in one step with
/// ``Node/update(_:_:)``:
///
/// ```swift
/// var trip = Trip(name: "Rome")
/// trip = try await node.save(trip)
/// trip.notes = "Take the night train"
/// trip = try await node.save(trip)
/// try await node.update(trip.id) { $0.isProtected = true }
/// ```
///
/// Every record can be encoded, for example to restore a screen with its unsaved edits: a decoded record is saved as
/// if it had never been encoded.
public protocol Record: Identifiable, Hashable, Codable, Sendable where ID == Identifier<Self> {
  /// The type of the record's id.
  associatedtype ID = Identifier<Self>
  /// Creates a record that has only an id.
  init(id: ID)
  /// The state of the record when it was read.
  var origin: RecordOrigin { get set }
  /// Maps the record's properties to fields in the store.
  static var fields: RecordFields<Self> { get }
}

/// The state of a record when it was read. Saving compares the record with this state to find the changed fields.
///
/// An origin is not part of the record's value, so any two origins are equal.
public struct RecordOrigin: Hashable, Sendable {
  /// The values that the store had when the record was read; nil for a record that was not read from the store.
  var values: [FieldNumber: Value]?

  /// Creates the origin of a new record.
  public init() {}

  init(_ values: [FieldNumber: Value]) { self.values = values }

  public static func == (left: RecordOrigin, right: RecordOrigin) -> Bool { true }

  public func hash(into hasher: inout Hasher) {}
}

extension Record {
  /// Creates a record from a row of the store.
  package init(_ row: RecordRow) {
    self.init(id: ID(row.key.id))
    for field in Self.fields.all { field.read(row.fields[field.number] ?? .null, &self) }
    origin = RecordOrigin(row.fields)
  }

  package static var kind: Kind { fields.kind }

  package var key: RecordKey { RecordKey(kind: Self.kind.number, id: RecordID(id)) }

  /// The name of the field that a property shows, as in ``WaymarkError/field`` and ``Conflict/field``.
  ///
  /// - Returns: nil if no field holds the property.
  public static func fieldName(of property: PartialKeyPath<Self>) -> String? { fields.field(property)?.name }

  /// The id without the kind, which a value of type `any Record` has too.
  package var uuid: UUID { id.uuid }

  /// The values of all fields.
  var values: [FieldNumber: Value] {
    Dictionary(Self.fields.all.map { ($0.number, $0.write(self)) }, uniquingKeysWith: { first, _ in first })
  }

  /// The values of the fields that were changed since the record was read; for a new record, of all fields that have
  /// a value.
  ///
  /// A stored value that the property can't represent, such as a time beyond the calendar or a word from a newer
  /// version, does not count as changed.
  var changes: [FieldNumber: Value] {
    var before = Self(id: id)
    for field in Self.fields.all { field.read(origin.values?[field.number] ?? .null, &before) }
    let old = before.values
    return values.filter { number, value in
      origin.values == nil ? !value.isEmpty : !isSame(value, old[number])
    }
  }
}

extension RecordKind {
  /// The kind of a type of records, such as one of an app's own.
  public init<Owner: Record>(of type: Owner.Type) { self.init(rawValue: Owner.kind.name) }
}
