import Model
import Testing
import WaymarkCare

@testable import Waymark

/// The history of the profile, of which each write has all fields.
struct ProfileHistoryTests {
  @Test func `a write of the profile lists the fields that it changed, and each value its own author`()
    async throws
  {
    let node = try Node.inMemory(name: "alice")
    try await node.update(Profile.only) { profile in
      profile.name = "Alice"
      profile.homeZone = "Europe/Rome"
    }
    try await node.update(Profile.only) { $0.name = "Anna" }
    try await node.update(Profile.only) { $0.homeZone = "" }

    let writes = try await node.history(of: Profile.only).writes
    #expect(writes.map { $0.fields.map(\.field) } == [["homeTimezone"], ["name"], ["name", "homeTimezone"]])
    #expect(writes.map { $0.fields.map(\.value) }.prefix(2) == [[.absent], [.text("Anna")]])
    #expect(writes.map { $0.fields.map(\.before) }.prefix(2) == [[.text("Europe/Rome")], [.text("Alice")]])
    #expect(writes.last?.fields.map(\.before) == [.absent, .absent])
    #expect(writes.map { $0.fields.map(\.state) } == [[.shows], [.replaced], [.replaced, .replaced]])

    let values = try await node.explanation(of: Profile.only).values
    #expect(values.map(\.field) == ["name", "homeTimezone"])
    // The newest write did not change the name, which still comes from the one before.
    let (name, zone) = (try #require(values.first), try #require(values.last))
    #expect(name.written.value == .text("Anna") && name.written.author.id == writes[1].id)
    #expect(name.written.how == nil && name.wonAgainst.map(\.value) == [.text("Alice")])
    #expect(zone.written.value == .absent && zone.written.author.id == writes[0].id)
    #expect(zone.wonAgainst.map(\.value) == [.text("Europe/Rome")])
    #expect(zone.wonAgainst.map(\.how) == [.earlier])
    await node.close()
  }
}
