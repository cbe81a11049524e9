public import Foundation
import Home
import Model
public import Records
import Replication
public import Wire

/// A large deletion by another device that nobody has undone or acknowledged.
public struct MassDeletion: Hashable, Sendable, Identifiable {
  /// Undoes it with ``Node/undo(_:isForced:)``.
  public let operation: OperationID
  /// Who deleted.
  public let device: DeviceKey
  /// What that device is called here.
  public let deviceName: String
  /// When, by the clock of who deleted.
  public let time: Date
  /// The kinds that lost much, the largest first.
  public let kinds: [KindCount]

  public var id: OperationID { operation }

  package init(
    operation: OperationID, device: DeviceKey, deviceName: String, time: Date, kinds: [KindCount]
  ) {
    self.operation = operation
    (self.device, self.deviceName) = (device, deviceName)
    (self.time, self.kinds) = (time, kinds)
  }

  /// What was deleted of one kind.
  public struct KindCount: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// How many were deleted.
    public let deleted: Int
    /// How many there were.
    public let before: Int

    private enum CodingKeys: String, CodingKey {
      case kind
      case deleted = "count"
      case before = "of"
    }
  }
}

extension MassDeletion {
  init(_ tally: MassDeletions.Tally, deviceName: String) {
    self.init(
      operation: tally.operation, device: tally.device, deviceName: deviceName,
      time: Date(milliseconds: tally.time),
      kinds: tally.large.map { kind, count in
        KindCount(kind: RecordKind(kind), deleted: count.deleted, before: count.before)
      })
  }
}
