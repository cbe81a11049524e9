public import ChangeHistory
import Membership
import Model
import NodeOperations
import NodeRuntime
import Records
import Replication
import Storage
import Wire

// Live queries for state that screens show all the time. They are read and watched like records: `node.watch(.peers)`.

extension LiveQuery<SyncState> {
  /// Whether records sync, and if not, why and what to do about it.
  public static var syncState: LiveQuery {
    LiveQuery(.syncState, [.node]) { node, time in
      NodeInspection(of: node, now: time.now).syncState
    }
  }
}

extension LiveQuery<[Peer]> {
  /// The other devices of the circle, connected or not, sorted by name.
  public static var peers: LiveQuery {
    LiveQuery(.peers, [.node]) { node, time in
      try NodeInspection(of: node, now: time.now).status().peers
    }
  }
}

extension LiveQuery<[Conflict]> {
  /// The unresolved conflicts.
  public static var conflicts: LiveQuery {
    LiveQuery(.conflicts, [.records]) { node, _ in
      var reader = ConflictReader(node.historyReader)
      return try reader.all()
    }
  }
}

extension LiveQuery<Onboarding> {
  /// The onboarding state of this device.
  public static var onboarding: LiveQuery {
    LiveQuery(.onboarding, Topic.all) { node, _ in
      switch try OnboardingReader(node).facts().0.flow {
      case .newUser: .newUser
      case .completedHere: .completedHere
      case .returningUser: .returningUser(try OnboardingReader(node).returningUser())
      }
    }
  }
}

extension LiveQuery<StoreHealth> {
  /// Whether the store can be written and trusted. All other watches end when the store fails; this one delivers the
  /// failure.
  public static var storeHealth: LiveQuery {
    LiveQuery(.storeHealth, [.node]) { node, _ in StoreHealth(of: node) }
  }
}

extension LiveQuery where Value: SettingValue {
  /// The value of a setting, from the settings lane; if it has none there, from the local copy; otherwise the default.
  public static func setting(_ setting: Setting<Value>) -> LiveQuery {
    LiveQuery(.setting, [.kind(Kind.setting.number)], setting) { node, _ in
      try node.store.value(of: setting) ?? node.home.value(of: setting)
    }
  }
}

extension LiveQuery {
  /// The value of a setting, and which device set it when. After a value that another device set, an app can say so.
  public static func settingState<Content>(_ setting: Setting<Content>) -> LiveQuery
  where Value == SettingState<Content> {
    LiveQuery(.settingState, [.kind(Kind.setting.number)], setting) { node, _ in
      SettingState(
        value: try node.store.value(of: setting) ?? node.home.value(of: setting),
        setBy: try node.historyReader.author(ofSetting: setting.key))
    }
  }
}

extension Store {
  /// Returns the value of a setting in the settings lane; nil if it has none.
  func value<Value>(of setting: Setting<Value>) throws -> Value? {
    let record = try record(StoredSettings.recordKey(setting.key))
    return setting.read(record.flatMap { $0.isAlive ? $0[StoredSettings.valueField] : nil })
  }
}
