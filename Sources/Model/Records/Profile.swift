public import Foundation
import Records
import Wire

/// The person's one profile.
///
/// Read it by ``Node/profile()``, change it, save it. It is written as a whole: of two devices that change it, the later
/// one wins. Its picture is read by
/// ``Node/avatar()`` and set by ``Node/setAvatar(_:)``.
public struct Profile: Record {
  /// How the app looks.
  public enum Appearance: String, CaseIterable, QueryValue, FieldWord {
    /// As the device is set.
    case system
    /// Dark on light.
    case light
    /// Light on dark.
    case dark
  }

  /// A change of the zone that the person is in.
  public struct ZoneChange: Hashable, Sendable {
    /// IANA names.
    public var from: String
    /// The IANA name of the new one.
    public var to: String
    /// When it changed.
    public var date: Date

    /// A change from one zone to another.
    public init(from: String, to: String, date: Date) {
      self.from = from
      self.to = to
      self.date = date
    }
  }

  /// Always the same.
  public let id: UUID
  /// At most 200 characters.
  public var name = ""
  /// How the app looks; nil if the person has not said.
  public var appearance: Appearance?
  /// The IANA name of the zone that the person is in.
  public var currentTimezone = ""
  /// The IANA name of the zone that the person lives in.
  public var homeTimezone = ""
  /// Which zone days are counted in.
  public var displayZone = DisplayZone.current
  /// At most 1,000.
  public var zoneChanges: [ZoneChange] = []
  /// When it was made.
  public var createdDate: Date?
  /// When it was last changed; saving sets it.
  public private(set) var updatedDate: Date?
  /// What the habit tracker names it by.
  public var profileID: UUID?
  /// When the app last synced, as it notes it.
  public var lastSynced: Date?
  public var origin = RecordOrigin()

  /// The one profile, without content; whatever id is given, it is this one.
  public init(id: UUID = Profile.only) { self.id = Profile.only }

  /// The id of the profile, the same on all devices of all people.
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

/// The zone in which a person's days are counted.
public enum DisplayZone: Hashable, Sendable {
  /// Where the person is.
  case current
  /// Where the person lives.
  case home
  /// One that the person has chosen, by its IANA name.
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
  /// The zone in which this person's days are counted; that of this machine if the profile names none that it knows.
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
