import Platform
public import Wire

/// The round-trip times to a peer.
public struct PingResult: Hashable, Sendable {
  /// The public key that identifies the peer.
  public let device: DeviceKey
  /// The name under which this device shows the peer.
  public let name: String
  /// The `ADDR:PORT` at which the peer is connected; nil if that is not known.
  public let address: String?
  /// The measured round-trip times, in order; at least one.
  public let roundTrips: [Duration]

  /// The shortest round-trip time.
  public var least: Duration { roundTrips.min() ?? .zero }
  /// The median round-trip time.
  public var median: Duration { roundTrips.sorted()[roundTrips.count / 2] }
  /// The longest round-trip time.
  public var most: Duration { roundTrips.max() ?? .zero }
}

extension PingResult: Codable {
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
