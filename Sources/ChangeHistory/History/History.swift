public import Platform
public import Model
public import Records
import Replication
import Storage
public import Wire

/// A namespace for the types that describe the history of the circle and of single records.
public enum History {
  /// One action of a user, such as a change in an app, an import or an undo.
  public struct Operation: Hashable, Sendable, Codable, Identifiable {
    public let id: OperationID
    /// The name of the action, such as `trip.add`, `import`, `undo`.
    public let verb: String
    /// The time of the action, by the acting device's clock.
    public let time: Date
    /// The device that performed the action.
    public let device: DeviceKey
    /// The name of that device, as shown on this device.
    public let deviceName: String
    /// Whether that device is this device.
    public let isOwn: Bool
    /// The operation that this one undid; nil if this one is not an undo.
    public let undoes: OperationID?
    /// The operation that undoes this one; nil if this one is in effect.
    public let undoneBy: OperationID?
    /// The numbers of records that were added, changed, deleted and restored, by kind.
    public let counts: [RecordCounts]
    /// The record that was written; nil unless the operation wrote exactly one.
    public package(set) var record: RecordReference?
    /// The names of the fields that were written, if the operation wrote only part of a single record; otherwise
    /// empty.
    public package(set) var fields: [String]

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
    /// Whether there are older writes that are not included.
    public let hasMore: Bool

    private enum CodingKeys: String, CodingKey {
      case record
      case writes
      case hasMore = "more"
    }
  }

  /// The record that a history is about.
  public struct Record: Hashable, Sendable, Codable, Identifiable {
    /// The kind of the record.
    public let kind: RecordKind
    public let id: UUID
    /// The name of the record; nil if it has none.
    public let name: String?
    /// Whether the record is visible.
    public let state: State
    /// The newest erase of the record; nil if it was never erased.
    public let erasure: Erasure?

    /// Whether a record is visible.
    public enum State: String, Hashable, Sendable, Codable {
      /// Visible.
      case visible
      /// Hidden, because it belongs to a deleted record.
      case hidden
      /// Deleted, but it can be restored.
      case deleted
    }
  }

  /// When and by which device a record was erased.
  public struct Erasure: Hashable, Sendable, Codable {
    /// The time of the erase, by the erasing device's clock.
    public let time: Date
    /// The device that erased the record.
    public let device: DeviceKey
    /// The name of that device, as shown on this device.
    public let deviceName: String
  }

  /// One write to a record.
  public struct Write: Hashable, Sendable, Codable {
    /// The operation that the write is part of.
    public let id: OperationID
    /// The name of the action, such as `trip.edit`.
    public let verb: String
    /// The time of the write, by the writing device's clock.
    public let time: Date
    /// The device that made the write.
    public let device: DeviceKey
    /// The name of that device, as shown on this device.
    public let deviceName: String
    /// Whether that device is this device.
    public let isOwn: Bool
    /// The operation that this one undid; nil if this one is not an undo.
    public let undoes: OperationID?
    /// The operation that undoes this one; nil if this one is in effect.
    public let undoneBy: OperationID?
    /// Whether a concurrent deletion hides this write.
    public let isHidden: Bool
    /// The effect of the write on each field.
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

  /// The effect of a write on one field. The value of the field `life` is `alive` or `deleted`.
  public struct Field: Hashable, Sendable, Codable {
    /// The name of the field.
    public let field: String
    /// The value that was written; none if it was erased.
    public let value: ShownValue
    /// Whether the value that was written was erased.
    public let isErased: Bool
    /// The value that the author saw before the write; none if it was erased.
    public let before: ShownValue
    /// Whether the value that the author saw before the write was erased.
    public let isBeforeErased: Bool
    /// Whether the value is still displayed and, if not, why.
    public let state: State
    /// The concurrent write that won over this one; nil if none did.
    public let lostTo: OperationReference?

    /// The state of a write to a field.
    public enum State: String, Hashable, Sendable, Codable {
      /// The value is displayed.
      case shows
      /// A later write, whose author had seen this one, replaced it.
      case replaced
      /// A concurrent write won over this one.
      case lost
    }
  }
}

// Documents contain the members about erased values only where they apply.

extension History.Record {
  private enum CodingKeys: String, CodingKey {
    case kind
    case id
    case name
    case state
    case erasure
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    kind = try container.decode(RecordKind.self, forKey: .kind)
    id = try container.decode(UUID.self, forKey: .id)
    name = try container.decodeIfPresent(String.self, forKey: .name)
    state = try container.decode(State.self, forKey: .state)
    erasure = try container.decodeIfPresent(History.Erasure.self, forKey: .erasure)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind, forKey: .kind)
    try container.encode(id, forKey: .id)
    try container.encodeIfPresent(name, forKey: .name)
    try container.encode(state, forKey: .state)
    if let erasure { try container.encode(erasure, forKey: .erasure) }
  }
}

extension History.Field {
  private enum CodingKeys: String, CodingKey {
    case field
    case value
    case isErased = "erased"
    case before
    case isBeforeErased = "beforeErased"
    case state
    case lostTo
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    field = try container.decode(String.self, forKey: .field)
    value = try container.decode(ShownValue.self, forKey: .value)
    isErased = try container.decodeIfPresent(Bool.self, forKey: .isErased) ?? false
    before = try container.decode(ShownValue.self, forKey: .before)
    isBeforeErased = try container.decodeIfPresent(Bool.self, forKey: .isBeforeErased) ?? false
    state = try container.decode(State.self, forKey: .state)
    lostTo = try container.decodeIfPresent(OperationReference.self, forKey: .lostTo)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(field, forKey: .field)
    try container.encode(value, forKey: .value)
    if isErased { try container.encode(true, forKey: .isErased) }
    try container.encode(before, forKey: .before)
    if isBeforeErased { try container.encode(true, forKey: .isBeforeErased) }
    try container.encode(state, forKey: .state)
    try container.encodeIfPresent(lostTo, forKey: .lostTo)
  }
}
