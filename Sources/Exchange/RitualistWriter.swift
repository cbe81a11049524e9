import FileFormat
import JSONDocument
import Records
import Wire

/// Writes Ritualist's JSON export, with sorted keys and without the keys of missing optional values.
struct RitualistWriter {
  private let source: ExportSource
  private let now: Int64
  private let zones: ZoneOffsets
  private var warnings: [String] = []
  private var files: [FileReference] = []

  init(source: ExportSource, now: Int64, zones: ZoneOffsets) {
    self.source = source
    self.now = now
    self.zones = zones
  }

  mutating func write() -> ExportedFile {
    var file: JSON = ["exportedAt": fileTime(now)]
    let profile = source.record(Kind.profile, FixedRecords.profileID)
    if let profile, profile.text("name") != nil {
      var object = object(profile, Self.profileFields)
      object.addOtherKeys(of: profile, besides: ["syncMetadata", OnboardingDetails.key, OtherKeys.ofFile])
      file["profile"] = object
    } else {
      warnings.append("there is no profile to export")
    }
    file["avatar"] = profile.flatMap { avatar($0) }
    file["syncMetadata"] = metadata(profile)
    file[OnboardingDetails.key] = onboarding(profile)
    file["categories"] = .array(categories())
    file["habits"] = .array(
      source.records(Kind.habit) { $0.integer("displayOrder") ?? 0 }.map(habit))
    file["habitLogs"] = .array(
      source.records(Kind.habitEntry) { $0.held("date").time ?? 0 }.compactMap(log))
    if let profile { file.addOtherKeys(of: profile, inside: OtherKeys.ofFile) }
    return ExportedFile(
      file, .init(isPretty: true, sortsKeys: true), files: files, warnings: warnings)
  }

  /// Returns an object with these fields of a record, which have one part each. Missing values that the format requires
  /// get placeholders, whose keys the object names.
  private func object(_ record: RecordDraft, _ names: [String]) -> JSON {
    var object: JSON = [:]
    for name in names {
      guard let field = record.kind.field(named: name) else {
        preconditionFailure("no field \(name)")
      }
      let value = record[field.number] ?? .null
      if case (.timestamp, .integer(let time)) = (field.type, value) {
        for member in fileTimes(name, time) { object[member.key] = member.value }
      } else if let json = json(value, field.type) {
        object[name] = json
      } else if let placeholder = Placeholders.value(field, of: record).flatMap({ json($0, field.type) }) {
        addPlaceholder(placeholder, name, to: &object)
      }
    }
    return object
  }

  private func addPlaceholder(_ placeholder: JSON, _ key: String, to object: inout JSON) {
    object[key] = placeholder
    object[AddedKeys.placeholders] = .array((object[AddedKeys.placeholders]?.array ?? []) + [.string(key)])
  }

  private func json(_ value: Value, _ type: FieldType) -> JSON? {
    switch (type, value) {
    case (_, .null): nil
    case (.timestamp, .integer(let time)): fileTime(time)
    case (.uuid, _): value.recordID.map { .string($0.uuid) }
    case (.list(let shape), _): shape.fileJSON(value)
    default: value.fileJSON
    }
  }

  // MARK: Profile

  private static let profileFields = [
    "name", "appearance", "currentTimezone", "homeTimezone", "displayTimezoneMode",
    "timezoneChangeHistory", "createdAt", "updatedAt", "gender", "ageGroup",
  ]

  private mutating func avatar(_ profile: RecordDraft) -> JSON? {
    let value = profile.held("avatar")
    guard value != .null else { return nil }
    guard let base64 = source.base64(value, &files) else {
      warnings.append("the avatar is incomplete on this device and is left out")
      return nil
    }
    return base64
  }

  private func metadata(_ profile: RecordDraft?) -> JSON {
    let profile = profile ?? RecordDraft(Kind.profile, FixedRecords.profileID)
    var metadata = object(profile, ["profileId", "lastSynced"])
    metadata.addOtherKeys(of: profile, inside: "syncMetadata")
    return metadata
  }

  /// Returns the details of the onboarding; nil if none is known, because the application's own files have none.
  private func onboarding(_ profile: RecordDraft?) -> JSON? {
    let members = OnboardingDetails.settings.flatMap { $0.members(in: source) }
    let kept = profile.flatMap { OtherKeys(of: $0).inside(OnboardingDetails.key) }
    guard members.contains(where: { $0.key != OnboardingDetails.flag.key }) || kept != nil else { return nil }
    var object: JSON = .object(members)
    if let profile { object.addOtherKeys(of: profile, inside: OnboardingDetails.key) }
    return object
  }

  // MARK: Categories

  private static let categoryFields = [
    "name", "displayName", "emoji", "order", "isActive", "isPredefined", "personalityWeights",
  ]

  private func categories() -> [JSON] {
    source.records(Kind.category) { $0.integer("order") ?? 0 }.map { category in
      var object = object(category, Self.categoryFields)
      object["id"] = .string(category.text("key") ?? category.id.uuid)
      object.addOtherKeys(of: category)
      return object
    }
  }

  // MARK: Habits and logs

  private static let habitFields = [
    "name", "colorHex", "emoji", "unitLabel", "dailyTarget", "schedule", "reminders", "startDate",
    "endDate",
    "isActive", "displayOrder", "categoryId", "suggestionId", "isPinned", "notes",
    "lastCompletedDate",
    "archivedDate", "priorityLevel", "lastGeofenceTriggerDate",
  ]
  private static let placeFields = [
    "radius", "triggerType", "frequency", "locationLabel", "lastTriggerDate",
    "lastEntryTriggerDate",
    "lastExitTriggerDate",
  ]

  private func habit(_ habit: RecordDraft) -> JSON {
    var object = object(habit, Self.habitFields)
    object["id"] = .string(habit.id.uuid)
    if let kind = habit.text("kind") {
      object["kind"] = .object([.init(kind, [:])])
    } else {
      addPlaceholder(.object([.init("binary", [:])]), "kind", to: &object)
    }
    let location = habit.held("location")
    if let latitude = location.part(0).fileJSON, let longitude = location.part(1).fileJSON {
      var place = self.object(habit, Self.placeFields)
      place["latitude"] = latitude
      place["longitude"] = longitude
      if let isEnabled = habit.bool("isLocationEnabled") {
        place["isEnabled"] = .bool(isEnabled)
      } else {
        addPlaceholder(true, "isEnabled", to: &place)
      }
      place.addOtherKeys(of: habit, inside: "locationConfiguration")
      object["locationConfiguration"] = place
    }
    object.addOtherKeys(of: habit, besides: ["locationConfiguration"])
    return object
  }

  private func log(_ log: RecordDraft) -> JSON? {
    guard let habit = log.reference("habitID"), let time = log.held("date").time else { return nil }
    var members: [JSON.Member] = [
      .init("id", .string(log.id.uuid)), .init("habitID", .string(habit.uuid)),
    ]
    members += fileTimes("date", time)
    // A day that does not follow from the time and the zone is a key of our own.
    let (zone, day) = (log.held("date").part(1).asText, log.held("date").part(2).asText)
    if let day, day != zones.day(milliseconds: time, zone: zone).description {
      members.append(.init("day", .string(day)))
    }
    if let value = log.held("value").fileJSON { members.append(.init("value", value)) }
    var object: JSON = .object(members)
    if let zone = log.held("date").part(1).fileJSON {
      object["timezone"] = zone
    } else {
      addPlaceholder(.string(Placeholders.logZone), "timezone", to: &object)
    }
    object.addOtherKeys(of: log)
    return object
  }
}

extension ListShape {
  /// Returns a list as the application writes it, with the exact form of times that have a fraction of a second.
  func fileJSON(_ value: Value) -> JSON {
    guard self == .zoneChanges, case .array(let changes) = value else { return json(value) }
    return .array(
      changes.map { change in
        .object(
          [
            .init("fromTimezone", change.part(0).fileJSON ?? ""),
            .init("toTimezone", change.part(1).fileJSON ?? ""),
          ] + fileTimes("changedAt", change.part(2).asInteger ?? 0))
      })
  }
}
