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
/// refer to one another by id, never by reference, so that a value can be kept, compared and handed to any thread.
///
/// Saving writes the fields that were changed since the value was read, and no others: what another device has
/// changed in other fields stays. Go on with the value that saving returns, or edit in one step with
/// ``Node/update(_:_:_:)``:
///
/// ```swift
/// var trip = Trip(name: "Rome")
/// trip = try await node.save(trip)
/// trip.notes = "Take the night train"
/// trip = try await node.save(trip)
/// try await node.update(Trip.self, trip.id) { $0.isProtected = true }
/// ```
public protocol Record: Identifiable, Hashable, Sendable where ID == UUID {
  /// Makes a record with an id and nothing else.
  init(id: UUID)
  /// What the record was read as.
  var origin: RecordOrigin { get set }
  /// How the properties stand in the store.
  static var fields: RecordFields<Self> { get }
}

/// What a record was read as: by this, saving knows what has been changed since.
///
/// It is no part of what a record says: any two are equal.
public struct RecordOrigin: Hashable, Sendable {
  /// What the store held; nil for a record that was made here.
  var values: [FieldNumber: Value]?

  /// The origin of a record that no store has held yet.
  public init() {}

  init(_ values: [FieldNumber: Value]) { self.values = values }

  public static func == (left: RecordOrigin, right: RecordOrigin) -> Bool { true }

  public func hash(into hasher: inout Hasher) {}
}

extension Record {
  /// The record that a row holds.
  package init(_ row: RecordRow) {
    self.init(id: UUID(row.key.id))
    for field in Self.fields.all { field.read(row.fields[field.number] ?? .null, &self) }
    origin = RecordOrigin(row.fields)
  }

  package static var kind: Kind { fields.kind }

  package var key: RecordKey { RecordKey(kind: Self.kind.number, id: RecordID(id)) }

  /// What each field shall hold.
  var values: [FieldNumber: Value] {
    Dictionary(uniqueKeysWithValues: Self.fields.all.map { ($0.number, $0.write(self)) })
  }

  /// The fields that were changed since the record was read, and what they shall hold; all that say something if it
  /// was made here.
  ///
  /// What reading has cut short (a time beyond the calendar, a word of a newer version) is no change.
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
  /// An id for a new record: version 7 (RFC 9562), so that records made one after the other lie side by side.
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
