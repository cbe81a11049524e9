public import Foundation
public import Home
public import Model
public import Records
import Replication
public import Wire

/// Concurrent changes from several devices, none of which had received the others. One of them shows; the others
/// are kept until the conflict is resolved, on any device.
public struct Conflict: Hashable, Sendable, Codable, Identifiable {
  public let id: String
  /// The kind of the record.
  public let kind: RecordKind
  /// The id of the record.
  public let record: UUID
  /// The name of the record.
  public let name: String?
  /// The field; nil if the conflict is about the whole record.
  public let field: String?
  /// The type of conflict.
  public let reason: Reason
  /// Whether the record is visible now.
  public let isVisible: Bool
  /// The deleted record that hides this one.
  public let hiddenBy: HidingRecord?
  /// The write that shows.
  public let winner: Side
  /// The concurrent writes that do not show.
  public let losers: [Side]

  /// Types of conflicts.
  public enum Reason: String, Hashable, Sendable, Codable {
    /// Several values for one field.
    case field
    /// Several versions of the profile, which is written as a whole.
    case profile
    /// A record was deleted on one device and edited on another.
    case editLostToDelete = "edit-lost-to-delete"
    /// A record was deleted on one device; on another, something was added to it or changed in it.
    case hiddenByParent = "hidden-by-parent"
  }

  /// One of the concurrent writes.
  public struct Side: Hashable, Sendable {
    /// The value that was written; `deleted` for a deletion.
    public let value: ShownValue
    /// The device that wrote it.
    public let device: DeviceKey
    /// The local name of that device.
    public let deviceName: String
    /// The time, by the clock of the writing device.
    public let time: Date
    /// The fields that an edit wrote, if the conflict is about a deletion; otherwise nil.
    public let fields: [ShownValue.Part]?
  }

  /// A deleted record that hides another.
  public struct HidingRecord: Hashable, Sendable, Codable {
    /// The kind of the record.
    public let kind: RecordKind
    /// The id of the record.
    public let record: UUID
    /// The name of the record.
    public let name: String?
  }

  /// The side of a conflict to keep.
  public enum Choice: Hashable, Sendable {
    /// The side that shows; if a record was deleted, it stays deleted.
    case winner
    /// The side that does not show; if a record was deleted, it is restored. Only if there is exactly one loser.
    case loser
    /// The side that a device wrote.
    case device(DeviceKey)
  }

  /// The result of resolving conflicts.
  public struct Resolution: Hashable, Sendable, Codable {
    /// The operation that was written, which can be undone; nil if there was nothing to resolve.
    public let operation: OperationID?
    /// The conflicts that were closed. Resolving one conflict can close others of the same record.
    public let resolved: [Conflict.ID]
    /// The number of conflicts that remain.
    public let remaining: Int
    /// The result, as a sentence.
    public let text: String
    /// The next step, as a `waymark` command.
    public let next: Step?
  }

  /// A possible resolution.
  package struct Option: Codable, Sendable {
    /// The value for `--take`.
    package let take: String
    /// The effect, as the end of a sentence: `keep the current value`.
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
  private enum CodingKeys: CodingKey {
    case value
    case device
    case deviceName
    case time
    case fields
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
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(value, forKey: .value)
    try container.encode(device, forKey: .device)
    try container.encode(deviceName, forKey: .deviceName)
    try container.encode(time, forKey: .time)
    try fields?.encodeFields(to: container.superEncoder(forKey: .fields))
  }
}
