package import Records
package import Wire

/// Values that mean "no value" in formats that require one.
///
/// Traveling Snails reads a missing key as its own default value, so its writer leaves such keys out. Ritualist refuses a
/// file that lacks a required key. Its writer therefore writes a placeholder and names its key in `AddedKeys.placeholders`,
/// and the reader treats it as missing as long as the value is unchanged.
package enum Placeholders {
  /// 0001-01-01T00:00:00Z
  static let distantPast: Int64 = -62_135_596_800_000
  /// 4001-01-01T00:00:00Z
  static let distantFuture: Int64 = 64_092_211_200_000
  /// The zone that is written for an entry without a zone, whose day is a UTC day.
  package static let logZone = "UTC"

  /// Returns the placeholder for a field of a record; nil if the formats can omit the value.
  package static func value(_ field: Field, of record: RecordDraft) -> Value? {
    if record.kind == Kind.category, field.name == "displayName" {
      return record[Kind.category.number("name")] ?? .text("")
    }
    return byKind[record.kind]?[field.name]
  }

  private static let byKind: [Kind: [String: Value]] = [
    Kind.profile: profile,
    Kind.category: category,
    Kind.habit: habit,
    Kind.trip: ["createdDate": .integer(0), "isProtected": .bool(false)],
    Kind.lodging: place,
    Kind.activity: place,
    Kind.transportation: ["paid": .text("none"), "type": .text("car")],
    Kind.address: ["location": .array([.float(0), .float(0)])],
    Kind.attachment: ["fileSize": .integer(0), "createdDate": .integer(0)],
  ]

  private static let profile: [String: Value] = [
    "appearance": .text("system"), "currentTimezone": .text("UTC"), "homeTimezone": .text("UTC"),
    "displayTimezoneMode": .text("current"), "timezoneChangeHistory": .array([]), "createdAt": .integer(0),
    "updatedAt": .integer(0), "profileId": .bytes(FixedRecords.profileID.bytes),
  ]

  private static let category: [String: Value] = [
    "name": .text(""), "emoji": .text(""), "order": .integer(0), "isActive": .bool(true),
    "isPredefined": .bool(false),
  ]

  private static let habit: [String: Value] = [
    "name": .text(""), "colorHex": .text("#2DA9E3"), "kind": .text("binary"), "schedule": .text("daily"),
    "reminders": .array([]), "startDate": .integer(0), "isActive": .bool(true), "displayOrder": .integer(0),
    "isPinned": .bool(false), "radius": .float(100), "triggerType": .text("entry"),
    "frequency": .text("oncePerDay"), "isLocationEnabled": .bool(true),
  ]

  private static let place: [String: Value] = ["paid": .text("none"), "hideLocation": .bool(false)]
}

/// Keys that Waymark adds to the rows of other applications' formats, so that an import of its own exports gives exactly
/// the exported values. The applications ignore them.
enum AddedKeys {
  /// The key of a list that names the keys of the row whose values are placeholders.
  static let placeholders = "placeholders"

  /// Returns the key of the exact form of a value that the format rounds: `exactStart` for `start`.
  static func exact(_ key: String) -> String { exactPrefix + key.prefix(1).uppercased() + key.dropFirst() }

  private static let exactPrefix = "exact"

  /// Whether Waymark adds a key to rows that have these keys.
  static func contains(_ key: String, besides known: Set<String>) -> Bool {
    if key == placeholders { return true }
    guard key.hasPrefix(exactPrefix) else { return false }
    let rest = key.dropFirst(exactPrefix.count)
    return known.contains(rest.prefix(1).lowercased() + rest.dropFirst())
  }
}
