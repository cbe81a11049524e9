import Foundation
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// What a person is told before sync is turned on.
struct SyncQuestionTests {
  @Test(
    arguments: [
      (["alice", "bob", "carol"], ["carol"], "carol"),
      (["alice", "bob", "carol", "dora"], ["dora", "bob", "carol"], "bob, carol, dora"),
      (["alice", "bob", "carol", "dora", "erik"], ["bob", "carol", "dora", "erik"], "4 other devices"),
    ] as [([String], [String], String)])
  func `the question names the devices that are away, up to three of them`(
    names: [String], away: [String], named: String
  ) async throws {
    let circle = try await TestCircle(names: names, isSyncing: false)
    let alice = circle["alice"]
    _ = try await alice.save(Trip(name: "Rome"))
    for name in away { await circle.close(name) }
    try await circle.settle()
    let question = await #expect(throws: WaymarkError.self) {
      try await circle.during { try await alice.turnSyncOn() }
    }
    #expect(question?.code == .needsYes)
    let sentence =
      "merges the 1 record here with those of \(named), which can't be compared now because they are not connected"
    let message = question?.message.description ?? ""
    #expect(message.contains(sentence), "\(message)")
    #expect(question?.next?.description == "waymark sync on --yes")
    #expect(try await !alice.syncState().preference)
    await circle.close()
  }

  @Test func `a node that is not running is told to run, so that it can compare`() async throws {
    let circle = try await TestCircle("alice", "bob", isSyncing: false, storage: .directories)
    _ = try await circle["alice"].save(Trip(name: "Rome"))
    let home = circle["alice"].home
    await circle.close("alice")
    let node = try circle.openElsewhere(home)
    let question = await #expect(throws: WaymarkError.self) {
      try await circle.during { try await node.turnSyncOn() }
    }
    let message = question?.message.description ?? ""
    #expect(message.contains("those of bob, which can't be compared now because the node is not running"))
    #expect(
      question?.next?.description
        == "waymark run, then waymark sync on --preview; or waymark sync on --yes")
    // The person may know better.
    let isActive = try await circle.during { try await node.turnSyncOn(isConfirmed: true) }.isActive
    #expect(isActive)
    await node.close()
    await circle.close()
  }

  @Test func `of the profiles of several devices the one that would win is compared`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", isSyncing: false)
    let alice = circle["alice"]
    // Bob and Carol must not agree on a profile before Alice sees both.
    await circle.disconnect("bob", "carol")
    try await circle.settle()
    for name in ["bob", "carol"] { try await circle.turnSyncOn(name) }
    try await circle["bob"].update(Profile.only) { $0.name = "Bob" }
    try await circle.clock.advance(by: .seconds(60))
    try await circle["carol"].update(Profile.only) { $0.name = "Carol" }
    try await circle.settle()
    let preview = try await circle.during { try await alice.syncPreview() }
    #expect(preview.peers.map(\.name) == ["bob", "carol"] && preview.notAsked.isEmpty)
    let best = try #require(preview.profile)
    #expect(best.state == .onlyThere && best.winner == .there && best.winnerName == "carol")
    #expect(best.there?.deviceName == "carol" && best.here == nil)
    #expect(preview.peers.map { $0.profile?.winnerName } == ["bob", "carol"])

    try await circle.clock.advance(by: .seconds(60))
    try await alice.update(Profile.only) { $0.name = "Alice" }
    let own = try await circle.during { try await alice.syncPreview() }
    #expect(own.profile?.state == .differs && own.profile?.winner == .here)
    #expect(own.profile?.winnerName == "alice" && own.profile?.reason == "updated_at")
    #expect(own.profile?.there?.deviceName == "carol")
    await circle.close()
  }
}
