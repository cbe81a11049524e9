import Records
import Replication
import Storage
import Wire

/// `settings list|get|set|unset`: preferences, in the settings lane and in a copy beside the store.
extension Node {
  func listSettings(_ request: CommandRequest) throws -> JSON {
    let settings = try heldSettings()
    let copy = preferencesCopy.read()
    let keys = Set(settings.map(\.key) + copy.map(\.key) + KnownPreference.all.map(\.key))
    let readings = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { key in
      Preferences.read(
        key, settings: settings.first { $0.key == key }?.value, copy: copy.first { $0.key == key }?.value)
    }
    return document(
      request.command,
      [
        .init("settings", .array(readings.map(\.json))), .init("keys", .integer(settings.count)),
        .init("bytes", .integer(Preferences.byteCount(of: settings))),
        .init("overLimit", .bool(Preferences.isOverLimit(settings))),
      ])
  }

  func getSetting(_ request: CommandRequest) throws -> JSON {
    let key = try request.required("key", "the name of a setting")
    guard let reading = try readPreference(key) else {
      throw WaymarkError.notFound("setting", key, next: "waymark settings list")
    }
    return document(request.command, reading.json.members ?? [])
  }

  func setSetting(_ request: CommandRequest) throws -> JSON {
    let key = try request.required("key", "the name of a setting")
    let value = try Preferences.value(of: try request.required("value", "a value"), for: key)
    let draft = try settingDraft(key, value)
    if !draft.isEmpty { _ = try write(request.command, draft) }
    try copyPreferences()
    return document(
      request.command,
      [
        .init("key", .string(key)), .init("value", value.documentJSON),
        .init("changed", .bool(!draft.isEmpty)),
      ])
  }

  func unsetSetting(_ request: CommandRequest) throws -> JSON {
    let key = try request.required("key", "the name of a setting")
    let record = try store.record(Self.settingKey(key))
    let isSet = record?.isAlive == true
    if let record, isSet { _ = try write(request.command, [EntryDraft(.delete, record.key)]) }
    try copyPreferences()
    return document(request.command, [.init("key", .string(key)), .init("changed", .bool(isSet))])
  }

  // MARK: What other features use

  static func settingKey(_ key: String) -> RecordKey {
    RecordKey(kind: KindNumbers.setting, id: RecordID(kind: Registry.setting, key: key))
  }

  /// The preference in the reading order; nil if nothing holds it.
  func readPreference(_ key: String) throws -> PreferenceReading? {
    let record = try store.record(Self.settingKey(key))
    let value = record.flatMap { $0.isAlive ? $0[Self.settingValue] : nil }
    return Preferences.read(
      key, settings: value, copy: preferencesCopy.read().first { $0.key == key }?.value)
  }

  /// The entries that give a setting a value; none if it has it. Refuses what is beyond the limits.
  func settingDraft(_ key: String, _ value: Value) throws -> [EntryDraft] {
    let held = try store.record(Self.settingKey(key))
    if let held, held.isAlive, isSame(value, held[Self.settingValue]) { return [] }
    var fields: [(field: FieldNumber, value: Value)] = [(Self.settingValue, value)]
    if held == nil { fields.insert((Registry.setting.number("key"), .text(key)), at: 0) }
    try checkSetting(key, value)
    var after = try heldSettings().filter { $0.key != key }
    after.append((key, value))
    guard !Preferences.isOverLimit(after) else {
      throw WaymarkError.failed(
        "too_many_settings",
        "There is no room for “\(shortened(key))”: at most \(Limits.settingsKeysMax) settings and 1 MiB in all.",
        next: "waymark settings list")
    }
    // Its life goes with each value: what is set later than it was unset elsewhere, unaware, is set.
    return [EntryDraft(.put, Self.settingKey(key), [(Fields.life, .bool(true))] + fields)]
  }

  private func checkSetting(_ key: String, _ value: Value) throws {
    guard !key.isEmpty else {
      throw WaymarkError.badValue("the name of a setting", key, allowed: "it has at least one character")
    }
    let fields = [Registry.setting.number("key"): Value.text(key), Self.settingValue: value]
    do throws(FieldError) {
      try Registry.setting.validate(
        RecordDraft(Registry.setting, Self.settingKey(key).id, fields), isNew: true)
    } catch {
      throw WaymarkError(refused: error, kind: Registry.setting)
    }
    guard value.encoded.count <= Limits.textBytesMax else {
      throw WaymarkError.badValue("the value", "…", allowed: "it has at most \(Limits.textBytesMax) bytes")
    }
  }

  /// All settings that are set, by key.
  func heldSettings() throws -> [(key: String, value: Value)] {
    let keyField = Registry.setting.number("key")
    return try store.visible(Registry.setting).compactMap { record in
      guard let key = record.text(keyField), let value = record[Self.settingValue], !value.isEmpty else {
        return nil
      }
      return (key, value)
    }
  }

  private static let settingValue = Registry.setting.number("value")

  var preferencesCopy: any PreferencesCopy { home.storage.preferences }

  /// After a commit that touched the settings lane: the copy follows.
  func settingsDidFold() {
    do {
      try copyPreferences()
    } catch {
      log.error("settings", "the copy of the settings can't be written: \(error)")
    }
  }

  /// Brings the local copy up to date with the settings lane.
  func copyPreferences() throws {
    let settings = try heldSettings().sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    let copy = preferencesCopy.read()
    let isSame =
      copy.count == settings.count
      && zip(copy, settings).allSatisfy { $0.key == $1.key && Waymark.isSame($0.value, $1.value) }
    if !isSame || !preferencesCopy.exists { try preferencesCopy.write(settings) }
  }
}

extension PreferenceReading {
  var json: JSON {
    ["key": .string(key), "value": value.documentJSON, "source": .string(source.rawValue)]
  }
}

extension Preferences {
  static func byteCount(of settings: [(key: String, value: Value)]) -> Int {
    settings.reduce(0) { $0 + byteCount(key: $1.key, value: $1.value) }
  }

  static func isOverLimit(_ settings: [(key: String, value: Value)]) -> Bool {
    settings.count > Limits.settingsKeysMax || byteCount(of: settings) > Limits.settingsBytesMax
  }
}
