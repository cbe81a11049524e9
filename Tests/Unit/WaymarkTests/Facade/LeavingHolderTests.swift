import Model
import NodeRuntime
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// What a device that has asked to leave holds is not counted as a copy.
struct LeavingHolderTests {
  @Test func `what only a device that has asked to leave holds could be lost`() async throws {
    let circle = try await TestCircle("alice", "bob", "carol")
    let bob = circle["bob"]
    await circle.partition(["alice"], ["bob", "carol"])
    try await circle.settle()
    _ = try await bob.save(Trip(name: "Rome"))
    try await circle.settle()
    let before = try await bob.status().replicationRisk
    #expect(before.changeSets == 0, "Carol has it")
    #expect(before.devices.map(\.name) == ["alice", "carol"])
    #expect(before.devices.map(\.lacking) == [1, 0])
    // Only Alice, who is an admin, could complete this.
    let summary = try await circle.during { try await circle["carol"].leave(isConfirmed: true) }
    #expect(!summary.hasLeft && summary.told.map(\.name) == ["bob"])
    try await circle.settle()
    #expect(try await bob.members().filter(\.isLeaving).map(\.name) == ["carol"])
    let after = try await bob.status().replicationRisk
    #expect(after.changeSets == 1)
    #expect(after.devices.map(\.name) == ["alice"])
    await circle.close()
  }
}
