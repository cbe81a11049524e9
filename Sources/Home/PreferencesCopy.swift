import JSONDocument
import Records
package import Storage
import Synchronization
package import Wire

/// A copy of all preferences next to the store, which can be read without opening the store.
package protocol PreferencesCopy: Sendable {
  /// Whether the copy was ever written.
  var exists: Bool { get }
  /// Reads the copy. Returns nothing if the copy is missing or unreadable, because the store has the original.
  func read() -> [(key: String, value: Value)]
  /// Writes all preferences, ordered by key.
  func write(_ preferences: [(key: String, value: Value)]) throws
}

extension PreferencesCopy {
  /// Updates the copy from the settings in a store.
  package func update(from store: Store) throws {
    let settings = try store.settings().sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    let copied = read()
    let isCurrent =
      copied.count == settings.count
      && zip(copied, settings).allSatisfy { $0.key == $1.key && $0.value.encoded == $1.value.encoded }
    if !isCurrent || !exists { try write(settings) }
  }
}

extension Store {
  /// Returns all settings that have a value, each with its key.
  package func settings() throws -> [(key: String, value: Value)] {
    let kind = Kind.setting
    return try records(RecordQuery(kind.number)).compactMap { record in
      guard case .text(let key)? = record[kind.number("key")], let value = record[kind.number("value")],
        !value.isEmpty
      else { return nil }
      return (key, value)
    }
  }
}

/// The copy in a file, as a JSON object.
struct PreferencesFile: PreferencesCopy {
  let path: String

  init(path: String) { self.path = path }

  var exists: Bool { Files.exists(path) }

  func read() -> [(key: String, value: Value)] {
    guard let bytes = try? Files.read(path, bytesMax: 4 * Limits.settingsBytesMax),
      let members = (try? JSON.parse(bytes))?.members
    else { return [] }
    return members.compactMap { member in Value(documentJSON: member.value).map { (member.key, $0) } }
  }

  func write(_ preferences: [(key: String, value: Value)]) throws {
    let members = preferences.map { JSON.Member($0.key, $0.value.documentJSON) }
    let layout = JSON.Layout(isPretty: true, sortsKeys: true)
    try Files.replace(path, with: JSON.object(members).bytes(layout) + [0x0a], mode: 0o600)
  }
}

/// The copy of a home in memory.
final class InMemoryPreferences: PreferencesCopy, Sendable {
  private let kept = Mutex<[(key: String, value: Value)]?>(nil)

  var exists: Bool { kept.withLock { $0 != nil } }

  func read() -> [(key: String, value: Value)] { kept.withLock { $0 ?? [] } }

  func write(_ preferences: [(key: String, value: Value)]) { kept.withLock { $0 = preferences } }
}
