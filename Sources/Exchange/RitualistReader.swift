import JSONDocument
import Records
import Wire

/// Reads Ritualist's JSON export.
struct RitualistReader {
  private let zones: ZoneOffsets
  private var builder = PlanBuilder()
  /// The habits that are skipped, whose logs are skipped too.
  private var skippedHabits: Set<RecordID> = []

  init(zones: ZoneOffsets) { self.zones = zones }

  mutating func read(_ text: JSONText) throws(ExchangeError) -> ImportPlan {
    try ExchangeFormat.ritualist.checkLists(["categories", "habits", "habitLogs"], of: text)
    readOnboarding(text)
    readProfile(text)
    each(text, "categories") { (reader, index, row) in
      reader.attempt(Location("categories", index)) { (reader) throws(RowError) in
        try reader.readCategory(row)
      }
    }
    each(text, "habits") { (reader, index, row) in
      let id = row["id"]?.string.flatMap { RecordID(uuid: $0) }
      let isRead = reader.attempt(Location("habits", index)) { (reader) throws(RowError) in
        try reader.readHabit(row)
      }
      guard let id else { return }
      if isRead {
        // An earlier row with this id may have been refused.
        reader.skippedHabits.remove(id)
      } else if reader.builder.draft(Kind.habit, id) == nil {
        reader.skippedHabits.insert(id)
      }
    }
    readLogs(text)
    return builder.plan(.ritualist)
  }

  /// Runs a step for each row of a list of the file, one at a time.
  private mutating func each(
    _ text: JSONText, _ key: String, _ step: (inout RitualistReader, Int, JSON) -> Void
  ) {
    guard let rows = text.list(key) else { return }
    for (index, row) in rows.enumerated() { step(&self, index, row) }
  }

  private static let topKeys: Set = [
    "exportedAt", "avatar", "profile", "habits", "categories", "habitLogs", "syncMetadata",
    OnboardingDetails.key,
  ]

  /// Runs a step for one row; if it fails, reports that the row is skipped and returns false.
  @discardableResult
  private mutating func attempt(
    _ place: Location, _ step: (inout RitualistReader) throws(RowError) -> Void
  ) -> Bool {
    do throws(RowError) {
      try step(&self)
      return true
    } catch {
      builder.skip(place, error.reason)
      return false
    }
  }

  // MARK: Categories and habits

  private static let categoryKeys = [
    "name", "displayName", "emoji", "order", "isActive", "isPredefined", "personalityWeights",
  ]

  private mutating func readCategory(_ json: JSON) throws(RowError) {
    let row = try Row(json)
    guard let key = try row.text("id"), !key.isEmpty else { throw RowError("it has no id") }
    var draft = RecordDraft(Kind.category, RecordID(kind: Kind.category, key: key))
    try row.read(Self.categoryKeys, of: Kind.category, into: &draft)
    draft[Kind.category.number("key")] = .text(key)
    let known = Set(Self.categoryKeys + ["id"])
    builder.keepSpellings(json, known: known, of: &draft)
    builder.keepUnknownKeys(json, known: known, in: "categories", of: &draft)
    try builder.add(draft, isComplete: true)
  }

  private static let habitKeys = [
    "name", "colorHex", "emoji", "unitLabel", "dailyTarget", "schedule", "reminders", "startDate", "endDate",
    "isActive", "displayOrder", "categoryId", "suggestionId", "isPinned", "notes", "lastCompletedDate",
    "archivedDate", "priorityLevel", "lastGeofenceTriggerDate",
  ]
  private static let allHabitKeys = Set(habitKeys + ["id", "kind", "locationConfiguration"])

  private mutating func readHabit(_ json: JSON) throws(RowError) {
    let kind = Kind.habit
    let row = try Row(json)
    var draft = RecordDraft(kind, try row.id())
    try row.read(Self.habitKeys, of: kind, into: &draft)
    draft[Self.kindField.number] = row.unlessPlaceholder(try habitKind(row), Self.kindField, of: draft)
    try readPlace(row, into: &draft)
    builder.keepSpellings(json, known: Self.allHabitKeys, of: &draft)
    builder.keepUnknownKeys(json, known: Self.allHabitKeys, in: "habits", of: &draft)
    try builder.add(draft, isComplete: true)
  }

  private static let kindField = field("kind")
  private static let isEnabledField = field("isLocationEnabled")

  private static func field(_ name: String, of kind: Kind = Kind.habit) -> Field {
    guard let field = kind.field(named: name) else { preconditionFailure("no field \(name)") }
    return field
  }

  private func habitKind(_ row: Row) throws(RowError) -> Value {
    guard let value = row.present("kind") else { return .null }
    guard let word = value.members?.first?.key, value.members?.count == 1 else {
      throw row.refused("kind", value, "{\"binary\":{}} or {\"numeric\":{}}")
    }
    return .text(word)
  }

  private static let placeKeys = [
    "radius", "triggerType", "frequency", "locationLabel", "lastTriggerDate", "lastEntryTriggerDate",
    "lastExitTriggerDate",
  ]
  private static let allPlaceKeys = Set(placeKeys + ["latitude", "longitude", "isEnabled"])

  private mutating func readPlace(_ habit: Row, into draft: inout RecordDraft) throws(RowError) {
    let kind = Kind.habit
    guard let json = habit.present("locationConfiguration") else {
      // Without a place, its other properties are meaningless, and are left unchanged.
      draft[kind.number("location")] = .null
      return
    }
    let row: Row
    do throws(RowError) { row = try Row(json) } catch {
      throw RowError("locationConfiguration: \(error.reason)")
    }
    try row.read(Self.placeKeys, of: kind, into: &draft)
    draft[kind.number("location")] = try row.coordinate()
    draft[Self.isEnabledField.number] = row.unlessPlaceholder(
      try row.bool("isEnabled").map(Value.bool) ?? .null, Self.isEnabledField, of: draft, key: "isEnabled")
    let key = "locationConfiguration"
    builder.keepSpellings(json, known: Self.allPlaceKeys, inside: key, of: &draft)
    builder.keepUnknownKeys(json, known: Self.allPlaceKeys, in: key, inside: key, of: &draft)
  }

  // MARK: Logs

  private static let startField = Kind.habit.number("startDate")

  private mutating func readLogs(_ text: JSONText) {
    let starts = builder.values(of: Kind.habit) { $0[Self.startField]?.asInteger }
    builder.add(RitualistEntries.read(text, zones, starts: starts, without: skippedHabits), of: "habitLogs")
  }

  // MARK: Profile

  private static let profileKeys = [
    "name", "currentTimezone", "homeTimezone", "displayTimezoneMode", "timezoneChangeHistory", "createdAt",
    "updatedAt", "gender", "ageGroup",
  ]
  private static let allProfileKeys = Set(profileKeys + ["appearance"])

  /// Reads the profile with the avatar and metadata. All of them form one record, so if the profile is skipped, they
  /// are skipped too.
  private mutating func readProfile(_ text: JSONText) {
    guard let profile = text["profile"], !profile.isNull else {
      builder.warn("the file has no profile")
      return builder.noteUnknownKeys(text.keys, known: Self.topKeys, in: "the file")
    }
    attempt(Location("profile")) { (reader) throws(RowError) in
      let row = try Row(profile)
      var draft = RecordDraft(Kind.profile, FixedRecords.profileID)
      try row.read(Self.profileKeys, of: Kind.profile, into: &draft)
      let field = Self.field("appearance", of: Kind.profile)
      draft[field.number] = row.unlessPlaceholder(try reader.appearance(row), field, of: draft)
      reader.builder.keepSpellings(profile, known: Self.allProfileKeys, of: &draft)
      reader.builder.keepUnknownKeys(profile, known: Self.allProfileKeys, in: "profile", of: &draft)
      reader.keepKeysOfFile(text, of: &draft)
      reader.readAvatar(text, into: &draft)
      reader.readMetadata(text, into: &draft)
      try reader.builder.add(draft, isComplete: true)
    }
  }

  /// Keeps the unknown keys of the file itself, and of its onboarding, with the profile.
  private mutating func keepKeysOfFile(_ text: JSONText, of profile: inout RecordDraft) {
    let file = text.object(besides: Self.topKeys.subtracting(["avatar"]))
    builder.keepSpellings(file, known: ["avatar"], inside: OtherKeys.ofFile, of: &profile)
    builder.keepUnknownKeys(file, known: ["avatar"], in: "the file", inside: OtherKeys.ofFile, of: &profile)
    guard let onboarding = text[OnboardingDetails.key] else { return }
    let (key, known) = (OnboardingDetails.key, Set(OnboardingDetails.settings.map(\.key)))
    builder.keepSpellings(onboarding, known: known, inside: key, of: &profile)
    builder.keepUnknownKeys(onboarding, known: known, in: key, inside: key, of: &profile)
  }

  /// Reads the details of the onboarding, each of which is a setting.
  private mutating func readOnboarding(_ text: JSONText) {
    guard let json = text[OnboardingDetails.key], !json.isNull else { return }
    attempt(Location(OnboardingDetails.key)) { (reader) throws(RowError) in
      let row = try Row(json)
      for setting in OnboardingDetails.settings {
        guard let value = try setting.value(row) else { continue }
        try reader.builder.add(setting.draft(value), isComplete: true)
      }
    }
  }

  /// Reads the appearance, which is a word in exports and a number in the application's own store.
  private func appearance(_ row: Row) throws(RowError) -> Value {
    guard let number = row.present("appearance")?.integer else {
      return try row.text("appearance").map(Value.text) ?? .null
    }
    switch number {
    case 0: return .text("system")
    case 1: return .text("light")
    case 2: return .text("dark")
    default: throw RowError("appearance cannot be \(number): expected system, light or dark")
    }
  }

  private mutating func readAvatar(_ text: JSONText, into draft: inout RecordDraft) {
    let field = Kind.profile.number("avatar")
    draft[field] = .null
    attempt(Location("avatar")) { (_) throws(RowError) in
      guard let avatar = text["avatar"],
        let bytes = try Row(.object([.init("avatar", avatar)])).bytes("avatar")
      else { return }
      draft[field] = .bytes(bytes)
    }
  }

  private mutating func readMetadata(_ text: JSONText, into draft: inout RecordDraft) {
    let kind = Kind.profile
    draft[kind.number("profileId")] = .null
    draft[kind.number("lastSynced")] = .null
    guard let metadata = text["syncMetadata"], !metadata.isNull else { return }
    attempt(Location("syncMetadata")) { (reader) throws(RowError) in
      try Row(metadata).read(["profileId", "lastSynced"], of: kind, into: &draft)
      let (key, known): (String, Set) = ("syncMetadata", ["profileId", "lastSynced"])
      reader.builder.keepSpellings(metadata, known: known, inside: key, of: &draft)
      reader.builder.keepUnknownKeys(metadata, known: known, in: key, inside: key, of: &draft)
    }
  }
}
