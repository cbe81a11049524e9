import Records
import Replication
import Storage
import Testing
import Wire

@Suite struct ProfileTests {
  let alice: Device
  let bob: Device

  init() throws {
    alice = try Device("alice")
    bob = try Device("bob")
  }

  private func profile(_ updatedAt: Int64, _ name: String, _ fields: [FieldNumber: Value] = [:]) -> EntryDraft
  {
    edit(
      FixedRecords.profile, [1: .integer(updatedAt), 2: .text(name)].merging(fields) { $1 })
  }

  private func meet() throws {
    let before = alice.known
    try alice.sync(from: bob)
    try bob.receive(before)
    #expect(try dump(alice.store) == dump(bob.store))
  }

  @Test func `a fresh profile exists, is empty, and counts as unset`() throws {
    let row = try #require(try alice.store.record(FixedRecords.profile))
    #expect(row.isVisible)
    #expect(row.isUntouchedSeed)
    #expect(row.fields == [:])
    #expect(try alice.store.visibleCounts()[FixedRecords.profileKind] == 0)
    #expect(alice.store.digest(.records) == .empty)
  }

  @Test func `the later profile replaces the other as a whole`() throws {
    try alice.write(at: 100, profile(90, "Alice", [3: .text("dark"), 4: .text("Europe/Rome")]))
    try bob.write(at: 95, profile(95, "Bob"))
    try meet()
    #expect(try alice.store.record(FixedRecords.profile)?.fields == [1: .integer(95), 2: .text("Bob")])
    let conflict = try #require(try alice.store.conflicts().first)
    #expect(conflict.reason == .profile)
    #expect(conflict.field == nil)
    #expect(conflict.losers.count == 1)
  }

  @Test func `an edit that has seen the other is not a conflict, though an older date loses`() throws {
    try alice.write(at: 100, profile(100, "Alice"))
    try bob.sync(from: alice)
    try bob.write(at: 200, profile(50, "Old"))
    try meet()
    #expect(try alice.store.text(FixedRecords.profile, 2) == "Alice")
    #expect(try alice.store.conflictCount() == 0)
  }

  /// All orders of four profiles of which the second one has seen the first.
  private static let orders = [
    [0, 1, 2, 3], [0, 1, 3, 2], [0, 2, 1, 3], [0, 2, 3, 1], [0, 3, 1, 2], [0, 3, 2, 1], [2, 0, 1, 3],
    [2, 0, 3, 1], [2, 3, 0, 1], [3, 0, 1, 2], [3, 0, 2, 1], [3, 2, 0, 1],
  ]

  @Test func `in any order of arrival, a device finds the same profile and the same losers`() throws {
    let (carol, dave) = (try Device("carol"), try Device("dave"))
    var sets = [try alice.write(at: 100, profile(90, "Alice"))]
    try bob.sync(from: alice)
    // Bob has seen Alice's profile, and his loses all the same.
    sets.append(try bob.write(at: 110, profile(50, "Old")))
    sets.append(try carol.write(at: 120, profile(115, "Carol")))
    sets.append(try dave.write(at: 130, profile(125, "Dave")))
    var found: Set<[String]> = []
    for order in Self.orders {
      let reader = try Device("reader")
      for index in order { try reader.receive(sets[index]) }
      found.insert(try dump(reader.store))
      #expect(try reader.store.conflicts().first?.losers.count == 2, "\(order)")
    }
    #expect(found.count == 1)
  }

  @Test func `a date beyond the set's own clock does not win forever`() throws {
    try alice.write(at: 100, profile(9_999_999, "Future"))
    try bob.write(at: 200, profile(150, "Bob"))
    try meet()
    #expect(try alice.store.text(FixedRecords.profile, 2) == "Bob")
  }

  @Test func `the life of the profile cannot be changed`() throws {
    try alice.write(at: 100, profile(100, "Alice"), delete(FixedRecords.profile))
    #expect(try alice.store.isVisible(FixedRecords.profile))
    #expect(try alice.store.visibleCounts()[FixedRecords.profileKind] == 1)
  }
}
