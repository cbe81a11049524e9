public import Foundation
public import Model
public import Records
import Replication
import Storage
public import Wire

/// What was done in the circle, and to one record.
public enum History {
  /// Something that a person did: one change of an app, one import, one undo.
  public struct Operation: Hashable, Sendable, Codable, Identifiable {
    public let id: OperationID
    /// What it was, as `trip.add`, `import`, `undo`.
    public let verb: String
    /// When, by the clock of who did it.
    public let time: Date
    /// Who did it.
    public let device: DeviceKey
    /// What that device is called here.
    public let deviceName: String
    /// Whether this device did it.
    public let isOwn: Bool
    /// The operation that this one undid.
    public let undoes: OperationID?
    /// The operation by which this one is undone now; nil if it counts.
    public let undoneBy: OperationID?
    /// How many records of each kind were written.
    public let counts: [RecordCounts]
    /// The only record that was written; nil if there were several.
    public let record: RecordReference?
    /// The fields of the only record, where not all of it was written.
    public let fields: [String]

    private enum CodingKeys: String, CodingKey {
      case id
      case verb
      case time
      case device
      case deviceName
      case isOwn = "own"
      case undoes
      case undoneBy
      case counts
      case record
      case fields
    }
  }

  /// What was written to one record, newest first.
  public struct OfRecord: Hashable, Sendable, Codable {
    /// The record.
    public let record: Record
    /// What was written to it, newest first.
    public let writes: [Write]
    /// Whether there are older writes.
    public let hasMore: Bool

    private enum CodingKeys: String, CodingKey {
      case record
      case writes
      case hasMore = "more"
    }
  }

  /// The record that a history is of.
  public struct Record: Hashable, Sendable, Codable, Identifiable {
    /// Its kind.
    public let kind: RecordKind
    public let id: UUID
    /// What it is called.
    public let name: String?
    /// Whether people can see it.
    public let state: State

    /// Whether people can see a record.
    public enum State: String, Hashable, Sendable, Codable {
      /// People can see it.
      case visible
      /// It belongs to a record that is deleted.
      case hidden
      /// It was deleted, and can be brought back.
      case deleted
    }
  }

  /// One write to a record.
  public struct Write: Hashable, Sendable, Codable {
    /// The operation that wrote it.
    public let id: OperationID
    /// What it was, as `trip.edit`.
    public let verb: String
    /// When, by the clock of who did it.
    public let time: Date
    /// Who did it.
    public let device: DeviceKey
    /// What that device is called here.
    public let deviceName: String
    /// Whether it was this device.
    public let isOwn: Bool
    /// The operation that this one undid.
    public let undoes: OperationID?
    /// The operation by which it is undone now; nil if it counts.
    public let undoneBy: OperationID?
    /// Whether a deletion that did not know of it keeps it from being seen.
    public let isHidden: Bool
    /// What it did to each field.
    public let fields: [Field]

    private enum CodingKeys: String, CodingKey {
      case id
      case verb
      case time
      case device
      case deviceName
      case isOwn = "own"
      case undoes
      case undoneBy
      case isHidden = "hidden"
      case fields
    }
  }

  /// What a write did to one field; `life` is whether the record is there: `alive` or `deleted`.
  public struct Field: Hashable, Sendable, Codable {
    /// The name of the field.
    public let field: String
    /// What was written.
    public let value: ShownValue
    /// What its author saw there.
    public let before: ShownValue
    /// What became of it.
    public let state: State
    /// The write that won over it without knowing of it.
    public let lostTo: Author?

    /// What became of a write to a field.
    public enum State: String, Hashable, Sendable, Codable {
      /// It is what people see.
      case shows
      /// A later write that knew of it has taken its place.
      case replaced
      /// A write that did not know of it has won.
      case lost
    }
  }

  /// Which operation, and who did it when.
  public struct Author: Hashable, Sendable, Codable, Identifiable {
    public let id: OperationID
    /// What it was, as `trip.edit`.
    public let verb: String
    /// When, by the clock of who did it.
    public let time: Date
    /// Who did it.
    public let device: DeviceKey
    /// What that device is called here.
    public let deviceName: String
    /// Whether it was this device.
    public let isOwn: Bool

    private enum CodingKeys: String, CodingKey {
      case id
      case verb
      case time
      case device
      case deviceName
      case isOwn = "own"
    }
  }
}
