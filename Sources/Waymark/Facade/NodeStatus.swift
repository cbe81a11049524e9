public import Foundation
import JSONDocument
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
  /// The version of the library.
  public let version: String
  /// `ADDR:PORT` at which it serves its peers; nil if it does not.
  public let address: String?
  /// Since when it serves; nil if it does not.
  public let servingSince: Date?
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
  /// The other devices of the circle.
  public let peers: [Peer]
  /// What a person should know, each thing once.
  public let notices: [Notice]
  /// What keeps things from being as they should, the gravest first, without what only follows from it.
  public let causes: [Cause]
  /// What would be lost if this disk died now.
  public let loss: Loss

  /// Whether it serves its peers.
  public var isServing: Bool { address != nil }

  /// One of the two streams of changes of this device.
  public struct Lane: Hashable, Sendable {
    /// Whether this device lets it flow.
    public let isOpen: Bool
    /// Why it is closed; nil if it is open.
    public let reason: Reason?
    /// How many change sets are stored.
    public let changeSets: Int
    /// How many of them are dated in the future and wait for their time.
    public let parked: Int
  }

  /// How many records of each kind are visible; what every store begins with is left out.
  public struct Counts: Hashable, Sendable {
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

  /// Something that a person should know until it is over.
  public struct Notice: Hashable, Sendable {
    /// What it is about.
    public let reason: Reason
    /// A clause for people.
    public let text: String
    /// The command of `waymark` that helps; nil if none does.
    public let next: String?
    /// The device that it is about.
    public let device: DeviceKey?
    /// The operation that it is about; see ``Node/undo(_:isForced:)``.
    public let operation: OperationID?
  }

  /// One root of what is not as it should be.
  public struct Cause: Hashable, Sendable {
    /// What it is.
    public let reason: Reason
    /// A clause for people.
    public let text: String
    /// The command of `waymark` that helps; nil if none does.
    public let next: String?
    /// The peer that it is about.
    public let peer: DeviceKey?
    /// The names of the peers whose state follows from it.
    public let consequences: [String]
  }

  /// What would be lost if this disk died now.
  public struct Loss: Hashable, Sendable {
    /// Change sets that no other device is known to hold.
    public let changeSets: Int
    /// What is known of each other device.
    public let devices: [Holder]

    /// One other device.
    public struct Holder: Hashable, Sendable {
      /// The key that names it.
      public let device: DeviceKey
      /// What it is called here.
      public let name: String
      /// Change sets that are here and that it is not known to hold; nil if it never said what it holds.
      public let lacking: Int?
      /// When it last said so.
      public let asOf: Date?
    }
  }
}

extension Node {
  /// What this node knows about itself now.
  ///
  /// - Throws: `WaymarkError` if the store can't be read.
  public func status() throws -> NodeStatus { try read(.status) }
}

extension NodeStatus {
  init(_ snapshot: NodeSnapshot, sync: SyncState, counts: Counts) {
    self.init(
      device: snapshot.device, name: snapshot.name, circle: snapshot.circle, version: WaymarkVersion.text,
      address: snapshot.listen, servingSince: snapshot.runningSince.map(Date.init(milliseconds:)), sync: sync,
      settings: Lane(snapshot.settings), records: Lane(snapshot.records), counts: counts,
      conflicts: snapshot.conflicts,
      peers: snapshot.peers.map { Peer($0, consequenceOf: snapshot.consequence($0)) },
      notices: snapshot.notices.map(Notice.init), causes: snapshot.causes.map(Cause.init),
      loss: Loss(snapshot.loss))
  }
}

extension NodeStatus.Counts {
  init(_ counts: [KindNumber: Int]) {
    func count(_ kind: Kind) -> Int { counts[kind.number] ?? 0 }
    self.init(
      trips: count(Registry.trip), lodging: count(Registry.lodging),
      transportation: count(Registry.transportation), activities: count(Registry.activity),
      organizations: count(Registry.organization), habits: count(Registry.habit),
      categories: count(Registry.category), habitLogs: count(Registry.log), settings: count(Registry.setting))
  }
}

extension NodeStatus.Lane {
  init(_ lane: LaneSnapshot) {
    self.init(
      isOpen: lane.isOpen, reason: lane.reason, changeSets: Int(clamping: lane.changeSets),
      parked: Int(clamping: lane.parked))
  }
}

extension NodeStatus.Notice {
  init(_ notice: NoticeSnapshot) {
    func detail(_ key: String) -> String? { notice.details.first { $0.key == key }?.value.string }
    self.init(
      reason: notice.reason, text: notice.text, next: notice.next,
      device: detail("device").flatMap { DeviceKey(hex: $0) },
      operation: detail("operation").flatMap { OperationID(hex: $0) })
  }
}

extension NodeStatus.Cause {
  init(_ cause: Cause) {
    self.init(
      reason: cause.reason, text: cause.text, next: cause.next, peer: cause.peer?.device,
      consequences: cause.consequences)
  }
}

extension NodeStatus.Loss {
  init(_ loss: LossSnapshot) {
    self.init(
      changeSets: Int(clamping: loss.changeSets),
      devices: loss.peers.map { peer in
        Holder(
          device: peer.device, name: peer.name, lacking: peer.lacking.map { Int(clamping: $0) },
          asOf: peer.asOf.map(Date.init(milliseconds:)))
      })
  }
}
