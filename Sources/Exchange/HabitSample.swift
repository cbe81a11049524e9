import JSONDocument
import Records
import Wire

/// Generates a sample of a user's habits, as Ritualist exports them.
struct HabitSample {
  private var generator: SampleGenerator
  private let size: SampleData.Size
  private let seed: UInt64

  init(seed: UInt64, size: SampleData.Size) {
    generator = SampleGenerator(seed: seed ^ 0x6861_6269_7473)
    self.size = size
    self.seed = seed
  }

  private static let names = [
    "Read", "Drink water", "Läuferrunde", "Méditation", "散歩", "Упражнения", "יומן", "Stretch", "Call mum 📞",
    "No sugar", "Piano", "Português", "Plan tomorrow", "Fruit 🍎", "Sleep by 23:00", "Dehnübung “kurz”",
  ]
  private static let emojis = ["📚", "💧", "🏃‍♀️", "🧘", "🎹", "🍎", "👨‍👩‍👧"]

  mutating func file() -> JSON {
    let categories = categories()
    let habits = (0..<size.habits).map { habit($0, categories: Self.categoryKeys) }
    return [
      "exportedAt": SampleTime.json(day: 400, second: 61),
      "avatar": .string(Base64.encode(generator.bytes(40_000))),
      "profile": profile(),
      "categories": .array(categories),
      "habits": .array(habits.map(\.json)),
      "habitLogs": .array(logs(habits)),
      "syncMetadata": ["profileId": generator.uuid(), "lastSynced": SampleTime.json(day: 399)],
    ]
  }

  private mutating func profile() -> JSON {
    [
      "name": .string(generator.pick(["Zoë Müller", "Søren 空", "Ana-María Ñúñez"])),
      "appearance": .string(generator.pick(["system", "light", "dark"])),
      "currentTimezone": "Europe/Berlin", "homeTimezone": "Asia/Tokyo", "displayTimezoneMode": "home",
      "timezoneChangeHistory": [
        [
          "fromTimezone": "Asia/Tokyo", "toTimezone": "UTC", "changedAt": SampleTime.json(day: 20, second: 5),
        ],
        [
          "fromTimezone": "UTC", "toTimezone": "Europe/Berlin",
          "changedAt": SampleTime.json(day: 33, second: 7),
        ],
      ],
      "createdAt": SampleTime.json(day: -30),
      "updatedAt": SampleTime.json(day: 300 + Int(seed % 50), second: 3),
    ]
  }

  private static let categoryKeys = ["health", "wellness", "learning", "social", "größeres", "own-42"]

  private func categories() -> [JSON] {
    Self.categoryKeys.enumerated().map { index, key in
      var category: JSON = [
        "id": .string(key), "name": .string(key), "displayName": .string("\(key) ✓"),
        "emoji": .string(Self.emojis[index]), "order": .integer(index), "isActive": .bool(index != 4),
        "isPredefined": .bool(index < 4),
      ]
      if index.isMultiple(of: 2) {
        category["personalityWeights"] = ["openness": 0.35, "conscientiousness": 1, "neuroticism": -0.2]
      }
      return category
    }
  }

  private struct Habit {
    let json: JSON
    let id: JSON
    let isNumeric: Bool
    let zone: String
  }

  private mutating func habit(_ index: Int, categories: [String]) -> Habit {
    let id = generator.uuid()
    let isNumeric = generator.chance(40)
    var habit: JSON = [
      "id": id, "name": .string("\(Self.names[index % Self.names.count]) \(index / Self.names.count + 1)"),
      "colorHex": .string("#" + hexadecimal(generator.bytes(3)).uppercased()),
      "kind": isNumeric ? ["numeric": [:]] : ["binary": [:]],
      "schedule": generator.chance(50) ? ["daily": [:]] : ["daysOfWeek": ["_0": [5, 1, 3]]],
      "reminders": .array(
        (0..<generator.below(4)).map {
          ["hour": .integer(7 + $0 * 4), "minute": .integer(generator.below(60))]
        }),
      "startDate": SampleTime.json(day: generator.below(5), second: 8 * 3_600),
      "isActive": .bool(!generator.chance(10)), "displayOrder": .integer(index),
      "isPinned": .bool(generator.chance(15)),
    ]
    if isNumeric {
      habit["unitLabel"] = .string(generator.pick(["glasses", "km", "Seiten", "分"]))
      habit["dailyTarget"] = .number(generator.pick(["8", "2.5", "0.75", "1000"]))
    }
    addOptionals(&habit, index, categories)
    return Habit(json: habit, id: id, isNumeric: isNumeric, zone: generator.pick(SampleTime.zones))
  }

  private mutating func addOptionals(_ habit: inout JSON, _ index: Int, _ categories: [String]) {
    if generator.chance(70) { habit["emoji"] = .string(generator.pick(Self.emojis)) }
    if generator.chance(80) { habit["categoryId"] = .string(generator.pick(categories)) }
    if generator.chance(30) { habit["suggestionId"] = .string("suggestion-\(index)") }
    if generator.chance(40) { habit["notes"] = "Line one\nline “two” \\ with a tab\tand 🐌" }
    if generator.chance(50) { habit["priorityLevel"] = .integer(1 + generator.below(3)) }
    if generator.chance(30) { habit["lastCompletedDate"] = SampleTime.json(day: 390, second: 70) }
    if generator.chance(10) { habit["endDate"] = SampleTime.json(day: 500) }
    if generator.chance(10) { habit["archivedDate"] = SampleTime.json(day: 395, second: 9) }
    if generator.chance(20) { habit["locationConfiguration"] = place() }
  }

  private mutating func place() -> JSON {
    var place: JSON = [
      "latitude": .float(Double(generator.below(180_000_000)) / 1_000_000 - 90),
      "longitude": .float(Double(generator.below(360_000_000)) / 1_000_000 - 180),
      "radius": .integer(50 + generator.below(450)),
      "triggerType": .string(generator.pick(["entry", "exit", "both"])),
      "frequency": generator.chance(50) ? ["oncePerDay": [:]] : ["everyEntry": ["cooldownMinutes": 30]],
      "isEnabled": .bool(generator.chance(80)),
    ]
    if generator.chance(60) { place["locationLabel"] = "Café “Zur Post”" }
    if generator.chance(40) { place["lastTriggerDate"] = SampleTime.json(day: 380, second: 11) }
    if generator.chance(20) { place["lastEntryTriggerDate"] = SampleTime.json(day: 380, second: 12) }
    if generator.chance(20) { place["lastExitTriggerDate"] = SampleTime.json(day: 381, second: 13) }
    return place
  }

  private mutating func logs(_ habits: [Habit]) -> [JSON] {
    guard !habits.isEmpty else { return [] }
    var logs: [JSON] = []
    logs.reserveCapacity(size.logs)
    for index in 0..<size.logs {
      let habit = habits[index % habits.count]
      let day = 6 + index / habits.count % 390
      var members: [JSON.Member] = [
        .init("id", generator.uuid()), .init("habitID", habit.id),
        .init("date", SampleTime.json(day: day, second: generator.below(86_400))),
        .init("timezone", .string(generator.chance(95) ? habit.zone : generator.pick(SampleTime.zones))),
      ]
      if habit.isNumeric {
        members.append(.init("value", .number(generator.pick(["1", "2", "0.5", "3.25", "12"]))))
      } else if generator.chance(70) {
        members.append(.init("value", 1))
      }
      logs.append(.object(members))
    }
    return logs
  }
}
