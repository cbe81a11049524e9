public import Foundation
public import Wire

extension NodeStatus {
  /// Something that a person should know until it is resolved.
  public struct Notice: Hashable, Sendable {
    /// The reason code.
    public let reason: Reason
    /// A human-readable clause.
    public let text: String
    /// What to do next, usually a `waymark` command; nil if nothing helps.
    public let next: Step?
    /// More data for programs.
    public let details: Details

    /// The device that it concerns, if it concerns a single one.
    public var device: DeviceKey? {
      switch details {
      case .device(let device), .unseen(let device, _): device
      case .unheard(let revoked, _): revoked.device
      case .massDeletion(let deletion): deletion.device
      case .none, .futureDated, .clockSkew, .parked, .damaged, .revoked: nil
      }
    }

    /// The operation that it concerns, if any; see ``Node/undo(_:isForced:)``.
    public var operation: OperationID? {
      if case .massDeletion(let deletion) = details { deletion.operation } else { nil }
    }

    init(_ reason: Reason, text: String? = nil, next: Step? = nil, _ details: Details = .none) {
      self.reason = reason
      self.text = text ?? reason.sentence()
      self.next = next ?? reason.next()
      self.details = details
    }

    /// The data of a notice, in addition to its text.
    public enum Details: Hashable, Sendable {
      /// No additional data.
      case none
      /// The device that the notice concerns.
      case device(DeviceKey)
      /// Devices not seen for two weeks or more, the longest unseen first, preceded by the key of that one.
      case unseen(DeviceKey, [Unseen])
      /// The number of our own change sets that are dated ahead, and the date of the newest.
      case futureDated(changeSets: Int, newest: Date)
      /// How far the clocks of the other devices are ahead of this one's.
      case clockSkew(milliseconds: Int64)
      /// Parked change sets: how many, when the first is due, and which devices wrote them.
      case parked(changeSets: Int, due: Date, deviceNames: [String])
      /// Damaged change sets: the first of them, and how many there are.
      case damaged([ChangeSetReference], count: Int)
      /// The device that revoked this one, and when.
      case revoked(by: DeviceKey, at: Date)
      /// A revoked device, and the members that are not known to have received the revocation.
      case unheard(DeviceReference, notHeard: [DeviceReference])
      /// A mass deletion by another device.
      case massDeletion(MassDeletion)
    }

    /// A device not seen for two weeks or more.
    public struct Unseen: Hashable, Sendable, Codable {
      /// The public key that identifies the device.
      public let device: DeviceKey
      /// Its display name on this device.
      public let name: String
      /// When it was last connected; nil if that is not known.
      public let lastSeen: Date?
      /// When it was last connected, last in sync or, if neither is known, admitted.
      public let since: Date
    }

    /// A change set, identified by its position in a log.
    public struct ChangeSetReference: Hashable, Sendable, Codable {
      /// The author of the log.
      public let device: DeviceKey
      /// That device's display name on this device.
      public let name: String
      /// `settings` or `records`.
      public let lane: String
      /// The sequence number in the log.
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
    case operation
    case deviceName
    case time
    case kinds = "deleted"
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(reason, forKey: .reason)
    try container.encode(reason.severity, forKey: .severity)
    try container.encode(text, forKey: .text)
    try container.encodeIfPresent(next, forKey: .next)
    switch details {
    case .none: break
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
    case .massDeletion(let deletion):
      try container.encode(deletion.operation, forKey: .operation)
      try container.encode(deletion.device, forKey: .device)
      try container.encode(deletion.deviceName, forKey: .deviceName)
      try container.encode(deletion.time, forKey: .time)
      try container.encode(deletion.kinds, forKey: .kinds)
    }
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    reason = try container.decode(Reason.self, forKey: .reason)
    text = try container.decode(String.self, forKey: .text)
    next = try container.decodeIfPresent(Step.self, forKey: .next)
    details = try Details(container)
  }
}

extension NodeStatus.Notice.Details {
  /// Tells the cases apart by the keys that are present.
  fileprivate init(
    _ container: KeyedDecodingContainer<NodeStatus.Notice.CodingKeys>
  ) throws {
    func decode<Value: Decodable>(_ key: NodeStatus.Notice.CodingKeys) throws -> Value {
      try container.decode(Value.self, forKey: key)
    }
    if container.contains(.kinds) {
      self = .massDeletion(
        MassDeletion(
          operation: try decode(.operation), device: try decode(.device), deviceName: try decode(.deviceName),
          time: try decode(.time), kinds: try decode(.kinds)))
    } else if container.contains(.notHeard) {
      self = .unheard(
        DeviceReference(device: try decode(.device), name: try decode(.name)), notHeard: try decode(.notHeard)
      )
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
      self = .none
    }
  }
}
