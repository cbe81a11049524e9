import JSONDocument
import Replication
import Wire

/// What the node knows about itself at one moment: what the documents of `status` and `peers` are made from.
struct NodeSnapshot: Sendable {
  var device: DeviceKey
  var name: String
  var circle: CircleID
  var incarnation: Incarnation
  var isRunning: Bool
  /// `ADDR:PORT`, if the node serves.
  var listen: String?
  /// When the node began to run.
  var runningSince: Moment?
  var premium: PremiumSnapshot
  var sync: SyncSnapshot
  var settings: LaneSnapshot
  var records: LaneSnapshot
  var conflicts: Int
  var notices: [NoticeSnapshot]
  var peers: [PeerSnapshot]
  var loss: LossSnapshot

  init(
    device: DeviceKey, name: String, circle: CircleID, incarnation: Incarnation, isRunning: Bool,
    listen: String?, runningSince: Moment?, premium: PremiumSnapshot, sync: SyncSnapshot,
    settings: LaneSnapshot, records: LaneSnapshot, conflicts: Int, notices: [NoticeSnapshot],
    peers: [PeerSnapshot], loss: LossSnapshot
  ) {
    self.device = device
    self.name = name
    self.circle = circle
    self.incarnation = incarnation
    self.isRunning = isRunning
    self.listen = listen
    self.runningSince = runningSince
    self.premium = premium
    self.sync = sync
    self.settings = settings
    self.records = records
    self.conflicts = conflicts
    self.notices = notices
    self.peers = peers
    self.loss = loss
  }
}

/// Whether this device has premium, from where, until when.
struct PremiumSnapshot: Hashable, Sendable {
  var isActive: Bool
  /// `certificate`, `all-features`, `mock` or `none`.
  var source: String
  var validUntil: Moment?
  var reason: Reason?

  init(isActive: Bool, source: String, validUntil: Moment?, reason: Reason?) {
    self.isActive = isActive
    self.source = source
    self.validUntil = validUntil
    self.reason = reason
  }
}

/// What the person wants of the records lane, and what the gate makes of it.
struct SyncSnapshot: Hashable, Sendable {
  var preference: Bool
  var isActive: Bool
  var reason: Reason?

  init(preference: Bool, isActive: Bool, reason: Reason?) {
    self.preference = preference
    self.isActive = isActive
    self.reason = reason
  }
}

/// One lane of this node.
struct LaneSnapshot: Hashable, Sendable {
  var isOpen: Bool
  var reason: Reason?
  var digest: Bytes32
  var changeSets: UInt64
  var parked: UInt64

  init(isOpen: Bool, reason: Reason?, digest: Bytes32, changeSets: UInt64, parked: UInt64) {
    self.isOpen = isOpen
    self.reason = reason
    self.digest = digest
    self.changeSets = changeSets
    self.parked = parked
  }
}

/// Something that the reader of `status` should know once, however many things it touches.
struct NoticeSnapshot: Hashable, Sendable {
  var reason: Reason
  var text: String
  var next: String?
  /// What else programs may want to know.
  var details: [JSON.Member]

  init(_ reason: Reason, text: String? = nil, next: String? = nil, details: [JSON.Member] = []) {
    self.reason = reason
    self.details = details
    self.text = text ?? reason.sentence()
    self.next = next ?? reason.next()
  }
}

/// What a peer is doing.
public enum PeerState: String, Sendable {
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

/// One lane as seen together with a peer; counts are nil where they are not known.
struct PeerLaneSnapshot: Hashable, Sendable {
  var isOpen: Bool
  var reason: Reason?
  /// Change sets that the peer has and this node lacks.
  var behind: Int?
  /// Change sets that this node has and the peer lacks.
  var ahead: Int?
  var digestEqual: Bool?

  init(isOpen: Bool, reason: Reason?, behind: Int?, ahead: Int?, digestEqual: Bool?) {
    self.isOpen = isOpen
    self.reason = reason
    self.behind = behind
    self.ahead = ahead
    self.digestEqual = digestEqual
  }
}

/// One peer as this node sees it.
struct PeerSnapshot: Sendable {
  var device: DeviceKey
  var name: String
  var state: PeerState
  var reason: Reason
  var since: Moment?
  var address: String?
  /// Where that is known from.
  var addressSource: AddressSource?
  var roundTripMilliseconds: Int64?
  var clockSkewMilliseconds: Int64?
  var lastSeen: Moment?
  var lastSync: Moment?
  var settings: PeerLaneSnapshot
  var records: PeerLaneSnapshot

  init(
    device: DeviceKey, name: String, state: PeerState, reason: Reason, since: Moment?, address: String?,
    addressSource: AddressSource? = nil,
    roundTripMilliseconds: Int64?, clockSkewMilliseconds: Int64?, lastSeen: Moment?, lastSync: Moment?,
    settings: PeerLaneSnapshot, records: PeerLaneSnapshot
  ) {
    self.device = device
    self.name = name
    self.state = state
    self.reason = reason
    self.since = since
    self.address = address
    self.addressSource = addressSource
    self.roundTripMilliseconds = roundTripMilliseconds
    self.clockSkewMilliseconds = clockSkewMilliseconds
    self.lastSeen = lastSeen
    self.lastSync = lastSync
    self.settings = settings
    self.records = records
  }
}

// MARK: Documents

extension NodeSnapshot {
  /// The document of `status`.
  func statusDocument(version: String, counts: JSON) -> JSON {
    document(
      "status",
      [
        .init("device", .string(device.description)), .init("name", .string(name)),
        .init("circle", .string(circle.description)),
        .init("incarnation", .string(incarnation.description)), .init("version", .string(version)),
        .init("running", .bool(isRunning)), .init("runningSince", timeJSON(runningSince)),
        .init("listen", .text(listen)), .init("premium", premium.json), .init("sync", sync.json),
        .init("lanes", ["settings": settings.json, "records": records.json]), .init("counts", counts),
        .init("conflicts", .integer(conflicts)), .init("notices", .array(notices.map(\.json))),
        .init("peers", peersJSON), .init("reasons", .array(causes.map(\.json))), .init("loss", loss.json),
      ])
  }

  /// The document of `peers list`.
  var peersDocument: JSON {
    document(
      "peers.list",
      [
        .init("peers", peersJSON), .init("running", .bool(isRunning)),
        .init("reasons", .array(causes.map(\.json))),
      ])
  }

  /// What follows from something that is said elsewhere names it.
  private var peersJSON: JSON {
    .array(
      peers.map { peer in
        var json = peer.json
        json["consequenceOf"] = .text(consequence(peer)?.rawValue)
        return json
      })
  }
}

extension PremiumSnapshot {
  var json: JSON {
    [
      "active": .bool(isActive), "source": .string(source), "validUntil": timeJSON(validUntil),
      "reason": .text(reason?.rawValue),
    ]
  }
}

extension SyncSnapshot {
  var json: JSON {
    ["preference": .bool(preference), "active": .bool(isActive), "reason": .text(reason?.rawValue)]
  }
}

extension LaneSnapshot {
  fileprivate var json: JSON {
    [
      "open": .bool(isOpen), "reason": .text(reason?.rawValue), "digest": .string(hexadecimal(digest.bytes)),
      "changeSets": .integer(changeSets), "parked": .integer(parked),
    ]
  }
}

extension NoticeSnapshot {
  fileprivate var json: JSON {
    .object(
      [
        .init("reason", .string(reason.rawValue)), .init("severity", .string(reason.severity.rawValue)),
        .init("text", .string(text)), .init("next", .text(next)),
      ] + details)
  }
}

extension PeerSnapshot {
  /// What to type next.
  var next: String? { reason.next(peer: name) }

  var json: JSON {
    [
      "device": .string(device.description), "name": .string(name), "state": .string(state.rawValue),
      "reason": .string(reason.rawValue), "severity": .string(reason.severity.rawValue),
      "text": .string(reason.sentence(peer: name)), "next": .text(next), "since": timeJSON(since),
      "address": .text(address), "addressSource": .text(addressSource?.rawValue),
      "lastSeen": timeJSON(lastSeen),
      "roundTripMilliseconds": integerJSON(roundTripMilliseconds),
      "clockSkewMilliseconds": integerJSON(clockSkewMilliseconds), "lastSync": timeJSON(lastSync),
      "lanes": ["settings": settings.json, "records": records.json],
    ]
  }
}

extension PeerLaneSnapshot {
  fileprivate var json: JSON {
    [
      "open": .bool(isOpen), "reason": .text(reason?.rawValue), "behind": integerJSON(behind.map(Int64.init)),
      "ahead": integerJSON(ahead.map(Int64.init)), "digestEqual": digestEqual.map(JSON.bool) ?? .null,
    ]
  }
}

/// RFC 3339, or null if there is no such time.
func timeJSON(_ moment: Moment?, zone: String? = nil) -> JSON {
  moment.map { .string(CivilTime.text($0, zone: zone)) } ?? .null
}

private func integerJSON(_ number: Int64?) -> JSON { number.map { JSON.integer($0) } ?? .null }
