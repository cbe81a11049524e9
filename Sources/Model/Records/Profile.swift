public import Platform
import Records
import Replication
import Wire

/// The user's only profile.
///
/// To change the profile, read it with ``Node/profile()``, edit the value and save it. A profile is always written as
/// a whole: if two devices change it concurrently, the later change wins. ``Node/avatar()`` reads the profile
/// picture, and ``Node/setAvatar(_:)`` sets it.
public struct Profile: Record {
  /// The appearance of the app.
  public enum Appearance: String, Codable, CaseIterable, QueryValue, FieldWord {
    /// The app follows the system's appearance.
    case system
    /// The app shows dark text on a light background.
    case light
    /// The app shows light text on a dark background.
    case dark
  }

  /// A change of the user's time zone.
  public struct ZoneChange: Hashable, Sendable, Codable {
    /// The IANA name of the previous zone.
    public var from: String
    /// The IANA name of the new zone.
    public var to: String
    /// The time of the change.
    public var date: Date

    /// Creates a change from one zone to another.
    public init(from: String, to: String, date: Date) {
      self.from = from
      self.to = to
      self.date = date
    }
  }

  /// The id of the profile, which is always ``only``.
  public let id: ID
  /// The user's name, at most 200 characters long.
  public var name = ""
  /// The appearance of the app; nil if it is not set.
  public var appearance: Appearance?
  /// The IANA name of the user's current time zone.
  public var currentZone = ""
  /// The IANA name of the user's home time zone.
  public var homeZone = ""
  /// The time zone that determines on which day an entry counts.
  public var displayZone = DisplayZone.current
  /// The past changes of the user's time zone, at most 1,000.
  public var zoneChanges: [ZoneChange] = []
  /// The time when the profile was created.
  public var createdDate: Date?
  /// The time when the profile was last changed, which is set when the profile is saved.
  public private(set) var updatedDate: Date?
  /// The id that the habit tracker uses for the profile.
  public var profileID: UUID?
  /// The time when the app last synced, as recorded by the app.
  public var lastSyncedDate: Date?
  /// The user's gender as the app names it, at most 100 characters long; empty if it is not set.
  public var gender = ""
  /// The user's age group as the app names it, at most 100 characters long; empty if it is not set.
  public var ageGroup = ""
  public var origin = RecordOrigin()

  /// Creates an empty profile. The given id is ignored, because there is only one profile.
  public init(id: ID = Profile.only) { self.id = Profile.only }

  /// The id of the profile. It is the same for all users, on all devices.
  public static let only = Profile.ID(FixedRecords.profile.id)

  public static let fields = RecordFields<Profile>(
    Kind.profile, id: \.id,
    [
      .text("name", \.name), .field("appearance", \.appearance), .text("currentTimezone", \.currentZone),
      .text("homeTimezone", \.homeZone), .field("displayTimezoneMode", \.displayZone, absent: .current),
      .field("timezoneChangeHistory", \.zoneChanges, absent: []), .field("createdAt", \.createdDate),
      .field("updatedAt", \.updatedDate), .field("profileId", \.profileID),
      .field("lastSynced", \.lastSyncedDate), .text("gender", \.gender), .text("ageGroup", \.ageGroup),
    ])
}

/// The time zone that determines on which day a user's entries count.
public enum DisplayZone: Hashable, Sendable, Codable {
  /// The user's current time zone.
  case current
  /// The user's home time zone.
  case home
  /// A fixed time zone, given by its IANA name.
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
  /// The time zone that the display zone stands for. It is this machine's time zone if the profile names none, or one
  /// that is unknown.
  public var displayTimeZone: TimeZone { shownZone.timeZone }

  var shownZone: Zone {
    let name =
      switch displayZone {
      case .current: currentZone
      case .home: homeZone
      case .custom(let name): name
      }
    return Zone(named: name) ?? .current
  }
}
