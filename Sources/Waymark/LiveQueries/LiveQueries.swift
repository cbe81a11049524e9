public import struct ChangeHistory.Conflict
import Membership
import Records
import Replication
import Storage
import Wire

// What views show all the time, to be read and watched like records: `node.watch(.peers)`.

extension LiveQuery<SyncState> {
  /// Whether records sync, and if not, why and what helps.
  public static var syncState: LiveQuery {
    LiveQuery(.syncState, [.node]) { node, time in
      NodeInspection(of: node, now: time.now).syncState
    }
  }
}

extension LiveQuery<NodeStatus> {
  /// What a node knows about itself.
  public static var status: LiveQuery {
    LiveQuery(.status, Topic.all) { node, time in
      try NodeInspection(of: node, now: time.now).status()
    }
  }
}

extension LiveQuery<[Peer]> {
  /// The other devices of the circle, connected or not, by name.
  public static var peers: LiveQuery {
    LiveQuery(.peers, [.node]) { node, time in
      try NodeInspection(of: node, now: time.now).status().peers
    }
  }
}

extension LiveQuery<[CircleMember]> {
  /// The devices of the circle, this one among them, then those that were revoked.
  public static var members: LiveQuery {
    LiveQuery(.members, [.node]) { node, time in
      let evaluation = node.circle.evaluation
      return [evaluation.members, evaluation.revoked].flatMap { devices in
        devices.values.sorted { ($0.name, $0.device) < ($1.name, $1.device) }
          .map { CircleMember($0, on: node, now: time.now) }
      }
    }
  }
}

extension LiveQuery<[Conflict]> {
  /// The conflicts that wait for a look.
  public static var conflicts: LiveQuery {
    LiveQuery(.conflicts, Topic.records) { node, _ in
      var reader = ConflictReader(node.historyReader)
      return try reader.all()
    }
  }
}

extension LiveQuery<[MassDeletion]> {
  /// Large deletions by other devices, until they are undone or acknowledged.
  public static var massDeletions: LiveQuery {
    LiveQuery(.massDeletions, Topic.all) { node, _ in try node.historyReader.massDeletions() }
  }
}

extension LiveQuery<[History.Operation]> {
  /// What was done in the circle, newest first.
  ///
  /// - Parameter limit: from 1 on.
  public static func history(limit: Int = 20) -> LiveQuery {
    LiveQuery(.history, Topic.records) { node, _ in try node.historyReader.operations(limit) }
  }
}

extension LiveQuery<Onboarding> {
  /// Which way a person is welcomed on this device.
  public static var onboarding: LiveQuery {
    LiveQuery(.onboarding, Topic.all) { node, _ in
      switch try node.onboardingFacts().0.flow {
      case .newUser: .newUser
      case .completedHere: .completedHere
      case .returningUser: .returningUser(try node.returningUser())
      }
    }
  }
}

extension LiveQuery where Value: SettingValue {
  /// What a setting is: from the settings lane, else the local copy, else its default.
  public static func setting(_ setting: Setting<Value>) -> LiveQuery {
    LiveQuery(.setting, [.kind(Registry.setting.number)]) { node, _ in
      let record = try node.store.record(StoredSettings.recordKey(setting.key))
      let value = record.flatMap { $0.isAlive ? $0[StoredSettings.valueField] : nil }
      return setting.read(value) ?? node.home.value(of: setting)
    }
  }
}
