// Sources/store.md, "Held erases"

public import Platform
import Home
import Membership
import Model
import Reasons
public import Records
import Replication
import Storage
public import Wire

/// A mass erase by another device. Its records are hidden, and this device keeps their values until ``due``.
///
/// ``Node/revoke(_:withInvited:undoingRevocations:discarding:beforeErase:rootKey:)`` with `beforeErase` brings them back.
public struct MassErase: Hashable, Sendable, Identifiable {
  /// The device that erased the records.
  public let device: DeviceKey
  /// The name of that device, as shown on this device.
  public let deviceName: String
  /// The time of the first of the erases, by the erasing device's clock.
  public let time: Date
  /// When this device takes the first of the values, by its own clock.
  public let due: Date
  /// The kinds of the erased records, with the largest number of records first. Addresses, which are erased with their
  /// organizations, are listed too.
  public let kinds: [KindCount]

  public var id: DeviceKey { device }

  /// The number of erased records of one kind.
  public struct KindCount: Hashable, Sendable, Codable {
    /// The kind of the records.
    public let kind: RecordKind
    /// The number of erased records.
    public let count: Int
  }
}

extension MassErase {
  init(_ erase: Storage.MassErase, deviceName: String, _ schema: Schema) {
    self.init(
      device: erase.device, deviceName: deviceName, time: Date(milliseconds: erase.since.milliseconds),
      due: Date(milliseconds: erase.due),
      kinds: erase.records.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        .map { KindCount(kind: schema.name($0.key), count: $0.value) })
  }
}

extension NodeInspection {
  /// The notices about held mass erases.
  func massEraseNotices() throws -> [NodeStatus.Notice] {
    try store.massErases().map { held in
      let erase = MassErase(held, deviceName: connections.name(of: held.device), store.schema)
      let parts = erase.kinds.map { item in
        let kind = store.schema.kind(named: item.kind.rawValue)
        return "\(item.count) \(item.count == 1 ? kind?.name ?? "record" : kind?.plural ?? "records")"
      }
      let isRevoked = circle.evaluation.members[held.device] == nil
      return NodeStatus.Notice(
        .massErase,
        text: "\(erase.deviceName) erased \(parts.joined(separator: ", ")) on "
          + "\(CivilTime.sentenceText(erase.time.milliseconds)); this device keeps their values until "
          + "\(CivilTime.sentenceText(erase.due.milliseconds)), in case that was not intended",
        next: isRevoked
          ? .waymark("members") : .waymark("revoke \(shellWord(erase.deviceName)) --before-erase"),
        .massErase(erase))
    }
  }
}
