public import Platform
import Home
import Model
public import Records
import Replication
public import Wire

/// A large deletion by another device that has been neither undone nor acknowledged.
public struct MassDeletion: Hashable, Sendable, Identifiable {
  /// The operation that deleted the records. ``Node/undo(_:isForced:)`` can undo it.
  public let operation: OperationID
  /// The device that deleted the records.
  public let device: DeviceKey
  /// The name of that device, as shown on this device.
  public let deviceName: String
  /// The time of the deletion, by the deleting device's clock.
  public let time: Date
  /// The kinds of which many records were deleted, with the largest number of deleted records first.
  public let kinds: [KindCount]

  public var id: OperationID { operation }

  package init(
    operation: OperationID, device: DeviceKey, deviceName: String, time: Date, kinds: [KindCount]
  ) {
    self.operation = operation
    (self.device, self.deviceName) = (device, deviceName)
    (self.time, self.kinds) = (time, kinds)
  }

  /// The number of deleted records of one kind.
  public struct KindCount: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// The number of deleted records.
    public let deleted: Int
    /// The number of visible records of this kind before the deletion.
    public let before: Int

    private enum CodingKeys: String, CodingKey {
      case kind
      case deleted = "count"
      case before = "of"
    }
  }
}

extension MassDeletion {
  init(_ tally: MassDeletions.Tally, deviceName: String, _ schema: Schema) {
    self.init(
      operation: tally.operation, device: tally.device, deviceName: deviceName,
      time: Date(milliseconds: tally.time),
      kinds: tally.large.map { kind, count in
        KindCount(kind: schema.name(kind), deleted: count.deleted, before: count.before)
      })
  }
}
