import Engine
public import Foundation
import Membership
import Replication
import Storage
import Transport
public import Wire

/// Another device of the circle, as this one sees it.
public struct Peer: Hashable, Sendable, Identifiable {
  /// The key that names it.
  public let device: DeviceKey
  /// What it is called here; see ``Node/rename(_:to:)``.
  public let name: String
  /// What it is doing.
  public let state: PeerState
  /// Why it is in this state.
  public let reason: Reason
  /// The same as a clause for people.
  public var sentence: String { reason.sentence(peer: name) }
  /// The command of `waymark` that helps; nil if none does.
  public var next: Step? { reason.next(peer: name) }
  /// What brings an end to it.
  public var remedy: Remedy { reason.remedy }
  /// The reason, said once in ``NodeStatus/causes``, from which this state follows; nil if it is the peer's own.
  public internal(set) var consequenceOf: Reason?
  /// Since when it is connected, else when it was last.
  public let since: Date?
  /// `ADDR:PORT`
  public let address: String?
  /// Where the address is known from; nil if there is none.
  public let addressSource: AddressSource?
  /// How long its last sign of life took; nil unless it is connected.
  public let roundTrip: Duration?
  /// How far its clock is ahead of this device's.
  public let clockSkew: Duration?
  /// When it was last connected.
  public let lastSeen: Date?
  /// When it was last in sync with this device.
  public let lastSync: Date?
  /// The stream of settings.
  public let settings: Lane
  /// The stream of records.
  public let records: Lane

  public var id: DeviceKey { device }

  /// One of the two streams of changes.
  public subscript(lane: Wire.Lane) -> Lane { lane == .settings ? settings : records }

  /// Change sets that are still to come, in both lanes; nil where that is not known.
  public var behind: Int? { Self.sum(settings.behind, records.behind) }

  /// Change sets that it still lacks, in both lanes; nil where that is not known.
  public var ahead: Int? { Self.sum(settings.ahead, records.ahead) }

  private static func sum(_ left: Int?, _ right: Int?) -> Int? {
    left == nil && right == nil ? nil : (left ?? 0) + (right ?? 0)
  }

  /// One of the two streams of changes, between this device and the peer.
  public struct Lane: Hashable, Sendable, Codable {
    /// Whether it flows.
    public let isOpen: Bool
    /// Why it is closed.
    public let reason: Reason?
    /// Change sets that the peer has and this device lacks; nil if that is not known.
    public let behind: Int?
    /// Change sets that this device has and the peer lacks; nil if that is not known.
    public let ahead: Int?
    /// Whether both hold the same data; nil if that is not known.
    public let isEqual: Bool?

    private enum CodingKeys: String, CodingKey {
      case isOpen = "open"
      case reason
      case behind
      case ahead
      case isEqual = "digestEqual"
    }
  }

  /// How long signs of life took, there and back.
  public struct Ping: Hashable, Sendable {
    /// The key that names the peer.
    public let device: DeviceKey
    /// What it is called here.
    public let name: String
    /// `ADDR:PORT` at which it is connected; nil if that is not known.
    public let address: String?
    /// In the order in which they were asked for; at least one.
    public let roundTrips: [Duration]

    /// The shortest.
    public var least: Duration { roundTrips.min() ?? .zero }
    /// The middle one.
    public var median: Duration { roundTrips.sorted()[roundTrips.count / 2] }
    /// The longest.
    public var most: Duration { roundTrips.max() ?? .zero }
  }
}

extension Peer.Ping: Codable {
  private enum CodingKeys: String, CodingKey {
    case device
    case name
    case address
    case roundTrips = "roundTripsMilliseconds"
    case least
    case median
    case most
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    device = try container.decode(DeviceKey.self, forKey: .device)
    name = try container.decode(String.self, forKey: .name)
    address = try container.decodeIfPresent(String.self, forKey: .address)
    roundTrips = try container.decode([Double].self, forKey: .roundTrips)
      .map { .microseconds(Int64($0 * 1_000)) }
    guard !roundTrips.isEmpty else {
      throw DecodingError.dataCorruptedError(
        forKey: .roundTrips, in: container, debugDescription: "no round trip")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(device, forKey: .device)
    try container.encode(name, forKey: .name)
    try container.encodeIfPresent(address, forKey: .address)
    try container.encode(roundTrips.map(\.milliseconds), forKey: .roundTrips)
    try container.encode(least.milliseconds, forKey: .least)
    try container.encode(median.milliseconds, forKey: .median)
    try container.encode(most.milliseconds, forKey: .most)
  }
}

extension Duration {
  /// Milliseconds, to a hundredth.
  package var milliseconds: Double {
    let (seconds, attoseconds) = components
    let microseconds = Double(seconds) * 1_000_000 + Double(attoseconds) / 1_000_000_000_000
    return (microseconds / 10).rounded() / 100
  }
}

/// What a peer is doing.
public enum PeerState: String, Codable, Sendable {
  /// All open lanes are equal on both sides.
  case inSync = "in_sync"
  /// It is being sent what it lacks.
  case sending
  /// It sends what this device lacks.
  case receiving
  /// It is being dialled, or the two have just met.
  case connecting
  /// It is not connected.
  case offline
  /// It is paused on this device.
  case paused
  /// One of the two turns the other away.
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
