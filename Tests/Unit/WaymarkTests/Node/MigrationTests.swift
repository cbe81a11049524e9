import Foundation
import JSONDocument
import Testing
import WaymarkTesting

@testable import Waymark

/// Stores of earlier versions of the program.
struct MigrationTests {
  /// Every document of the old program, and the members of it that the present one must reproduce: newer versions may
  /// add members.
  @Test func `a store of schema 1 gives the same answers as before`() async throws {
    let (home, expected) = try fixture("schema-1")
    let node = try Node(home: home.home)
    for document in try #require(expected.members) {
      let actual = try await node.run(document.key)
      expectHeld(document.value, in: actual, document.key)
    }
    await node.close()
    // A second time: the migration has left nothing undone.
    let again = try Node(home: home.home)
    let status = try await again.run("status")
    expectHeld(try #require(expected["status"]), in: status, "status")
    await again.close()
  }

  @Test func `a migrated store is written and read again`() async throws {
    let (home, expected) = try fixture("schema-1")
    let node = try Node(home: home.home)
    _ = try await node.run("trip.add", ["fields": [["name", "Lima"]], "zone": "UTC"])
    await node.close()
    let again = try Node(home: home.home)
    let trips = try await again.run("trip.list")["trips"]?.array ?? []
    #expect(trips.count == (expected["trip.list"]?["trips"]?.array?.count ?? 0) + 1)
    await again.close()
  }

  private func expectHeld(_ old: JSON, in new: JSON, _ place: String) {
    switch old {
    case .object(let members):
      // A copied data directory begins a log of its own; the command line adds the schema.
      for member in members where !["incarnation", "schema"].contains(member.key) {
        expectHeld(member.value, in: new[member.key] ?? .null, "\(place).\(member.key)")
      }
    case .array(let items):
      let others = new.array ?? []
      #expect(items.count == others.count, "\(place)")
      for (index, (item, other)) in zip(items, others).enumerated() {
        expectHeld(item, in: other, "\(place)[\(index)]")
      }
    // Conflicts of settings have names in the present version.
    case .null where place.hasSuffix(".name"): break
    default: #expect(old == new, "\(place)")
    }
  }

  /// A copy of a stored home, and the documents of the program that created it.
  private func fixture(_ name: String) throws -> (TestHome, JSON) {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Fixtures/\(name)")
    let copy = try TestHome()
    let files = FileManager.default
    try files.createDirectory(
      atPath: copy.home.keys, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    chmod(copy.home.path, 0o700)
    for (file, target) in [("store.db", copy.home.store), ("device.key", copy.home.deviceKey)] {
      try files.copyItem(atPath: folder.appending(path: file).path, toPath: target)
      chmod(target, 0o600)
    }
    let expected = try Data(contentsOf: folder.appending(path: "expected.json"))
    return (copy, try JSON.parse(Array(expected)))
  }
}
