import Records
import Replication
import Wire

// What views show all the time, to be read and watched like records: `node.watch(.peers)`.

extension Reading<SyncState> {
  /// Whether records sync, and if not, why and what helps.
  public static var syncState: Reading { Reading([.node]) { try $0.syncState() } }
}

extension Reading<NodeStatus> {
  /// What a node knows about itself.
  public static var status: Reading { Reading(Topic.all) { try $0.status() } }
}

extension Reading<[Peer]> {
  /// The other devices of the circle, connected or not, by name.
  public static var peers: Reading { Reading([.node]) { try $0.peers() } }
}

extension Reading<[CircleMember]> {
  /// The devices of the circle, this one among them, then those that were revoked.
  public static var members: Reading { Reading([.node]) { try $0.members() } }
}

extension Reading<[Conflict]> {
  /// The conflicts that wait for a look.
  public static var conflicts: Reading { Reading(Topic.records) { try $0.conflicts() } }
}

extension Reading<[MassDelete]> {
  /// Large deletions by other devices, until they are undone or acknowledged.
  public static var massDeletes: Reading { Reading(Topic.all) { try $0.massDeletes() } }
}

extension Reading<[History.Operation]> {
  /// What was done in the circle, newest first.
  ///
  /// - Parameter limit: from 1 on.
  public static func history(limit: Int = 20) -> Reading {
    Reading(Topic.records) { try $0.newestOperations(limit) }
  }
}

extension Reading<Onboarding> {
  /// Which way a person is welcomed on this device.
  public static var onboarding: Reading { Reading(Topic.all) { try $0.onboarding() } }
}

extension Reading where Value: SettingValue {
  /// What a setting is: from the settings lane, else the local copy, else its default.
  public static func setting(_ setting: Setting<Value>) -> Reading {
    Reading([.kind(Registry.setting.number)]) { try $0.value(of: setting) }
  }
}
