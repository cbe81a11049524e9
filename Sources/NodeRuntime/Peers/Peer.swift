import Engine
public import Platform
import Home
import Membership
public import Reasons
import Replication
import Storage
import Transport
public import Wire

/// Another device of the circle, as seen from this one.
public struct Peer: Hashable, Sendable, Identifiable {
  /// The public key that identifies the device.
  public let device: DeviceKey
  /// The name under which this device shows the peer; see ``Node/rename(_:to:)``.
  public let name: String
  /// The state of the peer.
  public let state: PeerState
  /// Why the peer is in this state.
  package let reason: Reason
  /// The reason as a human-readable clause.
  public var sentence: LocalizableText { reason.sentence(peer: name) }
  /// What to do next, usually a `waymark` command; nil if nothing helps.
  package var next: Step? { reason.next(peer: name) }
  /// What resolves the reason.
  package var remedy: Remedy { reason.remedy }
  /// The root cause, listed in ``NodeStatus/causes``, of which this state is a consequence; nil if there is none.
  package internal(set) var consequenceOf: Reason?
  /// When the peer connected; if it is offline, when it was last connected.
  public let since: Date?
  /// The peer's address, `ADDR:PORT`.
  public let address: String?
  /// The source of the address; nil if it is not known.
  package let addressSource: AddressSource?
  /// The round-trip time of the last heartbeat; nil unless the peer is connected.
  public let roundTrip: Duration?
  /// How far the peer's clock is ahead of this device's clock; negative if it is behind.
  public let clockSkew: Duration?
  /// When the peer was last connected to this device.
  public let lastSeen: Date?
  /// When the peer was last in sync with this device.
  public let lastSync: Date?
  /// The settings lane between this device and the peer.
  public let settings: Lane
  /// The records lane between this device and the peer.
  public let records: Lane

  public var id: DeviceKey { device }

  /// The state of a lane between this device and the peer.
  public subscript(lane: Wire.Lane) -> Lane { lane == .settings ? settings : records }

  /// The number of change sets in both lanes that the peer has and this device lacks; nil if that is not known.
  public var behind: Int? { Self.sum(settings.behind, records.behind) }

  /// The number of change sets in both lanes that this device has and the peer lacks; nil if that is not known.
  public var ahead: Int? { Self.sum(settings.ahead, records.ahead) }

  private static func sum(_ left: Int?, _ right: Int?) -> Int? {
    left == nil && right == nil ? nil : (left ?? 0) + (right ?? 0)
  }

  /// A lane between this device and the peer.
  public struct Lane: Hashable, Sendable, Codable {
    /// Whether the lane is open.
    public let isOpen: Bool
    /// Why the lane is closed; nil if it is open.
    package let reason: Reason?
    /// The number of change sets that the peer has and this device lacks; nil if that is not known.
    public let behind: Int?
    /// The number of change sets that this device has and the peer lacks; nil if that is not known.
    public let ahead: Int?
    /// Whether both devices hold the same data; nil if that is not known.
    public let isEqual: Bool?

    private enum CodingKeys: String, CodingKey {
      case isOpen = "open"
      case reason
      case behind
      case ahead
      case isEqual = "digestEqual"
    }
  }
}

extension Duration {
  /// The duration in milliseconds, rounded to a hundredth.
  package var milliseconds: Double {
    let (seconds, attoseconds) = components
    let microseconds = Double(seconds) * 1_000_000 + Double(attoseconds) / 1_000_000_000_000
    return (microseconds / 10).rounded() / 100
  }
}

/// The state of a peer.
public enum PeerState: String, Codable, Sendable {
  /// All open lanes are equal on both sides.
  case inSync = "in_sync"
  /// This device is sending changes to the peer.
  case sending
  /// This device is receiving changes from the peer.
  case receiving
  /// The peer is being dialled, or has just connected.
  case connecting
  /// The peer is not connected.
  case offline
  /// The peer is paused on this device.
  case paused
  /// One of the two devices refuses the other.
  case refused
}

extension Peer: Codable {
  private enum CodingKeys: String, CodingKey {
    case device
    case name
    case state
    case reason
    case severity
    case sentence = "text"
    case next
    case since
    case address
    case addressSource
    case lastSeen
    case roundTrip = "roundTripMilliseconds"
    case clockSkew = "clockSkewMilliseconds"
    case lastSync
    case lanes
    case consequenceOf
  }

  private enum LaneKeys: CodingKey {
    case settings
    case records
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(device, forKey: .device)
    try container.encode(name, forKey: .name)
    try container.encode(state, forKey: .state)
    try container.encode(reason, forKey: .reason)
    try container.encode(reason.severity, forKey: .severity)
    try container.encode(sentence, forKey: .sentence)
    try container.encodeIfPresent(next, forKey: .next)
    try container.encodeIfPresent(since, forKey: .since)
    try container.encodeIfPresent(address, forKey: .address)
    try container.encodeIfPresent(addressSource, forKey: .addressSource)
    try container.encodeIfPresent(lastSeen, forKey: .lastSeen)
    try container.encodeIfPresent(roundTrip?.wholeMilliseconds, forKey: .roundTrip)
    try container.encodeIfPresent(clockSkew?.wholeMilliseconds, forKey: .clockSkew)
    try container.encodeIfPresent(lastSync, forKey: .lastSync)
    var lanes = container.nestedContainer(keyedBy: LaneKeys.self, forKey: .lanes)
    try lanes.encode(settings, forKey: .settings)
    try lanes.encode(records, forKey: .records)
    try container.encodeIfPresent(consequenceOf, forKey: .consequenceOf)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let lanes = try container.nestedContainer(keyedBy: LaneKeys.self, forKey: .lanes)
    self.init(
      device: try container.decode(DeviceKey.self, forKey: .device),
      name: try container.decode(String.self, forKey: .name),
      state: try container.decode(PeerState.self, forKey: .state),
      reason: try container.decode(Reason.self, forKey: .reason),
      consequenceOf: try container.decodeIfPresent(Reason.self, forKey: .consequenceOf),
      since: try container.decodeIfPresent(Date.self, forKey: .since),
      address: try container.decodeIfPresent(String.self, forKey: .address),
      addressSource: try container.decodeIfPresent(AddressSource.self, forKey: .addressSource),
      roundTrip: try container.decodeIfPresent(Int64.self, forKey: .roundTrip).map { .milliseconds($0) },
      clockSkew: try container.decodeIfPresent(Int64.self, forKey: .clockSkew).map { .milliseconds($0) },
      lastSeen: try container.decodeIfPresent(Date.self, forKey: .lastSeen),
      lastSync: try container.decodeIfPresent(Date.self, forKey: .lastSync),
      settings: try lanes.decode(Lane.self, forKey: .settings),
      records: try lanes.decode(Lane.self, forKey: .records))
  }
}
