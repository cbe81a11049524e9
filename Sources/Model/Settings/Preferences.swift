import Home
package import JSONDocument
package import Reasons
import Records
import Storage
package import Wire

/// A preference that this version knows, with its type and default value.
package struct KnownPreference: Sendable {
  package let key: String
  let defaultValue: Value
  /// A clause that says which values are allowed, for error messages.
  package let allowed: LocalizableText
  private let parse: @Sendable (String) -> Value?
  private let accepts: @Sendable (Value) -> Bool

  private init(
    _ key: String, default value: Value, allowed: LocalizableText,
    parse: @escaping @Sendable (String) -> Value?,
    accepts: @escaping @Sendable (Value) -> Bool
  ) {
    self.key = key
    defaultValue = value
    self.allowed = allowed
    self.parse = parse
    self.accepts = accepts
  }

  static let colorScheme = KnownPreference(
    "colorScheme", default: .text("system"), allowed: "use system, light or dark",
    parse: { .text($0) },
    accepts: { [.text("system"), .text("light"), .text("dark")].contains($0) })

  static let biometricTimeoutMinutes = KnownPreference(
    "biometricTimeoutMinutes", default: .integer(5), allowed: "use a whole number of minutes, 0 to 1440",
    parse: { Int64($0).map(Value.integer) },
    accepts: {
      guard case .integer(let minutes) = $0 else { return false }
      return (0...1_440).contains(minutes)
    })

  package static let hasCompletedOnboarding = KnownPreference(
    "hasCompletedOnboarding", default: .bool(false), allowed: "use true or false",
    parse: { ["true": .bool(true), "false": .bool(false)][$0.lowercased()] },
    accepts: { $0 == .bool(true) || $0 == .bool(false) })

  static let trashDays = KnownPreference(
    TrashRetention.settingKey, default: .integer(30),
    allowed: "use a whole number of days, 1 to \(Limits.trashDaysMax), or never",
    parse: { Int64($0).map(Value.integer) ?? .text($0.lowercased()) },
    accepts: { TrashRetention($0) != nil })

  package static let syncInvited = KnownPreference(
    "sync.invited", default: .bool(false), allowed: "use true or false",
    parse: { ["true": .bool(true), "false": .bool(false)][$0.lowercased()] },
    accepts: { $0 == .bool(true) || $0 == .bool(false) })

  static let onboardingCompletedDate = KnownPreference(
    "onboardingCompletedDate", default: .null,
    allowed: "use a time with an offset, as in 2026-05-03T15:00:00Z",
    parse: { .text($0) },
    accepts: { $0.asText.flatMap { WrittenTime($0)?.milliseconds } != nil })

  static let hasGrantedNotifications = KnownPreference(
    "hasGrantedNotifications", default: .null, allowed: "use true or false",
    parse: { ["true": .bool(true), "false": .bool(false)][$0.lowercased()] },
    accepts: { $0 == .bool(true) || $0 == .bool(false) })

  static let all = [
    colorScheme, biometricTimeoutMinutes, hasCompletedOnboarding, onboardingCompletedDate,
    hasGrantedNotifications,
    trashDays, syncInvited,
  ]

  package static func named(_ key: String) -> KnownPreference? { all.first { $0.key == key } }

  /// Returns the value if it is valid for this preference. A value of another type or outside the range counts as
  /// absent.
  package func checked(_ value: Value?) -> Value? { value.flatMap { accepts($0) ? $0 : nil } }

  /// Returns the value that a typed text stands for; nil if it is not valid for this preference.
  func read(_ text: String) -> Value? { checked(parse(text)) }
}

/// The value of a preference, and the source from which the value was read.
package struct ResolvedPreference: Hashable, Sendable {
  /// The sources in the order of precedence: the settings lane, the local copy, and the default.
  package enum Source: String, Sendable, Codable {
    case settings
    case copy
    case `default`
  }

  package let key: String
  package let value: Value
  package let source: Source

  /// The value in the form that JSON documents use.
  package var shown: JSON { value.documentJSON }

  init(key: String, value: Value, source: Source) {
    self.key = key
    self.value = value
    self.source = source
  }
}

extension ResolvedPreference: Codable {
  private enum CodingKeys: CodingKey {
    case key
    case value
    case source
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    key = try container.decode(String.self, forKey: .key)
    value = Value(documentJSON: try container.decode(JSON.self, forKey: .value)) ?? .null
    source = try container.decode(Source.self, forKey: .source)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(key, forKey: .key)
    try container.encode(shown, forKey: .value)
    try container.encode(source, forKey: .source)
  }
}

extension Preferences {
  package static func byteCount(of settings: [(key: String, value: Value)]) -> Int {
    settings.reduce(0) { $0 + byteCount(key: $1.key, value: $1.value) }
  }

  package static func isOverLimit(_ settings: [(key: String, value: Value)]) -> Bool {
    settings.count > Limits.settingsKeysMax || byteCount(of: settings) > Limits.settingsBytesMax
  }
}

/// Determines which source a preference is read from, independently of how the sources are stored.
package enum Preferences {
  /// Returns the first valid value among those from the settings lane, the local copy and the default; nil if there
  /// is none.
  static func read(_ key: String, settings: Value?, copy: Value?) -> ResolvedPreference? {
    let known = KnownPreference.named(key)
    let candidates: [(Value?, ResolvedPreference.Source)] = [
      (settings, .settings), (copy, .copy), (known?.defaultValue, .default),
    ]
    for (value, source) in candidates {
      guard let value, !value.isEmpty else { continue }
      if let known, known.checked(value) == nil { continue }
      return ResolvedPreference(key: key, value: value, source: source)
    }
    return nil
  }

  /// Returns the value that a typed text stands for. The value of a preference that this version does not know is the
  /// text itself.
  package static func value(of text: String, for key: String) throws -> Value {
    guard let known = KnownPreference.named(key) else { return .text(text) }
    guard let value = known.read(text) else {
      throw WaymarkError.badValue(key, text, allowed: known.allowed)
    }
    return value
  }

  /// Returns the number of bytes that one preference adds to the total size, which is limited.
  package static func byteCount(key: String, value: Value) -> Int {
    key.utf8.count + value.encoded.count
  }
}
