import JSONDocument
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import Model
@testable import Waymark

/// The list of all settings, from the store, its copy and the defaults.
struct StoredSettingsTests {
  @Test(arguments: [nil, "light"] as [String?])
  func `a synced setting is shown as the store has it, whatever the copy says`(copied: String?) async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("settings.set", ["key": "colorScheme", "value": "dark"])
    await alice.close()
    let copy = InMemoryPreferences()
    if let copied { copy.write([(key: "colorScheme", value: .text(copied))]) }
    let settings = StoredSettings(store: try Store(path: alice.home.store), copy: copy)
    let summary = try settings.summary()
    let listed = try #require(summary.readings.first(where: { $0.key == "colorScheme" }))
    #expect(listed.value == .text("dark") && listed.source == .settings)
    #expect(try settings.reading("colorScheme") == listed)
    #expect(summary.count == 1)
    #expect(summary.readings.map(\.key).filter { $0 == "colorScheme" } == ["colorScheme"])
    withExtendedLifetime(alice) {}
  }
}
