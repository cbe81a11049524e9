import Membership
import Model
import Records
import Replication
import Storage
import Wire

extension Node {
  /// Returns the value of a setting, from the settings lane; if it has none there, from the local copy; otherwise the
  /// default.
  public func value<Value>(of setting: Setting<Value>) throws -> Value { try readOnQueue(.setting(setting)) }

  /// Sets a setting, on this device immediately and on the other devices by sync.
  ///
  /// - Throws: `WaymarkError` with the code `bad_value` if the setting can't have the value, or `too_many_settings`.
  public func set<Value>(_ setting: Setting<Value>, to value: Value) throws {
    try core.withWaymarkErrors {
      let written = Wire.Value(value.stored)
      guard written.isWritable else {
        throw WaymarkError.badValue(setting.key, "\(value)", allowed: "expected a finite number")
      }
      if let known = KnownPreference.named(setting.key), known.checked(written) == nil {
        throw WaymarkError.badValue(setting.key, "\(value)", allowed: known.allowed)
      }
      _ = try core.setSetting(setting.key, to: written)
    }
  }

  /// Removes the value of a setting on all devices, so that its default applies again.
  public func remove<Value>(_ setting: Setting<Value>) throws {
    try core.withWaymarkErrors { _ = try core.unsetSetting(setting.key) }
  }

  /// Returns all settings that have a value, by key.
  public func settings() throws -> [String: StoredSetting] {
    try core.withWaymarkErrors {
      var found: [String: StoredSetting] = [:]
      for setting in try core.store.settings() { found[setting.key] = StoredSetting(setting.value) }
      return found
    }
  }

  // MARK: Onboarding

  /// Returns the onboarding state of this device.
  public func onboarding() throws -> Onboarding { try readOnQueue(.onboarding) }

  /// Marks onboarding as completed on this device, and notes in a synced setting that the person has completed it.
  public func completeOnboarding() throws {
    try core.withWaymarkErrors {
      let draft = try core.storedSettings.draft(Onboarding.flag, .bool(true))
      if !draft.isEmpty { try core.write("onboarding.complete", draft) }
      try core.storedSettings.copy.update(from: core.store)
      try Onboarding.complete(true, on: core.loop)
    }
  }

  /// Resets onboarding on this device, so that the person is welcomed again.
  ///
  /// - Parameter everywhere: whether to remove the synced setting, too.
  public func resetOnboarding(everywhere: Bool = false) throws {
    try core.withWaymarkErrors {
      if everywhere { _ = try core.unsetSetting(Onboarding.flag, as: "onboarding.reset") }
      try Onboarding.complete(false, on: core.loop)
    }
  }
}
