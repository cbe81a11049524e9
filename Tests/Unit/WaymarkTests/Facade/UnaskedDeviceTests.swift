import Model
import Reasons
import Testing
import WaymarkCare
import WaymarkTesting
import Wire

@testable import Waymark

/// Sync is turned on while one device has nothing, and another one can't be asked.
struct UnaskedDeviceTests {
  @Test func `a connected device without records does not stand for one that is away`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol", isSyncing: false)
    let alice = circle["alice"]
    _ = try await alice.save(Trip(name: "Rome"))
    // Bob syncs, and has no records; what Carol has is not known.
    try await circle.turnSyncOn("bob")
    await circle.close("carol")
    try await circle.settle()
    let question = await #expect(throws: WaymarkError.self) {
      try await circle.during { try await alice.turnSyncOn() }
    }
    #expect(question?.reason == .needsYes)
    let message = question?.message.description ?? ""
    #expect(message.contains("those of carol, which can't be compared now"), "\(message)")
    #expect(try await !alice.syncState().preference)
    await circle.close()
  }

  @Test func `a connected device without records alone is no reason to ask`() async throws {
    let circle = try await TestCircle("alice", "bob", isSyncing: false)
    let alice = circle["alice"]
    _ = try await alice.save(Trip(name: "Rome"))
    try await circle.turnSyncOn("bob")
    try await circle.settle()
    let state = try await circle.during { try await alice.turnSyncOn() }
    #expect(state.preference && state.isActive)
    await circle.close()
  }
}
