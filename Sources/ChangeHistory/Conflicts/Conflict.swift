public import Foundation
public import Home
public import Model
public import Records
import Replication
public import Wire

/// Changes that were made on several devices at once, none of them knowing of the others: one of them shows, and the
/// others are kept until somebody decides, on any device.
public struct Conflict: Hashable, Sendable, Codable, Identifiable {
  public let id: String
  /// The kind of the record.
  public let kind: RecordKind
  /// The id of the record.
  public let record: UUID
  /// What the record is called.
  public let name: String?
  /// The field; nil where it is about the whole record.
  public let field: String?
  /// What sort of conflict it is.
  public let reason: Reason
  /// Whether people can see the record now.
  public let isVisible: Bool
  /// The deleted record that hides this one.
  public let hiddenBy: HidingRecord?
  /// What shows.
  public let winner: Side
  /// What was written at the same time and does not show.
  public let losers: [Side]

  /// What sort of conflict it is.
  public enum Reason: String, Hashable, Sendable, Codable {
    /// One field was given several values.
    case field
    /// The profile, which is one value, was written several times.
    case profile
    /// A record was deleted, and edited at the same time.
    case editLostToDelete = "edit-lost-to-delete"
    /// A record was deleted, and something was added to it or edited in it at the same time.
    case hiddenByParent = "hidden-by-parent"
  }

  /// One of the writes.
  public struct Side: Hashable, Sendable {
    /// What it wrote; of a deletion, `deleted`.
    public let value: ShownValue
    /// Who wrote it.
    public let device: DeviceKey
    /// What that device is called here.
    public let deviceName: String
    /// When, by the clock of who wrote it.
    public let time: Date
    /// What an edit wrote, by field, where the conflict is about a deletion; else nil.
    public let fields: [ShownValue.Part]?
  }

  /// A record that was deleted.
  public struct HidingRecord: Hashable, Sendable, Codable {
    /// The kind of the record.
    public let kind: RecordKind
    /// The id of the record.
    public let record: UUID
    /// What it is called.
    public let name: String?
  }

  /// Which side is to show.
  public enum Choice: Hashable, Sendable {
    /// What shows now; where something was deleted, it stays deleted.
    case winner
    /// What does not show; where something was deleted, it comes back. Only where there is one loser.
    case loser
    /// What a device wrote.
    case device(DeviceKey)
  }

  /// What a decision came to.
  public struct Resolution: Hashable, Sendable, Codable {
    /// The operation that says it, to undo it; nil if there was nothing to decide.
    public let operation: OperationID?
    /// The conflicts that it closed: a decision about a record closes others about the same.
    public let resolved: [Conflict.ID]
    /// How many still wait.
    public let remaining: Int
    /// A sentence for people.
    public let text: String
    /// The command of `waymark` that helps with the rest.
    public let next: Step?
  }

  /// A decision that is possible.
  package struct Option: Codable, Sendable {
    /// The side, as it is typed.
    package let take: String
    /// The effect, as the end of a sentence: `keep what shows now`.
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
