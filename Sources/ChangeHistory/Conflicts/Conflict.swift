public import Platform
import Home
public import Model
public import Reasons
public import Records
import Replication
public import Wire

/// Concurrent changes by several devices, none of which had received the changes of the others. One of the changes
/// wins and is displayed. The others are kept until someone resolves the conflict on any device.
public struct Conflict: Hashable, Sendable, Codable, Identifiable {
  public let id: String
  /// The kind of the record.
  public let kind: RecordKind
  /// The id of the record.
  public let record: UUID
  /// The name of the record; nil if it has none.
  public let name: String?
  /// The field; nil if the conflict is about the whole record.
  public let field: String?
  /// The type of conflict.
  public let reason: Reason
  /// Whether the record is currently visible.
  public let isVisible: Bool
  /// The nearest deleted record that hides this one, which may be this record itself; nil unless the conflict is about
  /// a deletion.
  public let hiddenBy: HidingRecord?
  /// The write that won and is currently displayed.
  public let winner: Side
  /// The concurrent writes that lost and are not displayed.
  public let losers: [Side]

  /// Returns the id of the record as that of a record of a kind; nil if the record is of another kind.
  public func recordID<Owner: Record>(as type: Owner.Type) -> Owner.ID? { Identifier(record, kind) }

  /// The types of conflicts.
  public enum Reason: String, Hashable, Sendable, Codable {
    /// Several devices wrote different values to one field.
    case field
    /// Several devices wrote different versions of the profile, which is always written as a whole.
    case profile
    /// A record was deleted on one device and edited on another.
    case editLostToDelete = "edit-lost-to-delete"
    /// A record was deleted on one device, while another device added or changed a record that belongs to it.
    case hiddenByParent = "hidden-by-parent"
  }

  /// One of the concurrent writes in a conflict.
  public struct Side: Hashable, Sendable {
    /// The value that was written. For a deletion this is the text `deleted`, and for an edit that a deletion hides,
    /// `edited`.
    public let value: ShownValue
    /// The device that made the write.
    public let device: DeviceKey
    /// The name of that device, as shown on this device.
    public let deviceName: String
    /// The time of the write, by the writing device's clock.
    public let time: Date
    /// The fields that this side wrote, if it is an edit that a deletion hides; otherwise nil.
    public let fields: [ShownValue.Part]?
    /// Whether the value of this side was erased.
    public let isErased: Bool
  }

  /// A deleted record that hides another record, or itself.
  public struct HidingRecord: Hashable, Sendable, Codable {
    /// The kind of the record.
    public let kind: RecordKind
    /// The id of the record.
    public let record: UUID
    /// The name of the record; nil if it has none.
    public let name: String?
  }

  /// The side of a conflict to keep.
  public enum Choice: Hashable, Sendable {
    /// The side that won. If a record was deleted, it stays deleted.
    case winner
    /// The side that lost. If a record was deleted, it is restored. This choice is valid only if exactly one side
    /// lost, where all edits of a record that a deletion hides count as one side.
    case loser
    /// The side that the given device wrote.
    case device(DeviceKey)
  }

  /// The result of resolving conflicts.
  public struct Resolution: Hashable, Sendable, Codable {
    /// The operation that was written, which can be undone; nil if there was nothing to resolve.
    public let operation: OperationID?
    /// The conflicts that were resolved. Resolving one conflict can also resolve others, such as those of the same
    /// record.
    public let resolved: [Conflict.ID]
    /// The number of conflicts that remain.
    public let remaining: Int
    /// A sentence that describes the result.
    public let text: LocalizableText
    /// The next step, as a `waymark` command.
    package let next: Step?
  }

  /// One way to resolve a conflict.
  package struct Option: Codable, Sendable {
    /// The argument for the option `--take`.
    package let take: String
    /// The effect, worded as the end of a sentence, for example `keep the current value`.
    package let effect: String
    package let command: String
  }

  private enum CodingKeys: String, CodingKey {
    case id
    case kind
    case record
    case name
    case field
    case reason
    case isVisible = "visible"
    case hiddenBy
    case winner
    case losers
  }
}

extension Conflict.Side: Codable {
  private enum CodingKeys: String, CodingKey {
    case value
    case device
    case deviceName
    case time
    case fields
    case isErased = "erased"
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    value = try container.decode(ShownValue.self, forKey: .value)
    device = try container.decode(DeviceKey.self, forKey: .device)
    deviceName = try container.decode(String.self, forKey: .deviceName)
    time = try container.decode(Date.self, forKey: .time)
    fields =
      container.contains(.fields)
      ? try [ShownValue.Part](fieldsFrom: container.superDecoder(forKey: .fields)) : nil
    isErased = try container.decodeIfPresent(Bool.self, forKey: .isErased) ?? false
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(value, forKey: .value)
    try container.encode(device, forKey: .device)
    try container.encode(deviceName, forKey: .deviceName)
    try container.encode(time, forKey: .time)
    try fields?.encodeFields(to: container.superEncoder(forKey: .fields))
    if isErased { try container.encode(true, forKey: .isErased) }
  }
}
