import Membership
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

  // MARK: Onboarding

  /// Which way a person is welcomed on this device.
  public func onboarding() throws -> Onboarding { try read(.onboarding) }

  /// Onboarding is done: on this device, and, by a setting that reaches all devices, for this person.
  public func completeOnboarding() throws {
    try sayingWhy {
      let draft = try storedSettings.draft(Onboarding.flag, .bool(true))
      if !draft.isEmpty { try write("onboarding.complete", draft) }
      try storedSettings.copy.update(from: store)
      try Onboarding.complete(true, on: loop)
    }
  }

  /// Has this device welcome the person again.
  ///
  /// - Parameter everywhere: takes back the setting on all devices too.
  public func resetOnboarding(everywhere: Bool = false) throws {
    try sayingWhy {
      if everywhere { _ = try unsetSetting(Onboarding.flag, as: "onboarding.reset") }
      try Onboarding.complete(false, on: loop)
    }
  }

  /// What decides which way a person is welcomed, and the device that wrote the synced flag.
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

  /// What a returning user is told about the data that is here.
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
