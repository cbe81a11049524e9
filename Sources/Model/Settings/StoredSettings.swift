package import Home
import Reasons
import Records
package import Replication
package import Storage
package import Wire

/// The synced settings in a store, and the copy of them next to the store.
package struct StoredSettings {
  let store: Store
  package let copy: any PreferencesCopy

  package init(store: Store, copy: any PreferencesCopy) { (self.store, self.copy) = (store, copy) }

  /// All settings that have a value from any source, ordered by key, and how much of the limits the synced settings
  /// use.
  package struct Summary: Sendable {
    package let readings: [ResolvedPreference]
    package let count: Int
    package let byteCount: Int
    package let isOverLimit: Bool
  }

  package func summary() throws -> Summary {
    let settings = try store.settings()
    let copied = copy.read()
    let keys = Set(settings.map(\.key) + copied.map(\.key) + KnownPreference.all.map(\.key))
    let readings = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { key in
      Preferences.read(
        key, settings: settings.first { $0.key == key }?.value, copy: copied.first { $0.key == key }?.value)
    }
    return Summary(
      readings: readings, count: settings.count, byteCount: Preferences.byteCount(of: settings),
      isOverLimit: Preferences.isOverLimit(settings))
  }

  /// Returns the value of a setting from the first source that has one; nil if no source has one.
  package func reading(_ key: String) throws -> ResolvedPreference? {
    let record = try store.record(Self.recordKey(key))
    let value = record.flatMap { $0.isAlive ? $0[Self.valueField] : nil }
    return Preferences.read(key, settings: value, copy: copy.read().first { $0.key == key }?.value)
  }

  // MARK: Writing

  /// Returns the entries that set a setting to a value; empty if the setting already has this value.
  ///
  /// - Throws: `WaymarkError` if a limit is exceeded.
  package func draft(_ key: String, _ value: Value) throws -> [EntryDraft] {
    let held = try store.record(Self.recordKey(key))
    if let held, held.isAlive, isSame(value, held[Self.valueField]) { return [] }
    var fields: [(field: FieldNumber, value: Value)] = [(Self.valueField, value)]
    if held == nil { fields.insert((Self.keyField, .text(key)), at: 0) }
    try check(key, value)
    var after = try store.settings().filter { $0.key != key }
    after.append((key, value))
    guard !Preferences.isOverLimit(after) else {
      throw WaymarkError.failed(
        .tooManySettings,
        "Can't set “\(shortened(key))”: the limit is \(Limits.settingsKeysMax) settings and 1 MiB in total.",
        next: .waymark("settings list"))
    }
    // Each value is written as an insert, which writes the life too, so that setting a value wins over an earlier
    // concurrent removal.
    return [EntryDraft(.insert, Self.recordKey(key), fields)]
  }

  /// Returns the entries that remove a setting; empty if it is not set.
  package func removal(_ key: String) throws -> [EntryDraft] {
    guard let record = try store.record(Self.recordKey(key)), record.isAlive else { return [] }
    return [EntryDraft(.delete, record.key)]
  }

  private func check(_ key: String, _ value: Value) throws {
    guard !key.isEmpty else {
      throw WaymarkError.badValue("the name of a setting", key, allowed: "use at least one character")
    }
    let fields = [Self.keyField: Value.text(key), Self.valueField: value]
    do throws(FieldError) {
      try Kind.setting.validate(
        RecordDraft(Kind.setting, Self.recordKey(key).id, fields), isNew: true)
    } catch {
      throw WaymarkError(refused: error, kind: Kind.setting)
    }
    guard value.encoded.count <= Limits.textBytesMax else {
      throw WaymarkError.badValue("the value", "…", allowed: "use at most \(Limits.textBytesMax) bytes")
    }
  }

  // MARK: Records

  package static func recordKey(_ key: String) -> RecordKey {
    RecordKey(kind: KindNumbers.setting, id: RecordID(kind: Kind.setting, key: key))
  }

  private static let keyField = Kind.setting.number("key")
  package static let valueField = Kind.setting.number("value")
}
