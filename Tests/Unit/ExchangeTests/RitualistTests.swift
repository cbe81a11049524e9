import Exchange
import JSONDocument
import Records
import Replication
import Testing
import Wire

private let habitID = "0F8FAD5B-D9CB-469F-A165-70867728950E"
private let logID = "1F8FAD5B-D9CB-469F-A165-70867728950E"

/// A file with one habit, one category, one log and a profile, modified by a closure.
private func plan(_ change: (inout JSON) -> Void = { _ in }) throws -> ImportPlan {
  try Importer.plan(file(change).bytes())
}

private func file(_ change: (inout JSON) -> Void) -> JSON {
  var file: JSON = [
    "exportedAt": "2025-11-09T08:00:00Z",
    "profile": [
      "name": "Zoë", "appearance": "dark", "currentTimezone": "Europe/Rome", "homeTimezone": "UTC",
      "displayTimezoneMode": "current", "timezoneChangeHistory": [], "createdAt": "2025-01-01T00:00:00Z",
      "updatedAt": "2025-11-08T08:00:00Z",
    ],
    "habits": [
      [
        "id": .string(habitID), "name": "Read", "colorHex": "#2DA9E3", "kind": ["binary": [:]],
        "schedule": ["daysOfWeek": ["_0": [5, 1, 3]]], "reminders": [["hour": 8, "minute": 30]],
        "startDate": "2025-11-01T08:00:00Z", "isActive": true, "displayOrder": 0, "isPinned": false,
        "categoryId": "health",
      ]
    ],
    "categories": [
      [
        "id": "health", "name": "health", "displayName": "Health", "emoji": "💚", "order": 0, "isActive": true,
        "isPredefined": true,
      ]
    ],
    "habitLogs": [
      [
        "id": .string(logID), "habitID": .string(habitID), "date": "2025-11-08T23:30:00Z", "value": 1,
        "timezone": "Europe/Rome",
      ]
    ],
    "syncMetadata": ["profileId": "2F8FAD5B-D9CB-469F-A165-70867728950E"],
  ]
  change(&file)
  return file
}

/// The file with one key of the first row of a list set to a value.
private func plan(_ list: String, _ key: String, _ value: JSON?) throws -> ImportPlan {
  try Importer.plan(Array(fileText(list, key, value).utf8))
}

private func fileText(_ list: String, _ key: String, _ value: JSON?) -> String {
  file { file in
    var rows = file[list]?.array ?? []
    rows[0][key] = value
    file[list] = .array(rows)
  }.text()
}

extension ImportPlan {
  fileprivate func draft(_ kind: Kind) throws -> RecordDraft {
    try #require(drafts.first { $0.kind == kind })
  }
}

extension RecordDraft {
  fileprivate func value(_ name: String) -> Value? { self[kind.number(name)] }
}

struct RitualistTests {
  @Test func `a file becomes records`() throws {
    let plan = try plan()
    #expect(plan.drafts.map(\.kind.name) == ["habit", "category", "entry", "profile"])
    let habit = try plan.draft(Kind.habit)
    #expect(habit.id.uuid == habitID)
    #expect(habit.value("schedule") == .array([.integer(1), .integer(3), .integer(5)]))
    #expect(habit.value("categoryId") == .text("health"))
    #expect(habit.value("notes") == .null)
    let category = try plan.draft(Kind.category)
    #expect(category.id == RecordID(kind: Kind.category, key: "health"))
    #expect(category.value("key") == .text("health"))
    let log = try plan.draft(Kind.habitEntry)
    // Half past midnight in Rome.
    #expect(log.value("date")?.part(2) == .text("2025-11-09"))
    #expect(log.value("value") == .float(1))
    let profile = try plan.draft(Kind.profile)
    #expect(profile.id == FixedRecords.profile.id)
    // The file has no keys that are unknown.
    #expect(profile.fields.count == Kind.profile.fields.count - 1)
  }

  static let refused: [(String, String, JSON?, String)] = [
    ("habits", "name", .string(String(repeating: "x", count: 201)), "at most 200 characters"),
    ("habits", "name", "", "name is missing"), ("habits", "name", nil, "name is missing"),
    ("habits", "notes", .string(String(repeating: "x", count: 10_001)), "at most 10000 characters"),
    ("habits", "unitLabel", .string(String(repeating: "x", count: 51)), "at most 50 characters"),
    ("habits", "dailyTarget", 0.001, "from 0.01 to 1000000"), ("habits", "displayOrder", 100_001, "100000"),
    ("habits", "displayOrder", 1.5, "a whole number"), ("habits", "colorHex", "#12345", "a colour"),
    ("habits", "reminders", .array((0..<25).map { ["hour": 1, "minute": .integer($0)] }), "at most 24"),
    ("habits", "reminders", [["hour": 24, "minute": 0]], "times such as"),
    ("habits", "schedule", ["weekly": [:]], "daily, or days"),
    ("habits", "schedule", ["daysOfWeek": ["_0": [8]]], "daily, or days"),
    ("habits", "kind", "binary", "{\"binary\":{}}"),
    ("habits", "kind", ["timer": [:]], "one of binary, numeric"),
    ("habits", "id", "habit-1", "a UUID"), ("habits", "id", nil, "no id"),
    ("habits", "startDate", "yesterday", "a time such as"), ("habits", "isActive", "yes", "true or false"),
    ("habits", "priorityLevel", 4, "from 1 to 3"),
    ("habits", "locationConfiguration", ["latitude": 90.5, "longitude": 0], "from -90 to 90"),
    ("habits", "locationConfiguration", ["latitude": 0, "longitude": -181], "from -180 to 180"),
    ("habits", "locationConfiguration", ["latitude": 0, "longitude": 0, "radius": 49], "from 50 to 500"),
    (
      "habits", "locationConfiguration",
      ["latitude": 0, "longitude": 0, "frequency": ["everyEntry": ["cooldownMinutes": 1_441]]], "1440"
    ),
    ("habits", "locationConfiguration", [], "not an object"),
    ("categories", "name", .string(String(repeating: "x", count: 101)), "at most 100 characters"),
    ("categories", "emoji", "12345678901", "at most 10 characters"), ("categories", "order", 10_001, "10000"),
    ("categories", "id", 7, "text"),
    ("habitLogs", "value", 1_000_001, "1000000"), ("habitLogs", "value", "1", "a number"),
    ("habitLogs", "habitID", nil, "no habitID"), ("habitLogs", "date", "2025-11-08T25:00:00Z", "a time"),
    ("habitLogs", "date", "2025-11-08T23:00:00", "a time"),
  ]

  @Test(arguments: refused)
  func `a row that breaks a rule is left out and named`(
    list: String, key: String, value: JSON?, reason: String
  ) throws {
    let plan = try plan(list, key, value)
    let row = try #require(plan.skipped.first)
    #expect(row.place == "\(list)[0]")
    #expect(row.reason.contains(reason), "\(row.reason)")
  }

  @Test func `the logs of a habit that is left out are left out too`() throws {
    let plan = try plan("habits", "name", "")
    #expect(plan.skipped.map(\.place) == ["habits[0]", "habitLogs[0]"])
    #expect(plan.drafts.map(\.kind.name) == ["category", "profile"])
  }

  @Test func `of two rows with one id the first is kept`() throws {
    let plan = try plan { file in
      let row = file["habitLogs"]?[0] ?? .null
      file["habitLogs"] = [row, row]
    }
    #expect(plan.skipped.map(\.place) == ["habitLogs[1]"])
    #expect(plan.drafts.count == 4)
  }

  @Test func `of many rows with one id the first is kept, also when they are read in parallel`() throws {
    let count = 4_000
    // Ids descend while positions ascend; more than a thousand of them are equal.
    let plan = try plan { file in
      let row = file["habitLogs"]?[0] ?? .null
      file["habitLogs"] = .array(
        (0..<count).map { number in
          var row = row
          let id = (1_000..<2_500).contains(number) ? 1_000 : number
          row["id"] = .string(RecordID(Bytes16(UInt64(count - id), 7)).uuid)
          if number == 1_000 { row["value"] = 2_000_000 }
          return row
        })
    }
    #expect(plan.skipped.count == 1_500 - 1)
    #expect(plan.skipped.first?.place == "habitLogs[1000]", "it is too large")
    #expect(plan.skipped.last?.place == "habitLogs[2499]")
    #expect(!plan.skipped.map(\.place).contains("habitLogs[1001]"), "the first that can be held")
    #expect(plan.drafts.count { $0.kind == Kind.habitEntry } == count - 1_499)
  }

  @Test func `each of many logs keeps its position, also when they are read in parallel`() throws {
    let count = 40_000
    let broken = [0, 1_023, 1_024, 17_000, count - 1]
    let plan = try plan { file in
      let row = file["habitLogs"]?[0] ?? .null
      file["habitLogs"] = .array(
        (0..<count).map { number in
          var row = row
          row["id"] = .string(RecordID(Bytes16(UInt64(number), 7)).uuid)
          if broken.contains(number) { row["date"] = "yesterday" }
          return row
        })
    }
    #expect(plan.skipped.map(\.place) == broken.map { "habitLogs[\($0)]" })
    #expect(plan.drafts.count { $0.kind == Kind.habitEntry } == count - broken.count)
  }

  /// Values of a log's keys, valid and invalid.
  private static let logValues: [(String, [JSON?])] = [
    (
      "value",
      [
        0, 1, 0.1, -1.5, 77.201, .number("1e2"), .number("-0"), .number("-0.0"), .number("123456789012345"),
        .number("1234567890123456.5"), .number("0.000000000000001"), .number("0.30000000000000004"),
        .number("1e400"), .null, nil, true, "1", [1],
      ]
    ),
    (
      "date",
      [
        "2025-11-08T23:30:00Z", "2025-11-08T23:30:00.5Z", "2025-11-08T23:30:00+01:00", "2025-11-08", "soon",
        "2025-02-30T00:00:00Z", "9999-12-31T23:59:59Z", .null, nil, 7,
      ]
    ),
    ("timezone", ["Europe/Rome", "", "Mars/Olympus", "Zoë", "../x", .null, nil, 7]),
    ("habitID", [.string(habitID), .string(habitID.lowercased()), "", "x", .null, nil]),
    ("id", [.string(logID), .string(logID.lowercased()), "", "0f8fad5b", .null, nil, 7]),
    ("mood", ["good", 1, .null]),
  ]

  @Test func `a log is read the same in the usual form and in any other`() throws {
    for (key, values) in Self.logValues {
      for value in values {
        let usual = try plan("habitLogs", key, value)
        var text = fileText("habitLogs", key, value)
        // An escaped key is equivalent, but the fast path must not read it.
        #expect(text.contains("\"date\"") || key == "date")
        text = text.replacing("\"habitID\"", with: "\"\\u0068abitID\"").replacing(
          "\"id\":", with: "\"\\u0069d\":")
        let other = try Importer.plan(Array(text.utf8))
        #expect(usual.drafts == other.drafts, "\(key) is \(value?.text() ?? "absent")")
        #expect(usual.skipped == other.skipped, "\(key) is \(value?.text() ?? "absent")")
        #expect(usual.warnings == other.warnings, "\(key) is \(value?.text() ?? "absent")")
      }
    }
  }

  @Test func `a log before the start of its habit is kept and counted`() throws {
    let early = try plan("habitLogs", "date", "2025-10-31T22:59:59Z")
    #expect(early.drafts.count == 4)
    #expect(early.warnings.contains { $0.contains("before the start of its habit") })
    // On the first day, though at an earlier hour: half past midnight in Rome.
    #expect(try plan("habitLogs", "date", "2025-10-31T23:30:00Z").warnings.isEmpty)
  }

  @Test func `unknown zones, habits and keys are reported and nothing is lost`() throws {
    let zone = try plan("habitLogs", "timezone", "Mars/Olympus")
    #expect(try zone.draft(Kind.habitEntry).value("date")?.part(1) == .text("Mars/Olympus"))
    #expect(zone.warnings.contains { $0.contains("Mars/Olympus") })
    let habit = try plan("habitLogs", "habitID", "3F8FAD5B-D9CB-469F-A165-70867728950E")
    #expect(habit.drafts.count == 4 && habit.warnings.contains { $0.contains("not in the file") })
    let key = try plan("habits", "mood", "good")
    #expect(key.skipped.isEmpty && key.warnings.contains { $0.contains("\"mood\"") })
  }

  @Test func `a profile without a name is left out, and one with a bad id keeps its other fields`() throws {
    let nameless = try plan { $0["profile"]?["name"] = "" }
    #expect(nameless.skipped.map(\.place) == ["profile"])
    #expect(!nameless.drafts.contains { $0.kind == Kind.profile })
    let odd = try plan { $0["syncMetadata"]?["profileId"] = "me" }
    #expect(odd.skipped.map(\.place) == ["syncMetadata"])
    #expect(try odd.draft(Kind.profile).value("profileId") == .null)
    let stored = try plan { $0["profile"]?["appearance"] = 1 }
    #expect(try stored.draft(Kind.profile).value("appearance") == .text("light"))
    let avatar = try plan { $0["avatar"] = "%%%" }
    #expect(avatar.skipped.map(\.place) == ["avatar"])
  }
}
