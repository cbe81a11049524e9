public import ChangeHistory
public import Platform
import Home
public import Reasons
public import Wire

extension NodeStatus {
  /// A condition that a person should know about until it is resolved.
  public struct Notice: Hashable, Sendable {
    /// The reason code.
    public let reason: Reason
    /// The notice as a human-readable clause.
    public let text: LocalizableText
    /// What to do next, usually a `waymark` command; nil if nothing helps.
    public let next: Step?
    /// Additional data for programs.
    public let details: Details

    /// The device that the notice concerns; nil if it does not concern a particular device. If the notice lists unseen
    /// devices, this is the one unseen longest.
    public var device: DeviceKey? {
      switch details {
      case .device(let device), .unseen(let device, _): device
      case .valuesMissing(_, let sender): sender?.device
      case .unheard(let revoked, _): revoked.device
      case .massDeletion(let deletion): deletion.device
      case .large(let usage): usage.device
      case .massErase(let erase): erase.device
      case .nothing, .futureDated, .clockSkew, .parked, .damaged, .revoked, .eraseUnheard: nil
      }
    }

    /// The operation that the notice concerns, which ``Node/undo(_:isForced:)`` can undo; nil if there is none.
    public var operation: OperationID? {
      if case .massDeletion(let deletion) = details { deletion.operation } else { nil }
    }

    init(_ reason: Reason, text: LocalizableText? = nil, next: Step? = nil, _ details: Details = .nothing) {
      self.reason = reason
      self.text = text ?? reason.sentence()
      self.next = next ?? reason.next()
      self.details = details
    }

    /// The data of a notice, in addition to its text.
    public enum Details: Hashable, Sendable {
      /// No additional data.
      case nothing
      /// The device that the notice concerns.
      case device(DeviceKey)
      /// The key of the device unseen longest, then all devices not seen for two weeks or more, the longest unseen
      /// first.
      case unseen(DeviceKey, [Unseen])
      /// The number of our own change sets that are dated ahead, and the date of the newest.
      case futureDated(changeSets: Int, newest: Date)
      /// How far the other devices' clocks are ahead of this device's clock; negative if they are behind.
      case clockSkew(milliseconds: Int64)
      /// The number of parked change sets, when the first of them is due, and the names of the devices that wrote them.
      case parked(changeSets: Int, due: Date, deviceNames: [String])
      /// The first of the damaged change sets, and the number of all damaged change sets.
      case damaged([ChangeSetReference], count: Int)
      /// The key that signed the revocation of this device, and when it was signed.
      case revoked(by: DeviceKey, at: Date)
      /// A revoked device, and the members that are not known to have received the revocation.
      case unheard(DeviceReference, notHeard: [DeviceReference])
      /// The number of records that this device's newest erase names, when it was made, and the members that are not
      /// known to have received it.
      case eraseUnheard(records: Int, time: Date, notErased: [DeviceReference])
      /// The number of records that lack values, and the device that sent them without; nil if that is not known.
      case valuesMissing(records: Int, sender: DeviceReference?)
      /// A mass deletion by another device.
      case massDeletion(MassDeletion)
      /// A mass erase by another device, whose values this device still keeps.
      case massErase(MassErase)
      /// A device that has used most of its quota in a lane, or has written more than that.
      case large(Large)
    }

    /// How much of its quota a device has used in one lane.
    public struct Large: Hashable, Sendable, Codable {
      /// The public key that identifies the device.
      public let device: DeviceKey
      /// The name under which this device shows it.
      public let deviceName: String
      /// The lane: `settings` or `records`; or `files`.
      public let lane: String
      /// The bytes that the device has written in the lane and that are stored here, or the size of the files that it has
      /// attached.
      public let bytes: UInt64
      /// The device's quota in the lane, or for files, in bytes.
      public let quota: UInt64
      /// Whether changes by the device were dropped, or files not fetched, because they exceed the quota.
      public let isExceeded: Bool

      private enum CodingKeys: String, CodingKey {
        case device
        case deviceName
        case lane
        case bytes
        case quota
        case isExceeded = "exceeded"
      }
    }

    /// A device not seen for two weeks or more.
    public struct Unseen: Hashable, Sendable, Codable {
      /// The public key that identifies the device.
      public let device: DeviceKey
      /// The name under which this device shows it.
      public let name: String
      /// When the device was last connected; nil if that is not known.
      public let lastSeen: Date?
      /// The time since which the device counts as unseen: when it was last connected; if that is not known, when it
      /// was last in sync; if that is not known either, when it was admitted.
      public let since: Date
    }

    /// A change set, identified by its position in a log.
    public struct ChangeSetReference: Hashable, Sendable, Codable {
      /// The device that wrote the log.
      public let device: DeviceKey
      /// The name under which this device shows the author.
      public let name: String
      /// The lane of the log: `settings` or `records`.
      public let lane: String
      /// The sequence number of the change set in its log.
      public let sequence: UInt64
      /// The id of the change set.
      public let id: String
    }
  }
}

extension NodeStatus.Notice: Codable {
  fileprivate enum CodingKeys: String, CodingKey {
    case reason
    case severity
    case text
    case next
    case device
    case devices
    case changeSets
    case newest
    case skewMilliseconds
    case due
    case deviceNames
    case damaged
    case revokedBy
    case revokedAt
    case name
    case notHeard
    case records
    case notErased
    case recordsLackingValues
    case operation
    case deviceName
    case time
    case kinds = "deleted"
    case erasedKinds = "erased"
    case large
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(reason, forKey: .reason)
    try container.encode(reason.severity, forKey: .severity)
    try container.encode(text, forKey: .text)
    try container.encodeIfPresent(next, forKey: .next)
    switch details {
    case .nothing: break
    case .device(let device): try container.encode(device, forKey: .device)
    case .unseen(let device, let devices):
      try container.encode(device, forKey: .device)
      try container.encode(devices, forKey: .devices)
    case .futureDated(let count, let newest):
      try container.encode(count, forKey: .changeSets)
      try container.encode(newest, forKey: .newest)
    case .clockSkew(let milliseconds): try container.encode(milliseconds, forKey: .skewMilliseconds)
    case .parked(let count, let due, let names):
      try container.encode(count, forKey: .changeSets)
      try container.encode(due, forKey: .due)
      try container.encode(names, forKey: .deviceNames)
    case .damaged(let sets, let count):
      try container.encode(sets, forKey: .changeSets)
      try container.encode(count, forKey: .damaged)
    case .revoked(let device, let time):
      try container.encode(device, forKey: .revokedBy)
      try container.encode(time, forKey: .revokedAt)
    case .unheard(let revoked, let others):
      try container.encode(revoked.device, forKey: .device)
      try container.encode(revoked.name, forKey: .name)
      try container.encode(others, forKey: .notHeard)
    case .eraseUnheard(let records, let time, let others):
      try container.encode(records, forKey: .records)
      try container.encode(time, forKey: .time)
      try container.encode(others, forKey: .notErased)
    case .valuesMissing(let records, let sender):
      try container.encode(records, forKey: .recordsLackingValues)
      try container.encodeIfPresent(sender?.device, forKey: .device)
      try container.encodeIfPresent(sender?.name, forKey: .name)
    case .massDeletion(let deletion):
      try container.encode(deletion.operation, forKey: .operation)
      try container.encode(deletion.device, forKey: .device)
      try container.encode(deletion.deviceName, forKey: .deviceName)
      try container.encode(deletion.time, forKey: .time)
      try container.encode(deletion.kinds, forKey: .kinds)
    case .large(let usage):
      try container.encode(usage.device, forKey: .device)
      try container.encode(usage, forKey: .large)
    case .massErase(let erase):
      try container.encode(erase.device, forKey: .device)
      try container.encode(erase.deviceName, forKey: .deviceName)
      try container.encode(erase.time, forKey: .time)
      try container.encode(erase.due, forKey: .due)
      try container.encode(erase.kinds, forKey: .erasedKinds)
    }
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    reason = try container.decode(Reason.self, forKey: .reason)
    text = try container.decode(LocalizableText.self, forKey: .text)
    next = try container.decodeIfPresent(Step.self, forKey: .next)
    details = try Details(container)
  }
}

extension NodeStatus.Notice.Details {
  /// Decodes the case that the present keys identify.
  fileprivate init(
    _ container: KeyedDecodingContainer<NodeStatus.Notice.CodingKeys>
  ) throws {
    func decode<Value: Decodable>(_ key: NodeStatus.Notice.CodingKeys) throws -> Value {
      try container.decode(Value.self, forKey: key)
    }
    if container.contains(.erasedKinds) {
      self = .massErase(
        MassErase(
          device: try decode(.device), deviceName: try decode(.deviceName), time: try decode(.time),
          due: try decode(.due), kinds: try decode(.erasedKinds)))
    } else if container.contains(.kinds) {
      self = .massDeletion(
        MassDeletion(
          operation: try decode(.operation), device: try decode(.device), deviceName: try decode(.deviceName),
          time: try decode(.time), kinds: try decode(.kinds)))
    } else if container.contains(.large) {
      self = .large(try decode(.large))
    } else if container.contains(.notHeard) {
      self = .unheard(
        DeviceReference(device: try decode(.device), name: try decode(.name)), notHeard: try decode(.notHeard)
      )
    } else if container.contains(.notErased) {
      self = .eraseUnheard(
        records: try decode(.records), time: try decode(.time), notErased: try decode(.notErased))
    } else if container.contains(.recordsLackingValues) {
      let sender = try container.decodeIfPresent(DeviceKey.self, forKey: .device)
      self = .valuesMissing(
        records: try decode(.recordsLackingValues),
        sender: try sender.map { DeviceReference(device: $0, name: try decode(.name)) })
    } else if container.contains(.revokedBy) {
      self = .revoked(by: try decode(.revokedBy), at: try decode(.revokedAt))
    } else if container.contains(.damaged) {
      self = .damaged(try decode(.changeSets), count: try decode(.damaged))
    } else if container.contains(.due) {
      self = .parked(
        changeSets: try decode(.changeSets), due: try decode(.due), deviceNames: try decode(.deviceNames))
    } else if container.contains(.newest) {
      self = .futureDated(changeSets: try decode(.changeSets), newest: try decode(.newest))
    } else if container.contains(.skewMilliseconds) {
      self = .clockSkew(milliseconds: try decode(.skewMilliseconds))
    } else if container.contains(.devices) {
      self = .unseen(try decode(.device), try decode(.devices))
    } else if container.contains(.device) {
      self = .device(try decode(.device))
    } else {
      self = .nothing
    }
  }
}
