public import Foundation
import Home
package import Records
package import Replication
import Sodium
package import Storage
package import Wire

/// A record of the store as a value: read it, change it, save it.
///
/// Each kind of record is a plain struct: ``Trip``, ``Lodging``, ``Transportation``, ``Activity``,
/// ``Organization``, ``Address``, ``Attachment``, ``Habit``, ``HabitCategory``, ``HabitEntry``, ``Profile``. Records
/// refer to one another by id, so that a value can be kept, compared and passed to any thread.
///
/// Saving writes only the fields that were changed since the value was read, so changes of other devices to other
/// fields are kept. Continue with the value that saving returns, or edit in one step with ``Node/update(_:_:_:)``:
///
/// ```swift
/// var trip = Trip(name: "Rome")
/// trip = try await node.save(trip)
/// trip.notes = "Take the night train"
/// trip = try await node.save(trip)
/// try await node.update(Trip.self, trip.id) { $0.isProtected = true }
/// ```
public protocol Record: Identifiable, Hashable, Sendable where ID == UUID {
  /// Creates a record with only an id.
  init(id: UUID)
  /// The state in which the record was read.
  var origin: RecordOrigin { get set }
  /// Maps the properties to fields of the store.
  static var fields: RecordFields<Self> { get }
}

/// The state in which a record was read; saving compares with it to find what was changed.
///
/// It is not part of the record's value: any two origins are equal.
public struct RecordOrigin: Hashable, Sendable {
  /// The values that the store held; nil for a record created here.
  var values: [FieldNumber: Value]?

  /// The origin of a new record.
  public init() {}

  init(_ values: [FieldNumber: Value]) { self.values = values }

  public static func == (left: RecordOrigin, right: RecordOrigin) -> Bool { true }

  public func hash(into hasher: inout Hasher) {}
}

extension Record {
  /// The record in a row.
  package init(_ row: RecordRow) {
    self.init(id: UUID(row.key.id))
    for field in Self.fields.all { field.read(row.fields[field.number] ?? .null, &self) }
    origin = RecordOrigin(row.fields)
  }

  package static var kind: Kind { fields.kind }

  package var key: RecordKey { RecordKey(kind: Self.kind.number, id: RecordID(id)) }

  /// The values of all fields.
  var values: [FieldNumber: Value] {
    Dictionary(uniqueKeysWithValues: Self.fields.all.map { ($0.number, $0.write(self)) })
  }

  /// The fields that were changed since the record was read, with their values; for a new record, all fields with a
  /// value.
  ///
  /// Values that reading can't represent (a time beyond the calendar, a word of a newer version) do not count as
  /// changed.
  var changes: [FieldNumber: Value] {
    var before = Self(id: id)
    for field in Self.fields.all { field.read(origin.values?[field.number] ?? .null, &before) }
    let old = before.values
    return values.filter { number, value in
      origin.values == nil ? !value.isEmpty : !isSame(value, old[number])
    }
  }
}

extension UUID {
  /// An id for a new record: version 7 (RFC 9562), so that records created one after the other are stored together.
  public static func record() -> UUID {
    UUID(RecordID(milliseconds: Date.now.milliseconds, random: random16()))
  }

  package init(_ id: some Identifier16) {
    let bytes = id.bytes
    self.init(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
        bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }
}

extension RecordID {
  package init(_ id: UUID) {
    let bytes = withUnsafeBytes(of: id.uuid) { Array($0) }
    guard let raw = RecordID(bytes: bytes) else { preconditionFailure("a UUID of another size") }
    self = raw
  }
}
