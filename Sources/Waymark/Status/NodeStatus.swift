import Engine
public import Foundation
import Records
import Replication
import Storage
public import Wire

/// What a node knows about itself at one moment: what a status screen shows.
public struct NodeStatus: Hashable, Sendable {
  /// The key that names this device.
  public let device: DeviceKey
  /// What this device is called in its circle.
  public let name: String
  /// The circle it is in.
  public let circle: CircleID
  /// Names the logs that this device writes.
  public let incarnation: String
  /// The version of the library.
  public let version: String
  /// Since when it serves; nil if it does not.
  public let servingSince: Date?
  /// `ADDR:PORT` at which it serves its peers; nil if it does not.
  public let address: String?
  /// Whether records sync, and if not, why and what helps.
  public let sync: SyncState
  /// The stream of settings.
  public let settings: Lane
  /// The stream of records.
  public let records: Lane
  /// How many records are visible.
  public let counts: Counts
  /// Conflicts that wait for a look; see ``Node/conflicts()``.
  public let conflicts: Int
  /// What a person should know, each thing once.
  public let notices: [Notice]
  /// The other devices of the circle.
  public let peers: [Peer]
  /// What keeps things from being as they should, the gravest first, without what only follows from it.
  public let causes: [Cause]
  /// What would be lost if this disk died now.
  public let replicationRisk: ReplicationRisk
  /// How far the quiet verification of the store has come.
  public let storeCheck: StoreCheck
  /// How the key files are protected.
  public let keys: KeyStates

  /// Whether it serves its peers.
  public var isServing: Bool { address != nil }

  /// One of the two streams of changes of this device.
  public struct Lane: Hashable, Sendable, Codable {
    /// Whether this device lets it flow.
    public let isOpen: Bool
    /// Why it is closed; nil if it is open.
    public let reason: Reason?
    /// Names the data: devices that hold the same have the same.
    public let digest: String
    /// How many change sets are stored.
    public let changeSets: Int
    /// How many of them are dated in the future and wait for their time.
    public let parked: Int

    private enum CodingKeys: String, CodingKey {
      case isOpen = "open"
      case reason
      case digest
      case changeSets
      case parked
    }
  }

  /// How far the quiet verification of the store has come, which begins again when it is through.
  public struct StoreCheck: Hashable, Sendable, Codable {
    /// Change sets that were verified in this pass.
    public let checked: Int
    /// Change sets that are stored.
    public let total: Int
    /// When the last pass was through; nil if none was.
    public let completed: Date?
    /// Change sets that the disk has damaged.
    public let damaged: Int

    init(_ check: Engine.StoreCheck, _ store: Store) {
      checked = Int(clamping: min(check.last, store.newestNumber))
      total = Int(clamping: store.newestNumber)
      completed = check.completedAt.map(Date.init(milliseconds:))
      damaged = store.damagedSets.count
    }
  }

  /// How many records of each kind are visible; what every store begins with is left out.
  public struct Counts: Hashable, Sendable, Codable {
    /// Visible trips.
    public let trips: Int
    /// Visible lodgings.
    public let lodging: Int
    /// Visible transportations.
    public let transportation: Int
    /// Visible activities.
    public let activities: Int
    /// Visible organizations, without None.
    public let organizations: Int
    /// Visible habits.
    public let habits: Int
    /// Visible categories.
    public let categories: Int
    /// Visible entries of habits.
    public let habitLogs: Int
    /// Settings that are set.
    public let settings: Int
  }

  /// One root of what is not as it should be.
  public struct Cause: Hashable, Sendable {
    /// What it is.
    public let reason: Reason
    /// A clause for people.
    public let text: String
    /// The command of `waymark` that helps; nil if none does.
    public let next: Step?
    /// The peer that it is about.
    public let peer: DeviceReference?
    /// The names of the peers whose state follows from it.
    public let consequences: [String]
  }

  /// What would be lost if this disk died now: what is stored here and, by the word of the other devices, nowhere else.
  public struct ReplicationRisk: Hashable, Sendable {
    /// Change sets that no other device is known to hold.
    public let changeSets: Int
    /// What the newest of them did; nil if there is none.
    public let newest: Newest?
    /// What is known of each other device, by name.
    public let devices: [Holder]

    /// The newest change that no other device is known to hold.
    public enum Newest: Hashable, Sendable {
      /// What was done.
      case operation(History.Operation)
      /// Something that is dated in the future and can't be read before its time.
      case waiting(id: OperationID, time: Date, deviceName: String)
    }

    /// One other device.
    public struct Holder: Hashable, Sendable, Codable {
      /// The key that names it.
      public let device: DeviceKey
      /// What it is called here.
      public let name: String
      /// Change sets that are here and that it is not known to hold; nil if it never said what it holds.
      public let lacking: Int?
      /// When the newest of these was written.
      public let newestLacking: Date?
      /// When it last said so.
      public let asOf: Date?
    }
  }
}

extension NodeStatus: Codable {
  private enum CodingKeys: String, CodingKey {
    case device
    case name
    case circle
    case incarnation
    case version
    case isServing = "running"
    case servingSince = "runningSince"
    case address = "listen"
    case premium
    case sync
    case lanes
    case counts
    case conflicts
    case notices
    case peers
    case causes = "reasons"
    case loss
    case storeCheck
    case keys
  }

  private enum SyncKeys: String, CodingKey {
    case preference
    case isActive = "active"
    case obstacle = "reason"
  }

  private enum LaneKeys: CodingKey {
    case settings
    case records
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try encodeGate(to: &container)
    try container.encode(notices, forKey: .notices)
    try container.encode(peers, forKey: .peers)
    try container.encode(causes, forKey: .causes)
    try container.encode(loss, forKey: .loss)
    try container.encode(storeCheck, forKey: .storeCheck)
    try container.encode(keys, forKey: .keys)
  }

  /// Encodes what is told to whoever helps: nothing that people wrote into trips, habits, settings or the profile.
  package func encodeForOthers(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try encodeGate(to: &container)
    try container.encode(causes, forKey: .causes)
    try container.encode(peers, forKey: .peers)
    try container.encode(keys, forKey: .keys)
  }

  private func encodeGate(to container: inout KeyedEncodingContainer<CodingKeys>) throws {
    try container.encode(device, forKey: .device)
    try container.encode(name, forKey: .name)
    try container.encode(circle, forKey: .circle)
    try container.encode(incarnation, forKey: .incarnation)
    try container.encode(version, forKey: .version)
    try container.encode(isServing, forKey: .isServing)
    try container.encodeIfPresent(servingSince, forKey: .servingSince)
    try container.encodeIfPresent(address, forKey: .address)
    try container.encode(sync.premium, forKey: .premium)
    var gate = container.nestedContainer(keyedBy: SyncKeys.self, forKey: .sync)
    try gate.encode(sync.preference, forKey: .preference)
    try gate.encode(sync.isActive, forKey: .isActive)
    try gate.encodeIfPresent(sync.obstacle, forKey: .obstacle)
    var lanes = container.nestedContainer(keyedBy: LaneKeys.self, forKey: .lanes)
    try lanes.encode(settings, forKey: .settings)
    try lanes.encode(records, forKey: .records)
    try container.encode(counts, forKey: .counts)
    try container.encode(conflicts, forKey: .conflicts)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    device = try container.decode(DeviceKey.self, forKey: .device)
    name = try container.decode(String.self, forKey: .name)
    circle = try container.decode(CircleID.self, forKey: .circle)
    incarnation = try container.decode(String.self, forKey: .incarnation)
    version = try container.decode(String.self, forKey: .version)
    servingSince = try container.decodeIfPresent(Date.self, forKey: .servingSince)
    address = try container.decodeIfPresent(String.self, forKey: .address)
    let gate = try container.nestedContainer(keyedBy: SyncKeys.self, forKey: .sync)
    sync = SyncState(
      premium: try container.decode(SyncState.Premium.self, forKey: .premium),
      preference: try gate.decode(Bool.self, forKey: .preference),
      obstacle: try gate.decodeIfPresent(SyncState.Obstacle.self, forKey: .obstacle))
    let lanes = try container.nestedContainer(keyedBy: LaneKeys.self, forKey: .lanes)
    settings = try lanes.decode(Lane.self, forKey: .settings)
    records = try lanes.decode(Lane.self, forKey: .records)
    counts = try container.decode(Counts.self, forKey: .counts)
    conflicts = try container.decode(Int.self, forKey: .conflicts)
    notices = try container.decode([Notice].self, forKey: .notices)
    peers = try container.decode([Peer].self, forKey: .peers)
    causes = try container.decode([Cause].self, forKey: .causes)
    loss = try container.decode(ReplicationRisk.self, forKey: .loss)
    storeCheck = try container.decode(StoreCheck.self, forKey: .storeCheck)
    keys = try container.decode(KeyStates.self, forKey: .keys)
  }
}

extension NodeStatus.Cause: Codable {
  private enum CodingKeys: CodingKey {
    case reason
    case severity
    case remedy
    case text
    case next
    case device
    case name
    case consequences
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(reason, forKey: .reason)
    try container.encode(reason.severity, forKey: .severity)
    try container.encode(reason.remedy, forKey: .remedy)
    try container.encode(text, forKey: .text)
    try container.encodeIfPresent(next, forKey: .next)
    try container.encodeIfPresent(peer?.device, forKey: .device)
    try container.encodeIfPresent(peer?.name, forKey: .name)
    try container.encode(consequences, forKey: .consequences)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    reason = try container.decode(Reason.self, forKey: .reason)
    text = try container.decode(String.self, forKey: .text)
    next = try container.decodeIfPresent(Step.self, forKey: .next)
    let device = try container.decodeIfPresent(DeviceKey.self, forKey: .device)
    let name = try container.decodeIfPresent(String.self, forKey: .name)
    peer = device.map { DeviceReference(device: $0, name: name ?? "") }
    consequences = try container.decode([String].self, forKey: .consequences)
  }
}

extension NodeStatus.ReplicationRisk.Newest: Codable {
  private enum CodingKeys: CodingKey {
    case id
    case verb
    case time
    case deviceName
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .operation(let operation): try operation.encode(to: encoder)
    case .waiting(let id, let time, let deviceName):
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encodeNil(forKey: .verb)
      try container.encode(time, forKey: .time)
      try container.encode(deviceName, forKey: .deviceName)
    }
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard try container.decodeNil(forKey: .verb) else {
      self = .operation(try History.Operation(from: decoder))
      return
    }
    self = .waiting(
      id: try container.decode(OperationID.self, forKey: .id),
      time: try container.decode(Date.self, forKey: .time),
      deviceName: try container.decode(String.self, forKey: .deviceName))
  }
}

extension NodeStatus.ReplicationRisk: Codable {
  private enum CodingKeys: CodingKey {
    case changeSets
    case newest
    case holders
    case devices
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(changeSets, forKey: .changeSets)
    try container.encodeIfPresent(newest, forKey: .newest)
    try container.encode(devices.filter { $0.lacking == 0 }.map(\.name), forKey: .holders)
    try container.encode(devices, forKey: .devices)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    changeSets = try container.decode(Int.self, forKey: .changeSets)
    newest = try container.decodeIfPresent(Newest.self, forKey: .newest)
    devices = try container.decode([Holder].self, forKey: .devices)
  }
}

extension NodeStatus.Counts {
  init(_ counts: [KindNumber: Int]) {
    func count(_ kind: Kind) -> Int { counts[kind.number] ?? 0 }
    self.init(
      trips: count(Registry.trip), lodging: count(Registry.lodging),
      transportation: count(Registry.transportation), activities: count(Registry.activity),
      organizations: count(Registry.organization), habits: count(Registry.habit),
      categories: count(Registry.category), habitLogs: count(Registry.habitEntry), settings: count(Registry.setting))
  }
}
