public import Foundation
public import Wire

extension NodeStatus {
  /// Something that a person should know until it is over.
  public struct Notice: Hashable, Sendable {
    /// What it is about.
    public let reason: Reason
    /// A clause for people.
    public let text: String
    /// The command of `waymark` that helps; nil if none does.
    public let next: Step?
    /// What else programs may want to know.
    public let details: Details

    /// The device that it is about.
    public var device: DeviceKey? {
      switch details {
      case .device(let device), .unseen(let device, _): device
      case .unheard(let revoked, _): revoked.device
      case .massDeletion(let deletion): deletion.device
      case .none, .futureDated, .clockSkew, .parked, .damaged, .revoked: nil
      }
    }

    /// The operation that it is about; see ``Node/undo(_:isForced:)``.
    public var operation: OperationID? {
      if case .massDeletion(let deletion) = details { deletion.operation } else { nil }
    }

    init(_ reason: Reason, text: String? = nil, next: Step? = nil, _ details: Details = .none) {
      self.reason = reason
      self.text = text ?? reason.sentence()
      self.next = next ?? reason.next()
      self.details = details
    }

    /// What a notice is about, beyond what its text says.
    public enum Details: Hashable, Sendable {
      /// There is no more to say.
      case none
      /// A device.
      case device(DeviceKey)
      /// Devices that were not seen for long, the one that was seen first of all among them first.
      case unseen(DeviceKey, [Unseen])
      /// How many own change sets are dated ahead, and the date of the newest.
      case futureDated(changeSets: Int, newest: Date)
      /// How far the clock of the other devices is ahead of this one's.
      case clockSkew(milliseconds: Int64)
      /// Change sets that wait for their time: how many, until when, and of whom.
      case parked(changeSets: Int, due: Date, deviceNames: [String])
      /// The first of the change sets that the disk has damaged, and how many there are.
      case damaged([ChangeSetReference], count: Int)
      /// Who revoked this device, and when.
      case revoked(by: DeviceKey, at: Date)
      /// A revoked device, and the members that are not known to have heard of it.
      case unheard(DeviceReference, notHeard: [DeviceReference])
      /// A large deletion by another device.
      case massDeletion(MassDeletion)
    }

    /// A device that was not seen for long.
    public struct Unseen: Hashable, Sendable, Codable {
      /// The key that names it.
      public let device: DeviceKey
      /// What it is called here.
      public let name: String
      /// When it was last connected; nil if that is not known.
      public let lastSeen: Date?
      /// Since when it has not been seen, as far as can be told.
      public let since: Date
    }

    /// A change set by its place in a log.
    public struct ChangeSetReference: Hashable, Sendable, Codable {
      /// Whose log it is.
      public let device: DeviceKey
      /// What that device is called here.
      public let name: String
      /// `settings` or `records`.
      public let lane: String
      /// The number in the log.
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
  /// Which details there are shows in their keys.
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
