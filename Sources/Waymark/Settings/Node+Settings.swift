import Membership
import Records
import Replication
import Storage
package import Wire

extension Node {
  /// Returns the value of a setting, from the settings lane; if it has none there, from the local copy; otherwise the
  /// default.
  public func value<Value>(of setting: Setting<Value>) throws -> Value { try read(.setting(setting)) }

  /// Sets a setting, on this device immediately and on the other devices by sync.
  ///
  /// - Throws: `WaymarkError` with the code `bad_value` if the setting can't have the value, or `too_many_settings`.
  public func set<Value>(_ setting: Setting<Value>, to value: Value) throws {
    try withWaymarkErrors {
      let written = Wire.Value(value.stored)
      guard written.isWritable else {
        throw WaymarkError.badValue(setting.key, "\(value)", allowed: "expected a finite number")
      }
      if let known = KnownPreference.named(setting.key), known.checked(written) == nil {
        throw WaymarkError.badValue(setting.key, "\(value)", allowed: known.allowed)
      }
      _ = try setSetting(setting.key, to: written)
    }
  }

  /// Removes the value of a setting on all devices, so that its default applies again.
  public func remove<Value>(_ setting: Setting<Value>) throws {
    try withWaymarkErrors { _ = try unsetSetting(setting.key) }
  }

  /// Returns all settings that have a value, by key.
  public func settings() throws -> [String: StoredSetting] {
    try withWaymarkErrors {
      var found: [String: StoredSetting] = [:]
      for setting in try store.settings() { found[setting.key] = StoredSetting(setting.value) }
      return found
    }
  }

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
  func settingsDidFold() {
    do {
      try storedSettings.copy.update(from: store)
    } catch {
      logger.error("settings", "the copy of the settings can't be written: \(error)")
    }
    followInvitationSoon()
  }

  // MARK: Onboarding

  /// Returns the onboarding state of this device.
  public func onboarding() throws -> Onboarding { try read(.onboarding) }

  /// Marks onboarding as completed on this device, and notes in a synced setting that the person has completed it.
  public func completeOnboarding() throws {
    try withWaymarkErrors {
      let draft = try storedSettings.draft(Onboarding.flag, .bool(true))
      if !draft.isEmpty { try write("onboarding.complete", draft) }
      try storedSettings.copy.update(from: store)
      try Onboarding.complete(true, on: loop)
    }
  }

  /// Resets onboarding on this device, so that the person is welcomed again.
  ///
  /// - Parameter everywhere: whether to remove the synced setting, too.
  public func resetOnboarding(everywhere: Bool = false) throws {
    try withWaymarkErrors {
      if everywhere { _ = try unsetSetting(Onboarding.flag, as: "onboarding.reset") }
      try Onboarding.complete(false, on: loop)
    }
  }

  /// Returns the facts that decide the onboarding state, and the device that wrote the synced flag.
  package func onboardingFacts() throws -> (OnboardingFacts, DeviceKey?) {
    let isSet = try storedSettings.reading(Onboarding.flag)?.value == .bool(true)
    let source =
      isSet
      ? try store.author(of: StoredSettings.recordKey(Onboarding.flag), field: StoredSettings.valueField)
      : nil
    let arrived = replica.records.heads.sorted.contains { $0.log.device != identity.device }
    let facts = OnboardingFacts(
      isFlagSet: isSet, isFlagFromElsewhere: source.map { $0 != identity.device } ?? false,
      isCompletedHere: try Onboarding.isCompleted(in: store),
      isPremium: replica.ownGate(now: wall()).isPremium,
      haveRecordsArrived: arrived)
    return (facts, source)
  }

  /// Returns a summary of the data on this device, for a returning user.
  package func returningUser() throws -> Onboarding.ReturningUser {
    let profile = try store.heldProfile()
    func text(_ field: String) -> String? {
      let text = profile.text(Registry.profile.number(field)) ?? ""
      return text.isEmpty ? nil : text
    }
    let isMissing: [Onboarding.ProfilePart: Bool] = [
      .name: text("name") == nil, .avatar: (profile[ProfileWrite.avatar] ?? .null).isEmpty,
      .appearance: text("appearance") == nil, .homeTimezone: text("homeTimezone") == nil,
    ]
    let counts = try store.visibleCounts()
    return Onboarding.ReturningUser(
      habits: counts[KindNumbers.habit] ?? 0, categories: counts[KindNumbers.category] ?? 0,
      trips: counts[KindNumbers.trip] ?? 0, profileName: text("name"),
      missing: Onboarding.ProfilePart.allCases.filter { isMissing[$0] == true })
  }
}
