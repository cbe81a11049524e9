import Foundation
import JSONDocument
import Testing
import WaymarkTesting

@testable import NodeOperations
@testable import NodeRuntime
@testable import Waymark

/// Onboarding and settings, as applications use them.
struct PersonCallTests {
  private enum Sorting: String, SettingValue { case byName, byDate }

  private static let weeks = Setting("showsWeekNumbers", default: false)
  private static let rows = Setting("rows", default: 20)
  private static let scale = Setting("scale", default: 1.5)
  private static let greeting = Setting("greeting", default: "Hello")
  private static let sorting = Setting("sorting", default: Sorting.byName)

  @Test func `a user who has set up another device is welcomed back with a summary`() async throws {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    #expect(try await circle["bob"].onboarding() == .newUser)
    _ = try await circle.add("alice", "trip", "name=Rome")
    try await circle.run("alice", "profile.set", fields("name=Alice"))
    try await circle["alice"].completeOnboarding()
    #expect(try await circle["alice"].onboarding() == .completedHere)
    try await circle.inSync()
    guard case .returningUser(let user) = try await circle["bob"].onboarding() else {
      Issue.record("bob is not welcomed back")
      return
    }
    #expect(user.tripCount == 1 && user.habitCount == 0 && user.profileName == "Alice" && user.hasProfile)
    #expect(user.missing == [.avatar, .appearance, .homeZone])
    try await circle["bob"].completeOnboarding()
    #expect(try await circle["bob"].onboarding() == .completedHere)
    try await circle["bob"].resetOnboarding()
    guard case .returningUser = try await circle["bob"].onboarding() else {
      Issue.record("bob is not welcomed back after a reset")
      return
    }
    try await circle["bob"].resetOnboarding(everywhere: true)
    #expect(try await circle["bob"].onboarding() == .newUser)
    try await circle.inSync()
    #expect(try await circle["alice"].onboarding() == .completedHere)
  }

  @Test func `settings of every type are read as they were written, here and on other devices`() async throws
  {
    let circle = try await SocketCircle.premium(["alice", "bob"])
    defer { circle.end() }
    let alice = circle["alice"]
    #expect(try await alice.value(of: .colorScheme) == .system)
    #expect(try await alice.value(of: .biometricTimeoutMinutes) == 5)
    #expect(try await alice.value(of: Self.sorting) == .byName)
    try await alice.set(.colorScheme, to: .dark)
    try await alice.set(.biometricTimeoutMinutes, to: 0)
    try await alice.set(Self.weeks, to: true)
    try await alice.set(Self.rows, to: -3)
    try await alice.set(Self.scale, to: 2.25)
    try await alice.set(Self.greeting, to: "Ciao")
    try await alice.set(Self.sorting, to: .byDate)
    try await circle.inSync()
    let bob = circle["bob"]
    #expect(try await bob.value(of: .colorScheme) == .dark)
    #expect(try await bob.value(of: .biometricTimeoutMinutes) == 0)
    #expect(try await bob.run("settings.get", ["key": "biometricTimeoutMinutes"])["value"] == 0)
    #expect(try await bob.value(of: Self.weeks))
    #expect(try await bob.value(of: Self.rows) == -3)
    #expect(try await bob.value(of: Self.scale) == 2.25)
    #expect(try await bob.value(of: Self.greeting) == "Ciao")
    #expect(try await bob.value(of: Self.sorting) == .byDate)
    #expect(try await bob.settings()["rows"] == .integer(-3))
    let home = bob.home
    #expect(home.value(of: .colorScheme) == .dark && home.value(of: Self.rows) == -3)
    try await bob.remove(.colorScheme)
    try await bob.remove(Self.weeks)
    try await circle.inSync()
    #expect(try await alice.value(of: .colorScheme) == .system)
    #expect(alice.home.value(of: Self.weeks) == false)
    #expect(try await alice.settings()["showsWeekNumbers"] == nil)
  }

  @Test func `an invalid value of a setting is refused, and one that does not parse counts as absent`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    let node = alice.node
    #expect(try await refusal { try await node.set(.biometricTimeoutMinutes, to: 1_441) } == "bad_value")
    #expect(try await refusal { try await node.set(Self.scale, to: .infinity) } == "bad_value")
    try await node.set(Self.scale, to: -0.0)
    #expect(try await node.value(of: Self.scale) == 0)
    #expect(try await refusal { try await node.set(Setting("", default: 1), to: 2) } == "bad_value")
    #expect(try await node.value(of: .biometricTimeoutMinutes) == 5)
    try await node.set(Setting("rows", default: ""), to: "many")
    #expect(try await node.value(of: Self.rows) == 20)
    // The command line stores text.
    try await alice.run("settings.set", ["key": "rows", "value": "12"])
    #expect(try await node.value(of: Self.rows) == 12)
    try await node.set(Setting("colorScheme", default: ""), to: "light")
    #expect(
      try await refusal { try await node.set(Setting("colorScheme", default: ""), to: "pink") } == "bad_value"
    )
    #expect(try await node.value(of: .colorScheme) == .light)
    // Another version may have written a value that this one rejects.
    try await node.write(5_000, to: "biometricTimeoutMinutes")
    #expect(try await node.value(of: .biometricTimeoutMinutes) == 5)
    await alice.close()
    #expect(alice.home.value(of: Self.rows) == 12)
    #expect(alice.home.value(of: .biometricTimeoutMinutes) == 5)
  }

  private static let readings: [(StoredSetting, Bool?, Int?, Double?, String?)] = [
    (.flag(true), true, nil, nil, nil), (.integer(7), nil, 7, 7.0, nil), (.number(7), nil, 7, 7.0, nil),
    (.number(7.5), nil, nil, 7.5, nil), (.number(1e300), nil, nil, 1e300, nil),
    (.text("7"), nil, 7, 7.0, "7"), (.text("true"), true, nil, nil, "true"),
    (.text("inf"), nil, nil, nil, "inf"),
  ]

  @Test(arguments: readings)
  func `stored values are converted where possible`(
    stored: StoredSetting, flag: Bool?, integer: Int?, number: Double?, text: String?
  ) {
    #expect(Bool(stored: stored) == flag)
    #expect(Int(stored: stored) == integer)
    #expect(Double(stored: stored) == number)
    #expect(String(stored: stored) == text)
  }
}

extension Node {
  /// Writes a setting without validation.
  fileprivate func write(_ number: Int64, to key: String) throws {
    try core.write("settings.set", try core.storedSettings.draft(key, .integer(number)))
    try core.storedSettings.copy.update(from: store)
  }
}
