import JSONDocument
import Foundation
import Storage
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Home
@testable import Waymark

/// The copy of the settings next to the store, which is read without opening the store.
struct SettingsCopyTests {
  private let folder: Folder
  private let copy: PreferencesFile

  init() throws {
    folder = try Folder()
    copy = PreferencesFile(path: folder.file("settings.json"))
  }

  /// The number of the file on its disk, which changes when the file is replaced.
  private var number: UInt64 {
    var status = stat()
    return stat(copy.path, &status) == 0 ? UInt64(status.st_ino) : 0
  }

  private func encoded(_ preferences: [(key: String, value: Value)]) -> [String: [UInt8]] {
    Dictionary(preferences.map { ($0.key, $0.value.encoded) }, uniquingKeysWith: { first, _ in first })
  }

  @Test func `a copy has the values of every type, and is private`() throws {
    let values: [(key: String, value: Value)] = [
      (key: "a", value: .bool(true)), (key: "b", value: .integer(-7)), (key: "c", value: .float(1.5)),
      (key: "d", value: .text("a \"quoted\" word\n")), (key: "ä/é", value: .text("")),
    ]
    #expect(!copy.exists && copy.read().isEmpty)
    try copy.write(values)
    #expect(copy.exists && mode(copy.path) == 0o600)
    #expect(copy.read().map(\.key) == ["a", "b", "c", "d", "ä/é"])
    #expect(encoded(copy.read()) == encoded(values))
  }

  @Test func `a copy is written if it differs from the settings, and only then`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("settings.set", ["key": "colorScheme", "value": "dark"])
    try await alice.run("settings.set", ["key": "biometricTimeoutMinutes", "value": "15"])
    await alice.close()
    let store = try Store(path: alice.home.store)
    let settings = encoded(try store.settings())
    #expect(Set(settings.keys) == ["colorScheme", "biometricTimeoutMinutes"])
    try copy.update(from: store)
    #expect(encoded(copy.read()) == settings)
    let written = number
    try copy.update(from: store)
    #expect(number == written, "the same settings are not written again")
    for other in [
      #"{"biometricTimeoutMinutes":15,"colorScheme":"light"}"#, #"{"colorScheme":"dark"}"#, "{}", "", "{",
      #"{"biometricTimeoutMinutes":"15","colorScheme":"dark"}"#,
      #"{"biometricTimeoutMinutes":15,"colorScheme":"dark","more":1}"#,
    ] {
      try Files.replace(copy.path, with: Array(other.utf8))
      try copy.update(from: store)
      #expect(encoded(copy.read()) == settings, "\(other)")
    }
    withExtendedLifetime(alice) {}
  }

  @Test func `a copy of no settings is written too, and settings that were removed leave it`() async throws {
    let alice = try await TestNode.founder("alice")
    await alice.close()
    let store = try Store(path: alice.home.store)
    try copy.update(from: store)
    #expect(copy.exists && copy.read().isEmpty)
    try copy.write([(key: "colorScheme", value: .text("dark"))])
    try copy.update(from: store)
    #expect(copy.read().isEmpty)
    withExtendedLifetime(alice) {}
  }
}
