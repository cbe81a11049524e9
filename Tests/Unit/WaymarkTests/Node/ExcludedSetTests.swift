import Foundation
import Home
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// A store that holds what a revocation has excluded.
struct ExcludedSetTests {
  @Test func `a backup with sets that a revocation excludes is restored without them`() async throws {
    let folder = try Folder()
    let circle = try await TestCircle("alice", "bob", "carol", storage: .directories)
    let (alice, bob, carol) = (circle["alice"], circle["bob"], circle["carol"])
    _ = try await bob.save(Trip(name: "Rome"))
    try await circle.settle()
    let device = try await bob.status().device
    await circle.partition(["alice"], ["bob", "carol"])
    _ = try await bob.save(Trip(name: "Oslo"))
    try await circle.settle()
    #expect(try await carol.records(Trip.all).count == 2)
    try await alice.revoke([device])
    await circle.heal()
    try await circle.settle()
    #expect(try await carol.records(Trip.all).map(\.name) == ["Rome"])
    let file = folder.file("carol.waymark")
    let backup = try await carol.backUp(to: URL(filePath: file))
    let now = circle.clock.wall()
    await circle.close()
    let home = Home(path: folder.file("dave"))
    let restored = try await RestoreOperation(
      home: home, request: RestoreOperation.Request(file: file, name: "dave"), wall: { now }
    ).restore()
    #expect(restored.records == backup.records && restored.missing == 0)
    let node = try Node(home: home, wall: { now })
    #expect(try await node.records(Trip.all).map(\.name) == ["Rome"])
    await node.close()
  }
}
