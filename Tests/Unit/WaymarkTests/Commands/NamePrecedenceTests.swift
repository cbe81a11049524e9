import JSONDocument
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Which record a name means where records of all kinds are named.
struct NamePrecedenceTests {
  private func named(_ alice: TestNode, _ text: String) async throws -> [JSON?] {
    let record = try await alice.run("history", ["record": .string(text)])["record"]
    return [record?["kind"], record?["name"]]
  }

  @Test func `a whole name of one kind comes before the beginning of a name of another`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("habit.add", fields("name=Rome run"))
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("habit.add", fields("name=Old Oslo"))
    try await alice.run("trip.add", fields("name=Oslo and Bergen"))
    #expect(try await named(alice, "Rome") == ["trip", "Rome"])
    #expect(try await named(alice, "rome") == ["trip", "Rome"])
    #expect(try await named(alice, "Rome r") == ["habit", "Rome run"])
    // A beginning comes before a part in the middle.
    #expect(try await named(alice, "oslo") == ["trip", "Oslo and Bergen"])
    #expect(try await named(alice, "d osl") == ["habit", "Old Oslo"])
    await alice.close()
  }

  @Test func `a visible record comes before one in the trash, and of two in the trash none is meant`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    try await alice.run("trip.add", fields("name=Rome"))
    try await alice.run("habit.add", fields("name=Rome"))
    let both = try await failure(alice, "history", ["record": "Rome"])
    #expect(both?.code == .ambiguous && both?.candidates.count == 2)
    try await alice.run("trip.delete", ["id": "Rome"])
    #expect(try await named(alice, "Rome") == ["habit", "Rome"])
    try await alice.run("habit.delete", ["id": "Rome"])
    #expect(try await failure(alice, "history", ["record": "Rome"])?.code == .ambiguous)
    try await alice.run("trip.restore", ["id": "Rome"])
    #expect(try await named(alice, "Rome") == ["trip", "Rome"])
    await alice.close()
  }

  @Test func `the word profile means the profile, whatever its name is`() async throws {
    let alice = try await TestNode.founder("alice")
    try await alice.run("profile.set", fields("name=Alice"))
    try await alice.run("trip.add", fields("name=Profile of Rome"))
    for text in ["profile", "Profile", "Alice"] {
      #expect(try await named(alice, text) == ["profile", "Alice"], "\(text)")
    }
    #expect(try await named(alice, "profile o") == ["trip", "Profile of Rome"])
    await alice.close()
  }
}
