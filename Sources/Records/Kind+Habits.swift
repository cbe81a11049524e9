// Protocol/records.md, "Habits, profile, settings"

import Replication
import Wire

extension Kind {
  package static let habit = Kind(
    9, "habit", plural: "habits", table: "habit_rows", view: "habits",
    count: CountName("habits", "habit", "habits"), order: [.ascending("displayOrder"), .ascending("name")],
    fields: [
      Field(1, "name", .text, ["name"], .text(200, isRequired: true)),
      Field(2, "colorHex", .text, ["color"], .color, initial: .value(.text("#2DA9E3"))),
      Field(3, "emoji", .text, ["emoji"], .text(10)),
      Field(4, "kind", .text, ["kind"], .words("binary", "numeric"), initial: .value(.text("binary"))),
      Field(5, "unitLabel", .text, ["unit_label"], .text(50)),
      Field(6, "dailyTarget", .float, ["daily_target"], .numbers(0.01...1_000_000)),
      Field(7, "schedule", .list(.schedule), ["schedule"], initial: .value(.text("daily"))),
      Field(
        8, "reminders", .list(.reminders), ["reminders"], Rule(itemsMax: 24), initial: .value(.array([]))),
      Field(9, "startDate", .timestamp, ["start_date"], initial: .now),
      Field(10, "endDate", .timestamp, ["end_date"]),
      Field(11, "isActive", .bool, ["is_active"], initial: .value(.bool(true))),
      Field(
        12, "displayOrder", .integer, ["display_order"], .integers(0...100_000), initial: .value(.integer(0)),
        isInternal: true),
      Field(
        13, "categoryId", .keyReference(KindNumbers.category), ["category_key"],
        aliases: ["category": "categoryId"], .text(1_000)),
      Field(14, "suggestionId", .text, ["suggestion_id"], .text(1_000), isInternal: true),
      Field(15, "isPinned", .bool, ["is_pinned"], initial: .value(.bool(false))),
      Field(16, "notes", .text, ["notes"], .text(10_000)),
      Field(17, "lastCompletedDate", .timestamp, ["last_completed"], isInternal: true),
      Field(18, "archivedDate", .timestamp, ["archived"], isInternal: true),
      Field(19, "priorityLevel", .integer, ["priority_level"], .integers(1...3)),
    ] + placeFields,
    listing: KindListing(
      columns: [
        ListColumn("NAME", widthMin: 16, .all(["emoji", "name"])), ListColumn("KIND", .first(["kind"])),
        ListColumn("TARGET", isRight: true, .all(["dailyTarget", "unitLabel"])),
        ListColumn("CATEGORY", widthMin: 8, .first(["categoryName", "categoryId"])),
        ListColumn("ACTIVE", .flag("isActive", ifAbsent: true)),
      ],
      example: .init(
        "'Drink water'", add: "name='Drink water' kind=numeric unitLabel=glasses dailyTarget=8",
        edit: "dailyTarget=6", values: ["notes": "'With lemon'", "emoji": "💧"])))

  /// The fields for the place of a habit, which exported files contain as `locationConfiguration`. A habit has a
  /// place if `location` is set.
  private static let placeFields = [
    Field(20, "location", .coordinate, ["latitude", "longitude"], parts: ["latitude", "longitude"]),
    Field(21, "radius", .float, ["radius"], .numbers(50...500)),
    Field(22, "triggerType", .text, ["trigger_type"], .words("entry", "exit", "both")),
    Field(23, "frequency", .list(.frequency), ["frequency"]),
    Field(24, "isLocationEnabled", .bool, ["is_location_enabled"]),
    Field(25, "locationLabel", .text, ["location_label"], .text(100)),
    Field(26, "lastTriggerDate", .timestamp, ["last_trigger"], isInternal: true),
    Field(27, "lastEntryTriggerDate", .timestamp, ["last_entry_trigger"], isInternal: true),
    Field(28, "lastExitTriggerDate", .timestamp, ["last_exit_trigger"], isInternal: true),
    otherKeys(29),
    Field(30, "lastGeofenceTriggerDate", .timestamp, ["last_geofence_trigger"], isInternal: true),
  ]

  package static let category = Kind(
    10, "category", plural: "categories", table: "habit_category_rows", view: "habit_categories",
    count: CountName("categories", "category", "categories"),
    order: [.ascending("order"), .ascending("name")],
    fields: [
      Field(1, "key", .text, ["key"], .text(1_000)),
      Field(2, "name", .text, ["name"], .text(100, isRequired: true)),
      Field(3, "displayName", .text, ["display_name"], .text(200)),
      Field(4, "emoji", .text, ["emoji"], .text(10)),
      Field(
        5, "order", .integer, ["display_order"], .integers(0...10_000), initial: .value(.integer(0)),
        isInternal: true),
      Field(6, "isActive", .bool, ["is_active"], initial: .value(.bool(true))),
      Field(7, "isPredefined", .bool, ["is_predefined"], initial: .value(.bool(false)), isInternal: true),
      Field(
        8, "personalityWeights", .list(.weights), ["personality_weights"], Rule(itemsMax: 100),
        isInternal: true),
      otherKeys(9),
    ],
    listing: KindListing(
      title: .first(["name", "key"]),
      columns: [
        nameColumn, ListColumn("KEY", widthMin: 8, .first(["key"])),
        ListColumn("ORDER", isRight: true, .first(["order"])),
      ],
      example: .init("Health", add: "name=Health", edit: "name=Body", values: ["emoji": "🍎"])))

  package static let habitEntry = Kind(
    11, "entry", plural: "entries", table: "habit_log_rows", view: "habit_logs", parent: 1,
    count: CountName("habitEntries", "habit entry", "habit entries"), order: [.ascending("date")],
    fields: [
      Field(
        1, "habitID", .reference(KindNumbers.habit), ["habit_id"], aliases: ["habit": "habitID"],
        .required),
      Field(
        2, "date", .datedInstant, ["date", "zone", "day"], parts: ["date", "timezone", "day"],
        .required),
      Field(3, "value", .float, ["value"], .numbers(-1_000_000...1_000_000)), otherKeys(4),
    ],
    listing: KindListing(
      title: .all(["habitName", "day"]),
      columns: [
        ListColumn("HABIT", widthMin: 16, .first(["habitName"])), ListColumn("DAY", .first(["day"])),
        ListColumn("VALUE", isRight: true, .first(["value"])), ListColumn("ZONE", .first(["timezone"])),
      ],
      example: .init(
        "0196f0a2", add: "habit='Drink water' date=2026-05-03 value=2", edit: "value=3",
        list: "--habit 'Drink water' --limit 20")))

  package static let profile = Kind(
    4_096, "profile", plural: "profiles", table: "profile_rows", view: "profile",
    fields: [
      Field(Fields.wholeRecordUpdatedAt, "updatedAt", .timestamp, ["updated"], isInternal: true),
      Field(2, "name", .text, ["name"], .text(200, isRequired: true)),
      Field(3, "appearance", .text, ["appearance"], .words("system", "light", "dark")),
      Field(4, "currentTimezone", .text, ["current_zone"], .zone),
      Field(5, "homeTimezone", .text, ["home_zone"], .zone),
      Field(6, "displayTimezoneMode", .text, ["display_zone_mode"], .text(100)),
      Field(
        7, "timezoneChangeHistory", .list(.zoneChanges), ["zone_changes"], Rule(itemsMax: 1_000),
        isInternal: true),
      Field(8, "createdAt", .timestamp, ["created"], isInternal: true),
      Field(9, "avatar", .blob, ["avatar", "avatar_id", "avatar_bytes"]),
      Field(10, "profileId", .uuid, ["profile_id"], isInternal: true),
      Field(11, "lastSynced", .timestamp, ["last_synced"], isInternal: true), otherKeys(12),
      Field(13, "gender", .text, ["gender"], .text(100)),
      Field(14, "ageGroup", .text, ["age_group"], .text(100)),
    ])

  package static let setting = Kind(
    8_192, "setting", plural: "settings", table: "setting_rows", view: "settings",
    count: CountName("settings", "setting", "settings"),
    fields: [
      Field(1, "key", .text, ["key"], .text(200, isRequired: true)),
      Field(2, "value", .any, ["value"]),
    ])

  /// The kinds of an app, which all devices of a circle receive.
  package static let schema = Kind(
    8_193, "schema", plural: "schemas", table: "schema_rows", view: nil,
    fields: [Field(1, "app", .text, ["app"]), Field(2, "kinds", .any, ["kinds"])])
}
