import Records
import Replication
import Storage
package import Wire

extension Node {
  /// What a setting is: from the settings lane, else the local copy, else its default.
  public func value<Value>(of setting: Setting<Value>) throws -> Value { try read(.setting(setting)) }

  /// Gives a setting a value, here at once and on all devices.
  ///
  /// - Throws: `WaymarkError` with the code `bad_value` for what it can't hold, and `too_many_settings`.
  public func set<Value>(_ setting: Setting<Value>, to value: Value) throws {
    try sayingWhy {
      let written = Wire.Value(value.stored)
      guard written.isWritable else {
        throw WaymarkError.badValue(setting.key, "\(value)", allowed: "it is a finite number")
      }
      if let known = KnownPreference.named(setting.key), known.checked(written) == nil {
        throw WaymarkError.badValue(setting.key, "\(value)", allowed: known.allowed)
      }
      _ = try setSetting(setting.key, to: written)
    }
  }

  /// Takes a setting back, here and on all devices: its default holds again.
  public func remove<Value>(_ setting: Setting<Value>) throws {
    try sayingWhy { _ = try unsetSetting(setting.key) }
  }

  /// All settings that are set, by key.
  public func settings() throws -> [String: StoredSetting] {
    try sayingWhy {
      var found: [String: StoredSetting] = [:]
      for setting in try store.settings() { found[setting.key] = StoredSetting(setting.value) }
      return found
    }
  }

  package var storedSettings: StoredSettings {
    StoredSettings(store: store, copy: home.storage.preferences)
  }

  /// Gives a setting a value here and on all devices, and says whether it had another before.
  package func setSetting(_ key: String, to value: Value) throws -> Bool {
    let draft = try storedSettings.draft(key, value)
    if !draft.isEmpty { try write("settings.set", draft) }
    try storedSettings.copy.update(from: store)
    return !draft.isEmpty
  }

  /// Takes a setting back here and on all devices, and says whether it was set.
  package func unsetSetting(_ key: String, as verb: String = "settings.unset") throws -> Bool {
    let draft = try storedSettings.removal(key)
    if !draft.isEmpty { try write(verb, draft) }
    try storedSettings.copy.update(from: store)
    return !draft.isEmpty
  }

  /// After a commit that touched the settings lane: the copy follows.
  func settingsDidFold() {
    do {
      try storedSettings.copy.update(from: store)
    } catch {
      log.error("settings", "the copy of the settings can't be written: \(error)")
    }
  }
}
