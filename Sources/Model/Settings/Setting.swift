public import Platform
public import Home
import Records
import Replication
import Storage
package import Wire

/// A setting, identified by its key, with its type and default value.
///
/// Settings sync to all of a user's devices, with or without premium. A setting's value is read from the settings
/// lane, or else from the local copy next to the store. If neither has a value, the default applies. A value of
/// another type counts as absent.
///
/// ```swift
/// extension Setting where Value == Bool {
///   static var showsWeekNumbers: Self { Setting("showsWeekNumbers", default: false) }
/// }
/// try await node.set(.showsWeekNumbers, to: true)
/// let scheme = home.value(of: .colorScheme)   // before the store is open
/// ```
public struct Setting<Value: SettingValue>: Hashable, Sendable {
  /// The key of the setting, 1 to 200 characters long and the same on all devices.
  public let key: String
  /// The value that applies if the setting is not set.
  public let defaultValue: Value

  /// Creates a setting. The same key denotes the same setting on all devices.
  public init(_ key: String, default value: Value) {
    self.key = key
    defaultValue = value
  }
}

/// A type that the value of a setting can have: `Bool`, `Int`, `Double`, `String`, `Date`, and enums with raw values.
public protocol SettingValue: Hashable, Sendable {
  /// Converts a stored value; nil if it has another type, in which case the setting counts as absent.
  init?(stored: StoredSetting)
  /// The value in the form in which it is stored.
  var stored: StoredSetting { get }
}

/// The value of a setting in the form in which it is stored.
public enum StoredSetting: Hashable, Sendable {
  /// A value that is true or false.
  case flag(Bool)
  /// A whole number.
  case integer(Int64)
  /// A finite number.
  case number(Double)
  /// A text of at most 64 KiB.
  case text(String)
}

/// The color scheme of an application, which follows the system's appearance or is fixed.
public enum ColorSchemePreference: String, SettingValue, CaseIterable {
  /// The application follows the system's appearance.
  case system
  /// The application is always light.
  case light
  /// The application is always dark.
  case dark
}

extension Setting where Value == ColorSchemePreference {
  /// The color scheme of the application; `system` by default.
  public static var colorScheme: Self { Setting("colorScheme", default: .system) }
}

extension Setting where Value == Int {
  /// The number of minutes in the background after which an application asks for authentication, 0 to 1,440; 5 by
  /// default.
  public static var biometricTimeoutMinutes: Self { Setting("biometricTimeoutMinutes", default: 5) }
}

extension Setting where Value == Date {
  /// When the onboarding was completed, as Ritualist remembers it; the distant past by default.
  public static var onboardingCompletedDate: Self {
    Setting("onboardingCompletedDate", default: .distantPast)
  }
}

extension Setting where Value == String {
  /// The name that the person gave during the onboarding; empty by default.
  public static var onboardingUserName: Self { Setting("onboardingUserName", default: "") }
}

extension Setting where Value == Bool {
  /// Whether the person allowed notifications during the onboarding; false by default.
  public static var hasGrantedNotifications: Self { Setting("hasGrantedNotifications", default: false) }
}

/// How long the files of deleted records stay on a person's devices.
public enum TrashDays: SettingValue {
  /// This many days after the deletion, 1 to 3,650.
  case days(Int)
  /// Until the records are erased.
  case never

  public init?(stored: StoredSetting) {
    if let days = Int(stored: stored) {
      self = .days(days)
    } else if stored == .text("never") {
      self = .never
    } else {
      return nil
    }
  }

  public var stored: StoredSetting {
    switch self {
    case .days(let days): days.stored
    case .never: .text("never")
    }
  }
}

extension Setting where Value == TrashDays {
  /// How long the files of deleted records are kept; 30 days by default. A shorter time applies to files that are in the
  /// trash already: every device deletes those that are due at once.
  public static var trashDays: Self { Setting("trashDays", default: .days(30)) }
}

// MARK: Values

extension Date: SettingValue {
  public init?(stored: StoredSetting) {
    guard case .text(let text) = stored, let time = WrittenTime(text)?.milliseconds else { return nil }
    self.init(milliseconds: time)
  }

  /// The time as text, in UTC and to the millisecond.
  public var stored: StoredSetting { .text(timeText(milliseconds: milliseconds)) }
}

extension Bool: SettingValue {
  public init?(stored: StoredSetting) {
    switch stored {
    case .flag(let flag): self = flag
    // Values typed on the command line are text.
    case .text(let text): if let flag = Bool(text) { self = flag } else { return nil }
    case .integer, .number: return nil
    }
  }

  public var stored: StoredSetting { .flag(self) }
}

extension Int: SettingValue {
  public init?(stored: StoredSetting) {
    let number: Int? =
      switch stored {
      case .integer(let integer): Int(exactly: integer)
      case .number(let number): Int(exactly: number)
      case .text(let text): Int(text)
      case .flag: nil
      }
    guard let number else { return nil }
    self = number
  }

  public var stored: StoredSetting { .integer(Int64(self)) }
}

extension Double: SettingValue {
  public init?(stored: StoredSetting) {
    let number: Double? =
      switch stored {
      case .integer(let integer): Double(integer)
      case .number(let number): number
      case .text(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
      case .flag: nil
      }
    guard let number else { return nil }
    self = number
  }

  /// A number that can't be stored, such as infinity, is rejected when it is set.
  public var stored: StoredSetting { .number(self == 0 ? 0 : self) }
}

extension String: SettingValue {
  public init?(stored: StoredSetting) {
    guard case .text(let text) = stored else { return nil }
    self = text
  }

  public var stored: StoredSetting { .text(self) }
}

extension SettingValue where Self: RawRepresentable, RawValue: SettingValue {
  public init?(stored: StoredSetting) {
    guard let raw = RawValue(stored: stored), let value = Self(rawValue: raw) else { return nil }
    self = value
  }

  public var stored: StoredSetting { rawValue.stored }
}

// MARK: Reading and writing

extension Home {
  /// Returns the value of a setting from this device's copy of the settings, or else the setting's default value. The
  /// store need not be open.
  public func value<Value>(of setting: Setting<Value>) -> Value {
    let copy = storage.preferences.read().first { $0.key == setting.key }?.value
    return setting.read(copy) ?? setting.defaultValue
  }
}

extension Setting {
  /// Returns a stored value if it is valid for this setting.
  package func read(_ value: Wire.Value?) -> Value? {
    let known = KnownPreference.named(key)
    guard let value, known == nil || known?.checked(value) != nil else { return nil }
    return StoredSetting(value).flatMap { Value(stored: $0) }
  }
}

extension StoredSetting {
  /// Converts a value to a stored setting; nil for null, bytes and lists, which no public setting has as its value.
  package init?(_ value: Value) {
    switch value {
    case .bool(let flag): self = .flag(flag)
    case .integer(let integer): self = .integer(integer)
    case .float(let number): self = .number(number)
    case .text(let text): self = .text(text)
    case .null, .bytes, .array: return nil
    }
  }
}

extension Value {
  package init(_ stored: StoredSetting) {
    switch stored {
    case .flag(let flag): self = .bool(flag)
    case .integer(let integer): self = .integer(integer)
    case .number(let number): self = .float(number)
    case .text(let text): self = .text(text)
    }
  }
}
