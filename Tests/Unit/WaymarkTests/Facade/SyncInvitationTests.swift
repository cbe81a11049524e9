import Control
import Foundation
import JSONDocument
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import NodeRuntime
@testable import Waymark

/// Turning sync on for all devices: a question to each person, which a device can answer in advance.
struct SyncInvitationTests {
  private func notice(_ circle: TestCircle, _ name: String) async throws -> NodeStatus.Notice? {
    try await circle[name].status().notices.first { $0.reason == .syncInvited }
  }

  private func inviteAll(_ circle: TestCircle) async throws {
    try await circle.during { _ = try await circle["alice"].turnSyncOnEverywhere() }
    try await circle.settle()
  }

  @Test func `every other device asks once, and follows its person's answer`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", isSyncing: false)
    #expect(try await !circle["bob"].syncState().isInvited)
    try await inviteAll(circle)
    #expect(try await circle["alice"].syncState().isActive)
    #expect(try await notice(circle, "alice") == nil)
    let asked = try #require(try await notice(circle, "bob"))
    #expect(asked.text.description.hasPrefix("sync was turned on for all devices by alice"))
    #expect(asked.next?.description == "waymark sync on, or waymark sync off")
    let state = try await circle["bob"].syncState()
    #expect(state.isInvited && !state.preference, "nothing turns on by itself")
    try await circle["bob"].turnSyncOff()
    #expect(try await notice(circle, "bob") == nil)
    #expect(try await !circle["bob"].syncState().preference)
    try await circle.during { _ = try await circle["carol"].turnSyncOn() }
    #expect(try await notice(circle, "carol") == nil)
    // An answer stays an answer.
    try await inviteAll(circle)
    try await circle["carol"].turnSyncOff()
    #expect(try await notice(circle, "bob") == nil)
    #expect(try await notice(circle, "carol") == nil)
    await circle.close()
  }

  @Test func `a device that follows turns sync on, unless its person has said no`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", isSyncing: false)
    try await circle["carol"].turnSyncOff()
    for name in ["bob", "carol"] { await circle[name].followSyncInvitations() }
    _ = try await circle["alice"].save(Trip(name: "Rome", startDate: circle.clock.now))
    try await circle.during { _ = try await circle["alice"].turnSyncOnEverywhere(isConfirmed: true) }
    try await circle.settle()
    #expect(try await circle["bob"].syncState().isActive)
    #expect(try await circle["bob"].status().counts.trips == 1)
    #expect(try await !circle["carol"].syncState().preference)
    await circle.close()
  }

  @Test func `a device that follows waits for premium`() async throws {
    let circle = try await TestCircle("alice", "bob", premium: .only(["alice"]), isSyncing: false)
    await circle["bob"].followSyncInvitations()
    try await inviteAll(circle)
    #expect(try await !circle["bob"].syncState().preference)
    #expect(try await notice(circle, "bob") == nil, "without premium there is nothing to decide")
    try await circle.entitle(until: circle.clock.now.addingTimeInterval(86_400))
    try await circle.settle()
    #expect(try await circle["bob"].syncState().isActive)
    await circle.close()
  }

  @Test func `a device that can't be asked counts as one with records, until records were exchanged`()
    async throws
  {
    let alice = try await TestNode.founder("alice")
    _ = try await alice.run("premium.self")
    try await alice.run("trip.add", fields("name=Rome"))
    // Alone in the circle: there is nobody to merge with.
    #expect(try await alice.run("sync.on")["active"] == true)
    await alice.close()

    let circle = try await TestCircle("alice", "bob", isSyncing: false)
    await circle["bob"].close()
    #expect(try await circle.during { try await circle["alice"].turnSyncOn() }.isActive, "no records")
    try await circle["alice"].turnSyncOff()
    _ = try await circle["alice"].save(Trip(name: "Rome", startDate: circle.clock.now))
    do {
      _ = try await circle.during { try await circle["alice"].turnSyncOn() }
      Issue.record("sync was turned on without a question")
    } catch let error as WaymarkError {
      #expect(
        error.code == .needsYes && error.message.description.contains("1 record here with those of bob"))
    }
    await circle.close()
  }

  @Test func `once records were exchanged, sync is turned off and on without a question`() async throws {
    let circle = try await TestCircle("alice", "bob")
    _ = try await circle["alice"].save(Trip(name: "Rome", startDate: circle.clock.now))
    try await circle.settle()
    await circle["bob"].close()
    try await circle["alice"].turnSyncOff()
    _ = try await circle["alice"].save(Trip(name: "Oslo", startDate: circle.clock.now))
    #expect(try await circle.during { try await circle["alice"].turnSyncOn() }.isActive)
    await circle.close()
  }

  @Test func `who watches the question is told of a no`() async throws {
    let circle = try await TestCircle("alice", "bob", isSyncing: false)
    let bob = circle["bob"]
    try await inviteAll(circle)
    let states = Watcher(bob.watch(.syncState))
    #expect(try await states.next("the question").isInvited)
    let revision = await bob.withCore { $0.loop.watching.revision }
    try await bob.turnSyncOff()
    // Nothing else happens at Bob's, so it is the answer that wakes the watchers.
    try #require(await bob.withCore { $0.loop.watching.haveChanged([.node], since: revision) })
    let answered = try await states.next("the answer")
    #expect(!answered.isInvited && !answered.preference)
    await circle.close()
  }
}
