import Foundation
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Leaving, promoting and overriding while some devices can't be reached.
struct ApartCallTests {
  @Test func `a device that leaves while it is apart says what is lost, and asks only once`() async throws {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    await circle.disconnect("alice", "bob")
    try await circle.settle()
    _ = try await bob.save(Trip(name: "Rome"))
    let question = await #expect(throws: WaymarkError.self) { try await bob.leave() }
    #expect(question?.code == .needsYes)
    let sentence = "1 change set that no other device has would not reach the others."
    #expect(question?.message.description.contains(sentence) == true)
    #expect(try await bob.members().allSatisfy { !$0.isLeaving })
    let asked = try await bob.leave(isConfirmed: true)
    #expect(!asked.hasLeft && asked.told.isEmpty && asked.admins.map(\.name) == ["alice"])
    #expect(asked.text.description.contains("has asked to leave the circle"))
    #expect(asked.text.description.contains("alice completes that when connected"))
    #expect(asked.next?.description.hasPrefix("waymark run, within reach of alice") == true)
    // The request is signed: the next call repeats the answer, and needs no confirmation.
    #expect(try await bob.leave() == asked)
    #expect(try await refusal { _ = try await bob.save(Trip(name: "Oslo")) } == "leaving")
    #expect(try await bob.count(Trip.all) == 1)
    #expect(try await alice.members().allSatisfy { !$0.isLeaving && !$0.isRevoked })
    await circle.close()
  }

  @Test func `the root key promotes an admin once more, so that the promotion lasts, and then no more`()
    async throws
  {
    let circle = try await TestCircle(
      "alice", "bob", premium: .nobody, isSyncing: false, storage: .directories)
    let alice = circle["alice"]
    let bob = try #require(try await alice.peers().first?.device)
    let root = URL(filePath: alice.home.rootKey)
    let calls: [(rootKey: URL?, isChanged: Bool)] = [
      (nil, true), (nil, false), (root, true), (root, false), (nil, false),
    ]
    for (index, call) in calls.enumerated() {
      let change = try await alice.promote(bob, rootKey: call.rootKey)
      #expect(change.isChanged == call.isChanged, "call \(index)")
      #expect(change.role == .admin && change.device == bob && change.name == "bob")
      #expect(change.previousName == "bob")
    }
    try await circle.settle()
    #expect(try await circle["bob"].members().map(\.role) == [.admin, .admin])
    await circle.close()
  }

  @Test
  func `an override names the devices that take part and those that can't, and counts what is restored`()
    async throws
  {
    let circle = try await TestCircle("alice", "bob", "carol")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let rome = try await alice.save(Trip(name: "Rome"))
    let bern = try await alice.save(Trip(name: "Bern"))
    try await circle.settle()
    let device = try #require(try await alice.peers().first { $0.name == "bob" }?.device)
    try await alice.turnSyncOff()
    try await circle.settle()
    try await alice.delete(rome)
    try await alice.update(bern.id) { $0.name = "Berne" }
    _ = try await alice.save(Trip(name: "Oslo"))
    let mirror = try await within("a preview of a mirror") {
      try await circle.during { try await alice.mirrorPreview(of: device) }
    }
    // What is in the trash here is restored, and not added.
    #expect((mirror.total.restored, mirror.total.added) == (1, 0))
    #expect((mirror.total.changed, mirror.total.deleted) == (1, 1))
    #expect(mirror.isPreview && mirror.turnsSyncOn && mirror.from?.name == "bob" && mirror.operation == nil)
    #expect(mirror.peers.isEmpty && mirror.notAsked.isEmpty && mirror.backup == nil)
    let one = try await within("a preview for one trip") {
      try await circle.during { try await alice.mirrorPreview(of: device, .trip(rome.id)) }
    }
    #expect(
      one.trip == rome.id && one.total.restored == 1 && one.total.changed == 0 && one.total.deleted == 0)
    let habits = try await within("a preview for one kind") {
      try await circle.during { try await alice.mirrorPreview(of: device, .kind(.habit)) }
    }
    #expect(habits.only == .habit && habits.kinds.isEmpty && habits.trip == nil)
    #expect(try await alice.records(Trip.all).map(\.name).sorted() == ["Berne", "Oslo"])
    #expect(try await !alice.syncState().preference)

    // Alice does not sync, so Bob's state is only compared with Carol's, who has the same.
    let asserted = try await within("a preview of an override") {
      try await circle.during { try await bob.overrideCirclePreview() }
    }
    #expect(asserted.from == nil && asserted.peers.map(\.name) == ["carol"])
    #expect(asserted.notAsked.map(\.name) == ["alice"])
    #expect(asserted.kinds.isEmpty && !asserted.turnsSyncOn && asserted.unknown == 0)
    await circle.close()
  }
}
