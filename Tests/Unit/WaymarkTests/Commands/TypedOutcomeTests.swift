import Foundation
import JSONDocument
import Model
import Reasons
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// What typed commands write, count and leave out.
struct TypedOutcomeTests {
  @Test func `a deletion counts the kinds that go with the record, and no kind of which there are none`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    for trip in ["Rome", "Oslo"] { try await alice.run("trip.add", fields("name=\(trip)")) }
    for lodging in ["Casa", "Palazzo"] {
      try await alice.run("lodging.add", fields("trip=Rome", "name=\(lodging)"))
    }
    try await alice.run("activity.add", fields("trip=Rome", "name=Forum"))
    try await alice.run("activity.delete", ["id": "Forum"])
    let full = try await alice.run("trip.delete", ["id": "Rome"])["contents"]?.array ?? []
    #expect(full.map { $0["kind"] } == ["lodging"] && full.map { $0["count"] } == [2])
    #expect(try await alice.run("trip.delete", ["id": "Oslo"])["contents"] == [])
    await alice.close()
  }

  @Test func `a deleted address is not listed in the trash, because it is never listed by itself`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    var address = Address()
    address.city = "Roma"
    address = try await alice.node.save(address)
    try await alice.node.delete(address)
    #expect(try await alice.run("trash.list")["items"] == [])
    await alice.close()
  }

  @Test func `an end with its own offset does not take the zone of the start`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    let start = ["trip=Rome", "start=2026-05-03T15:00", "startTZ=Europe/Rome"]
    // London is an hour behind Rome, so with the zone of Rome this offset would be refused.
    let end = "end=2026-05-05T10:00:00+01:00"
    try await alice.run("lodging.add", fields(start + ["name=Casa", end]))
    try await alice.run("lodging.add", fields(start + ["name=Palazzo"]))
    try await alice.run("lodging.edit", fields(end, id: "Palazzo"))
    for name in ["Casa", "Palazzo"] {
      let shown = try await alice.run("lodging.show", ["id": .string(name)])
      #expect(shown["startTZId"] == "Europe/Rome", "\(name)")
      #expect(shown["end"] != .null && shown["endTZId"]?.string == nil, "\(name)")
    }
    await alice.close()
  }

  @Test func `a profile without a picture writes no file, also after an empty one was set`() async throws {
    let (alice, folder) = (try await TestNode.founder("alice"), try Folder())
    let output = folder.file("face.png")
    func code() async throws -> WaymarkError.Code? {
      try await failure(alice, "profile.show", ["output": .string(output)])?.code
    }
    #expect(try await code() == .noContent)
    let full = try folder.write([1, 2, 3], "full.png")
    let empty = try folder.write([], "empty.png")
    for picture in [full, empty] {
      try await alice.run("profile.set", fields("name=Alice", "avatar=\(picture)"))
    }
    #expect(try await code() == .noContent)
    #expect(!FileManager.default.fileExists(atPath: output))
    await alice.close()
  }

  @Test func `the settings have a common limit, within which each can still be changed`() async throws {
    let alice = try await TestNode.founder("alice")
    let long = String(repeating: "x", count: 40_000)
    func refused(_ key: String, _ value: String) async throws -> WaymarkError.Code? {
      try await failure(alice, "settings.set", ["key": .string(key), "value": .string(value)])?.code
    }
    var count = 0
    while count < 40, try await refused("custom \(count)", long) == nil { count += 1 }
    // 1 MiB
    #expect(count == 26)
    #expect(try await refused("custom 26", long) == .tooManySettings)
    #expect(try await refused("custom 0", "y" + long.dropFirst()) == nil)
    #expect(try await refused("custom 0", "short") == nil)
    #expect(try await refused("custom 26", long) == nil)
    await alice.close()
  }
}
