public import ChangeHistory
import Engine
public import Platform
public import Home
public import Reasons
public import Records
import Replication
import Storage
public import Wire

/// The status of a node at one moment, with everything that a status screen shows.
public struct NodeStatus: Hashable, Sendable {
  /// The public key that identifies this device.
  public let device: DeviceKey
  /// The name of this device in its circle.
  public let name: String
  /// The circle of this device.
  public let circle: CircleID
  /// The incarnation under which this device writes its logs.
  public let incarnation: String
  /// The version of the library.
  public let version: String
  /// When this node started serving; nil while it is not serving.
  public let servingSince: Date?
  /// The `ADDR:PORT` at which this node listens; nil while it is not serving.
  public let address: String?
  /// Whether records sync, and if not, why and what to do about it.
  public let sync: SyncState
  /// The settings lane.
  public let settings: Lane
  /// The records lane.
  public let records: Lane
  /// The numbers of visible records.
  public let counts: Counts
  /// The numbers and sizes of files.
  public let files: FileTotals
  /// The number of unresolved conflicts; see ``Node/conflicts()``.
  public let conflicts: Int
  /// The notices to show to a person, without duplicates.
  public let notices: [Notice]
  /// The other devices of the circle.
  public let peers: [Peer]
  /// The addresses that this device dials because the user gave them.
  public let addresses: [AddedAddress]
  /// Why this device is not in sync with all connected peers, by the rule of ``Node/waitUntilInSync(with:lane:timeout:)``;
  /// nil if it is, or if there is no other device.
  public let notInSync: Obstacle?
  /// The root causes of current problems, the most severe first, without their consequences.
  public let causes: [Cause]
  /// The changes that would be lost if this disk failed now.
  public package(set) var replicationRisk: ReplicationRisk
  /// The progress of the background check of the store.
  public let storeCheck: StoreCheck
  /// The protection of the key files.
  public let keys: KeyStates

  /// Whether the node is serving.
  public var isServing: Bool { address != nil }

  /// The state of a lane on this device.
  public struct Lane: Hashable, Sendable, Codable {
    /// Whether the lane is open on this device.
    public let isOpen: Bool
    /// Why the lane is closed; nil if it is open.
    public let reason: Reason?
    /// The hash of the lane's data, in hexadecimal. It is equal on all devices that hold the same data.
    public let digest: String
    /// The number of stored change sets.
    public let changeSets: Int
    /// The number of stored change sets that are parked, because they are dated in the future or depend on one that is.
    public let parked: Int

    private enum CodingKeys: String, CodingKey {
      case isOpen = "open"
      case reason
      case digest
      case changeSets
      case parked
    }
  }

  /// The progress of the background check, which verifies all stored change sets in repeated passes.
  public struct StoreCheck: Hashable, Sendable, Codable {
    /// The number of change sets verified so far in the current pass.
    public let checked: Int
    /// The number of all change sets to verify in the current pass.
    public let total: Int
    /// When the last pass was completed; nil if no pass has been.
    public let completed: Date?
    /// The number of stored change sets that are damaged.
    public let damaged: Int

    init(_ check: Engine.StoreCheck, _ store: Store) {
      checked = Int(clamping: min(check.last, store.newestNumber))
      total = Int(clamping: store.newestNumber)
      completed = check.completedAt.map(Date.init(milliseconds:))
      damaged = store.damagedSets.count
    }
  }

  /// The numbers of visible records by kind, not counting the untouched seeds that every store starts with.
  public struct Counts: Hashable, Sendable, Codable {
    /// The number of visible trips.
    public let trips: Int
    /// The number of visible lodgings.
    public let lodging: Int
    /// The number of visible transportations.
    public let transportation: Int
    /// The number of visible activities.
    public let activities: Int
    /// The number of visible organizations, not counting None.
    public let organizations: Int
    /// The number of visible habits.
    public let habits: Int
    /// The number of visible categories.
    public let categories: Int
    /// The number of visible habit entries.
    public let habitEntries: Int
    /// The number of settings that have a value.
    public let settings: Int
    /// The numbers of visible records of each kind of an app that has any.
    public let apps: [OfKind]

    /// The keys of the document; a node of an earlier version writes no `apps`.
    private enum CodingKeys: String, CodingKey {
      case trips, lodging, transportation, activities, organizations, habits, categories, habitEntries
      case settings, apps
    }

    /// The number of visible records of a kind.
    public struct OfKind: Hashable, Sendable, Codable {
      /// The kind of the records.
      public let kind: RecordKind
      /// The number of visible records.
      public let count: Int
    }
  }

  /// Why this device is not in sync.
  public struct Obstacle: Hashable, Sendable, Codable {
    /// The reason code.
    public let reason: Reason
    /// The reason as a sentence.
    public let text: LocalizableText
    /// What to do next.
    public let next: Step?
  }

  /// A root cause of a current problem.
  public struct Cause: Hashable, Sendable {
    /// The reason code.
    public let reason: Reason
    /// The cause as a human-readable clause.
    public let text: LocalizableText
    /// What to do next, usually a `waymark` command; nil if nothing helps.
    public let next: Step?
    /// The peer that the cause concerns; nil if the cause concerns this device.
    public let peer: DeviceReference?
    /// The names of the peers whose state is a consequence of this cause.
    public let consequences: [String]
  }

  /// The changes that would be lost if this disk failed now, because no other device has reported that it holds them.
  public struct ReplicationRisk: Hashable, Sendable {
    /// The number of change sets that no other device is known to hold.
    public let changeSets: Int
    /// The newest change that no other device is known to hold; nil if there is none.
    public package(set) var newest: Newest?
    /// What each other device is known to hold, sorted by name.
    public let devices: [Holder]

    /// The newest change that no other device is known to hold.
    public enum Newest: Hashable, Sendable {
      /// The operation that made the change.
      case operation(History.Operation)
      /// An operation that is dated in the future. Its content can't be read before that time.
      case waiting(id: OperationID, time: Date, deviceName: String)
    }

    /// What another device is known to hold.
    public struct Holder: Hashable, Sendable, Codable {
      /// The public key that identifies the device.
      public let device: DeviceKey
      /// The name under which this device shows it.
      public let name: String
      /// The number of change sets stored here that the other device is not known to hold; nil if that device has never
      /// reported what it holds.
      public let lacking: Int?
      /// When the newest of those change sets was written; nil if there are none, or if the other device has never
      /// reported what it holds.
      public let newestLacking: Date?
      /// When the other device last reported what it holds; nil if it never has.
      public let asOf: Date?

      package init(device: DeviceKey, name: String, lacking: Int?, newestLacking: Date?, asOf: Date?) {
        self.device = device
        self.name = name
        self.lacking = lacking
        self.newestLacking = newestLacking
        self.asOf = asOf
      }
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
    case files
    case conflicts
    case notices
    case peers
    case addresses
    case notInSync
    case causes = "reasons"
    case replicationRisk = "loss"
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
    try container.encode(addresses, forKey: .addresses)
    try container.encodeIfPresent(notInSync, forKey: .notInSync)
    try container.encode(causes, forKey: .causes)
    try container.encode(replicationRisk, forKey: .replicationRisk)
    try container.encode(storeCheck, forKey: .storeCheck)
    try container.encode(keys, forKey: .keys)
  }

  /// Encodes only the part of the status that a support report may contain. That part excludes everything that people
  /// wrote into trips, habits, settings or the profile.
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
    try container.encode(files, forKey: .files)
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
    files = try container.decode(FileTotals.self, forKey: .files)
    conflicts = try container.decode(Int.self, forKey: .conflicts)
    notices = try container.decode([Notice].self, forKey: .notices)
    peers = try container.decode([Peer].self, forKey: .peers)
    addresses = try container.decodeIfPresent([AddedAddress].self, forKey: .addresses) ?? []
    notInSync = try container.decodeIfPresent(Obstacle.self, forKey: .notInSync)
    causes = try container.decode([Cause].self, forKey: .causes)
    replicationRisk = try container.decode(ReplicationRisk.self, forKey: .replicationRisk)
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
    text = try container.decode(LocalizableText.self, forKey: .text)
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
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func count(_ key: CodingKeys) throws -> Int { try container.decode(Int.self, forKey: key) }
    self.init(
      trips: try count(.trips), lodging: try count(.lodging), transportation: try count(.transportation),
      activities: try count(.activities), organizations: try count(.organizations),
      habits: try count(.habits), categories: try count(.categories),
      habitEntries: try count(.habitEntries), settings: try count(.settings),
      apps: try container.decodeIfPresent([OfKind].self, forKey: .apps) ?? [])
  }

  init(_ counts: [KindNumber: Int], _ schema: Schema) {
    func count(_ kind: Kind) -> Int { counts[kind.number] ?? 0 }
    self.init(
      trips: count(Kind.trip), lodging: count(Kind.lodging),
      transportation: count(Kind.transportation), activities: count(Kind.activity),
      organizations: count(Kind.organization), habits: count(Kind.habit),
      categories: count(Kind.category), habitEntries: count(Kind.habitEntry),
      settings: count(Kind.setting),
      apps: schema.kinds.filter { $0.isOfApp && count($0) > 0 }.map {
        OfKind(kind: RecordKind(rawValue: $0.name), count: count($0))
      })
  }
}
