import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// The values of known settings at their limits.
struct SettingLimitTests {
  private static let accepted: [(key: String, typed: String, value: JSON)] = [
    ("biometricTimeoutMinutes", "0", 0), ("biometricTimeoutMinutes", "1440", 1_440), ("trashDays", "1", 1),
    ("trashDays", "3650", 3_650), ("trashDays", "never", "never"), ("trashDays", "Never", "never"),
    ("hasCompletedOnboarding", "TRUE", true), ("hasCompletedOnboarding", "false", false),
    ("hasGrantedNotifications", "true", true), ("colorScheme", "light", "light"),
    ("onboardingCompletedDate", "2026-05-03T15:00:00+02:00", "2026-05-03T15:00:00+02:00"),
    ("other", "1", "1"),
  ]

  @Test func `a setting accepts its values up to the limits, and keeps its value if another is refused`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    for (key, typed, value) in Self.accepted {
      try await alice.run("settings.set", ["key": .string(key), "value": .string(typed)])
      let held = try await alice.run("settings.get", ["key": .string(key)])
      #expect(held["value"] == value && held["source"] == "settings", "\(key) \(typed)")
    }
    let lanes = try await alice.run("status")["lanes"]
    for (key, typed) in [
      ("biometricTimeoutMinutes", "-1"), ("biometricTimeoutMinutes", "1441"),
      ("biometricTimeoutMinutes", "1.5"),
      ("trashDays", "0"), ("trashDays", "3651"), ("trashDays", "-1"), ("trashDays", "forever"),
      ("hasCompletedOnboarding", "yes"), ("hasGrantedNotifications", "1"), ("colorScheme", "Light"),
      ("onboardingCompletedDate", "2026-05-03"), ("onboardingCompletedDate", "2026-05-03T15:00"),
      ("other", ""),
      (String(repeating: "k", count: 201), "x"),
    ] {
      let refused = try await failure(alice, "settings.set", ["key": .string(key), "value": .string(typed)])
      #expect(refused?.code == .badValue, "\(key) \(typed)")
    }
    #expect(try await alice.run("status")["lanes"] == lanes)
    try await alice.run("settings.set", ["key": .string(String(repeating: "k", count: 200)), "value": "x"])
  }

  @Test func `a setting is written only if its value changes, and removed once`() async throws {
    let alice = try await TestNode.founder("alice")
    func changed(_ command: String, _ arguments: JSON) async throws -> JSON? {
      try await alice.run(command, arguments)["changed"]
    }
    let light: JSON = ["key": "colorScheme", "value": "light"]
    #expect(try await changed("settings.unset", ["key": "colorScheme"]) == false)
    #expect(try await changed("settings.set", light) == true)
    let lanes = try await alice.run("status")["lanes"]
    #expect(try await changed("settings.set", light) == false)
    #expect(try await alice.run("status")["lanes"] == lanes)
    #expect(try await changed("settings.unset", ["key": "colorScheme"]) == true)
    #expect(try await changed("settings.unset", ["key": "colorScheme"]) == false)
    // After it was removed, the same value is a change.
    #expect(try await changed("settings.set", light) == true)
    #expect(try await alice.run("settings.get", ["key": "colorScheme"])["value"] == "light")
  }
}
