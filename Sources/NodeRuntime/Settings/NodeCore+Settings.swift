import Engine
import Home
package import Model
import Records
import Replication
package import Wire

extension NodeCore {
  /// The settings in the store, with their copy in the home.
  package var storedSettings: StoredSettings {
    StoredSettings(store: store, copy: home.storage.preferences)
  }

  /// Sets a setting on all devices.
  ///
  /// - Returns: whether the value has changed.
  package func setSetting(_ key: String, to value: Value) throws -> Bool {
    let draft = try storedSettings.draft(key, value)
    if !draft.isEmpty { try write("settings.set", draft) }
    try storedSettings.copy.update(from: store)
    return !draft.isEmpty
  }

  /// Removes the value of a setting on all devices.
  ///
  /// - Returns: whether the setting had a value.
  package func unsetSetting(_ key: String, as verb: String = "settings.unset") throws -> Bool {
    let draft = try storedSettings.removal(key)
    if !draft.isEmpty { try write(verb, draft) }
    try storedSettings.copy.update(from: store)
    return !draft.isEmpty
  }

  /// Updates the local copy of the settings after a commit in the settings lane.
  package func settingsDidFold() {
    do {
      try storedSettings.copy.update(from: store)
    } catch {
      logger.error("settings", "the copy of the settings can't be written: \(error)")
    }
    followInvitationSoon()
  }
}
