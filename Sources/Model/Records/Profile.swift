public import Foundation
import Records
import Wire

/// The user's only profile.
///
/// Read it with ``Node/profile()``, change it and save it. It is written as a whole: if two devices change it, the
/// later change wins. ``Node/avatar()`` reads its picture, ``Node/setAvatar(_:)`` sets it.
public struct Profile: Record {
  /// The appearance of the app.
  public enum Appearance: String, CaseIterable, QueryValue, FieldWord {
    /// The system's appearance.
    case system
    /// Dark on light.
    case light
    /// Light on dark.
    case dark
  }

  /// A change of the user's time zone.
  public struct ZoneChange: Hashable, Sendable {
    /// The IANA name of the previous zone.
    public var from: String
    /// The IANA name of the new zone.
    public var to: String
    /// The time of the change.
    public var date: Date

    /// A change from one zone to another.
    public init(from: String, to: String, date: Date) {
      self.from = from
      self.to = to
      self.date = date
    }
  }

  /// Always the same id.
  public let id: UUID
  /// At most 200 characters.
  public var name = ""
  /// The appearance of the app; nil if not set.
  public var appearance: Appearance?
  /// The IANA name of the user's current time zone.
  public var currentTimezone = ""
  /// The IANA name of the user's home time zone.
  public var homeTimezone = ""
  /// The zone in which days are counted.
  public var displayZone = DisplayZone.current
  /// Past zone changes; at most 1,000.
  public var zoneChanges: [ZoneChange] = []
  /// When the profile was created.
  public var createdDate: Date?
  /// When it was last changed; set when it is saved.
  public private(set) var updatedDate: Date?
  /// The habit tracker's id for it.
  public var profileID: UUID?
  /// When the app last synced, as recorded by the app.
  public var lastSynced: Date?
  public var origin = RecordOrigin()

  /// The profile without content; the given id is ignored.
  public init(id: UUID = Profile.only) { self.id = Profile.only }

  /// The id of the profile, the same on all devices of all users.
  public static let only = UUID(Registry.profileID)

  public static let fields = RecordFields<Profile>(
    Registry.profile, id: \.id,
    [
      .text("name", \.name), .field("appearance", \.appearance), .text("currentTimezone", \.currentTimezone),
      .text("homeTimezone", \.homeTimezone), .field("displayTimezoneMode", \.displayZone, absent: .current),
      .field("timezoneChangeHistory", \.zoneChanges, absent: []), .field("createdAt", \.createdDate),
      .field("updatedAt", \.updatedDate), .field("profileId", \.profileID),
      .field("lastSynced", \.lastSynced),
    ])
}

/// The time zone in which a user's days are counted.
public enum DisplayZone: Hashable, Sendable {
  /// The current time zone.
  case current
  /// The home time zone.
  case home
  /// A fixed zone, by its IANA name.
  case custom(String)
}

extension DisplayZone: FieldContent {
  init?(_ value: Value) {
    switch value.asText {
    case nil, "": return nil
    case "current": self = .current
    case "home": self = .home
    case let name?: self = .custom(name)
    }
  }

  var value: Value {
    switch self {
    case .current: .text("current")
    case .home: .text("home")
    case .custom(let name): .text(name)
    }
  }
}

extension Profile.ZoneChange: FieldItem {
  init?(_ item: Value) {
    guard let from = String(item.part(0)), let to = String(item.part(1)), let date = Date(item.part(2)) else {
      return nil
    }
    self.init(from: from, to: to, date: date)
  }

  var item: Value { .array([.text(from), .text(to), date.value]) }
}

extension Profile {
  /// The zone in which this user's days are counted; this machine's if the profile names none that is known.
  public var displayTimeZone: TimeZone {
    let name =
      switch displayZone {
      case .current: currentTimezone
      case .home: homeTimezone
      case .custom(let name): name
      }
    return TimeZone(identifier: name) ?? .current
  }
}
