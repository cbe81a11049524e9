public import Foundation
import JSONDocument
import Membership
import Replication
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
  public let sentence: String
  /// What brings an end to it.
  public var remedy: Remedy { reason.remedy }
  /// The reason, said once in ``NodeStatus/causes``, from which this state follows; nil if it is the peer's own.
  public let consequenceOf: Reason?
  /// Since when it is connected, else when it was last.
  public let since: Date?
  /// `ADDR:PORT`
  public let address: String?
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

  /// Change sets that are still to come, in both lanes; nil where that is not known.
  public var behind: Int? { Self.sum(settings.behind, records.behind) }

  /// Change sets that it still lacks, in both lanes; nil where that is not known.
  public var ahead: Int? { Self.sum(settings.ahead, records.ahead) }

  private static func sum(_ left: Int?, _ right: Int?) -> Int? {
    left == nil && right == nil ? nil : (left ?? 0) + (right ?? 0)
  }

  /// One of the two streams of changes, between this device and the peer.
  public struct Lane: Hashable, Sendable {
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
  }

  /// How long signs of life took, there and back.
  public struct Ping: Hashable, Sendable {
    /// In the order in which they were asked for.
    public let roundTrips: [Duration]
    /// The shortest.
    public let least: Duration
    /// The middle one.
    public let median: Duration
    /// The longest.
    public let most: Duration
  }
}

extension Node {
  /// The other devices of the circle, connected or not, by name.
  public func peers() throws -> [Peer] { try read(.peers) }

  /// Dials an address from now on, besides those that devices tell each other.
  ///
  /// - Parameter address: `ADDR:PORT`, as `192.168.1.20:7433`.
  /// - Throws: `WaymarkError` with the code `bad_value` if it is none.
  public func addPeer(at address: String) throws { try sayingWhy { try addPeer(address) } }

  /// Stops talking to a peer until it is resumed; what it already has, it keeps.
  ///
  /// - Throws: `WaymarkError` with the code `not_found` if there is no such peer.
  public func pause(_ peer: DeviceKey) throws {
    try sayingWhy { try setPaused(try other(peer).device, true) }
  }

  /// Talks to a paused peer again, at once.
  public func resume(_ peer: DeviceKey) throws {
    try sayingWhy { try setPaused(try other(peer).device, false) }
  }

  /// Calls a peer by another name on this device.
  ///
  /// - Parameters:
  ///   - peer: another device of the circle.
  ///   - name: nil for the name that it has given itself.
  /// - Throws: `WaymarkError` with the code `bad_value` if it can't be called so.
  public func rename(_ peer: DeviceKey, to name: String?) throws {
    try sayingWhy {
      _ = try renamePeer(
        CommandRequest("peers.rename", ["peer": .string(peer.description), "name": .text(name)]))
    }
  }

  /// Asks a connected peer for a sign of life, several times.
  ///
  /// - Parameters:
  ///   - peer: another device of the circle.
  ///   - count: 1 to 20.
  /// - Throws: `WaymarkError` with the code of what is in the way, as `offline` or `no_answer`.
  public func ping(_ peer: DeviceKey, count: Int = 3) async throws -> Peer.Ping {
    struct Answer: Decodable { let roundTripsMilliseconds: [Double] }
    let answer: Answer = try await typed(
      "peers.ping", ["peer": .string(peer.description), "count": .string("\(count)")])
    let trips = answer.roundTripsMilliseconds.map { Duration.microseconds(Int64($0 * 1_000)) }
    let sorted = trips.sorted()
    guard let least = sorted.first, let most = sorted.last else { throw WaymarkError.hungUp }
    return Peer.Ping(roundTrips: trips, least: least, median: sorted[sorted.count / 2], most: most)
  }

  /// Another member of the circle by its key.
  private func other(_ device: DeviceKey) throws -> Member { try peer(named: device.description) }
}

extension Peer {
  init(_ peer: PeerSnapshot, consequenceOf: Reason?) {
    self.init(
      device: peer.device, name: peer.name, state: peer.state, reason: peer.reason,
      sentence: peer.reason.sentence(peer: peer.name), consequenceOf: consequenceOf,
      since: peer.since.map(Date.init(milliseconds:)), address: peer.address,
      roundTrip: peer.roundTripMilliseconds.map { .milliseconds($0) },
      clockSkew: peer.clockSkewMilliseconds.map { .milliseconds($0) },
      lastSeen: peer.lastSeen.map(Date.init(milliseconds:)),
      lastSync: peer.lastSync.map(Date.init(milliseconds:)),
      settings: Lane(peer.settings), records: Lane(peer.records))
  }
}

extension Peer.Lane {
  init(_ lane: PeerLaneSnapshot) {
    self.init(
      isOpen: lane.isOpen, reason: lane.reason, behind: lane.behind, ahead: lane.ahead,
      isEqual: lane.digestEqual)
  }
}
