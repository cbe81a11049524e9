public import Foundation
public import Model
public import Records
import Replication
import Storage
public import Wire

/// The history of the circle, and of single records.
public enum History {
  /// One action of a user: a change in an app, an import, an undo.
  public struct Operation: Hashable, Sendable, Codable, Identifiable {
    public let id: OperationID
    /// The name of the action, such as `trip.add`, `import`, `undo`.
    public let verb: String
    /// The time, by the clock of the acting device.
    public let time: Date
    /// The device that did it.
    public let device: DeviceKey
    /// The local name of that device.
    public let deviceName: String
    /// Whether it was this device.
    public let isOwn: Bool
    /// The operation that this one undid.
    public let undoes: OperationID?
    /// The operation that undoes this one; nil if this one is in effect.
    public let undoneBy: OperationID?
    /// How many records of each kind were written.
    public let counts: [RecordCounts]
    /// The record that was written; nil if there were several.
    public let record: RecordReference?
    /// The fields that were written, if only part of a single record was.
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

  /// The writes to one record, newest first.
  public struct OfRecord: Hashable, Sendable, Codable {
    /// The record.
    public let record: Record
    /// The writes, newest first.
    public let writes: [Write]
    /// Whether there are older writes.
    public let hasMore: Bool

    private enum CodingKeys: String, CodingKey {
      case record
      case writes
      case hasMore = "more"
    }
  }

  /// The record of a history.
  public struct Record: Hashable, Sendable, Codable, Identifiable {
    /// Its kind.
    public let kind: RecordKind
    public let id: UUID
    /// The name of the record.
    public let name: String?
    /// Whether the record is visible.
    public let state: State

    /// Whether a record is visible.
    public enum State: String, Hashable, Sendable, Codable {
      /// Visible.
      case visible
      /// Hidden, because it belongs to a deleted record.
      case hidden
      /// Deleted; can be restored.
      case deleted
    }
  }

  /// One write to a record.
  public struct Write: Hashable, Sendable, Codable {
    /// The operation that wrote it.
    public let id: OperationID
    /// The name of the action, such as `trip.edit`.
    public let verb: String
    /// The time, by the clock of the writing device.
    public let time: Date
    /// The device that wrote it.
    public let device: DeviceKey
    /// The local name of that device.
    public let deviceName: String
    /// Whether it was this device.
    public let isOwn: Bool
    /// The operation that this one undid.
    public let undoes: OperationID?
    /// The operation that undoes this one; nil if this one is in effect.
    public let undoneBy: OperationID?
    /// Whether a concurrent deletion hides this write.
    public let isHidden: Bool
    /// The effect on each field.
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

  /// The effect of a write on one field. The field `life` is `alive` or `deleted`.
  public struct Field: Hashable, Sendable, Codable {
    /// The name of the field.
    public let field: String
    /// The value that was written.
    public let value: ShownValue
    /// The value that the author saw before.
    public let before: ShownValue
    /// Whether the value shows.
    public let state: State
    /// The concurrent write that won over this one.
    public let lostTo: Author?

    /// The state of a write to a field.
    public enum State: String, Hashable, Sendable, Codable {
      /// The value shows.
      case shows
      /// A later write, made with knowledge of this one, replaced it.
      case replaced
      /// A concurrent write won.
      case lost
    }
  }

  /// An operation, and the device and time of it.
  public struct Author: Hashable, Sendable, Codable, Identifiable {
    public let id: OperationID
    /// The name of the action, such as `trip.edit`.
    public let verb: String
    /// The time, by the clock of the acting device.
    public let time: Date
    /// The device that did it.
    public let device: DeviceKey
    /// The local name of that device.
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
