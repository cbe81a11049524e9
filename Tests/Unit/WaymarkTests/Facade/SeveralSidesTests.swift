import Foundation
import Model
import Testing
import WaymarkCare
import WaymarkTesting

@testable import Waymark

/// Conflicts with more than two sides, and resolutions that resolve more than one conflict.
struct SeveralSidesTests {
  /// One habit that three devices have renamed without each other: Bob first, then Bobby, and Alice last.
  private func threeNames() async throws -> TestCircle {
    let circle = try await TestCircle("alice", "bob", "bobby")
    let habit = try await circle["alice"].save(Habit(name: "Water"))
    try await circle.settle()
    await circle.partition(["alice"], ["bob"], ["bobby"])
    for (device, name) in [("bob", "Wasser"), ("bobby", "Acqua"), ("alice", "Eau")] {
      try await circle.clock.advance(by: .seconds(1))
      try await circle[device].update(habit.id) { $0.name = name }
    }
    await circle.heal()
    try await circle.settle()
    return circle
  }

  @Test func `of three sides each is offered by its device, and a name that fits two of them is refused`()
    async throws
  {
    let circle = try await threeNames()
    let alice = circle["alice"]
    let conflict = try #require(try await alice.conflicts().first)
    #expect(conflict.winner.value == .text("Eau") && conflict.winner.deviceName == "alice")
    #expect(Set(conflict.losers.map(\.value)) == [.text("Wasser"), .text("Acqua")])
    let short = conflict.id.prefix(8)
    let options = try await alice.options(of: conflict.id)
    #expect(options.map(\.take) == ["winner", "bob", "bobby"])
    #expect(
      options.map(\.effect) == [
        "keep the current value", "take the value from bob", "take the value from bobby",
      ])
    #expect(options.last?.command == "waymark conflicts resolve \(short) --take bobby")

    for (take, code) in [("loser", "ambiguous"), ("bo", "ambiguous"), ("", "not_found"), ("x", "not_found")] {
      #expect(
        try await refusal { _ = try await alice.resolve(conflict.id, choosing: take) } == code, "\(take)")
    }
    #expect(try await refusal { _ = try await alice.conflict("") } == "not_found")
    #expect(try await alice.conflict(conflict.id.uppercased()) == conflict)
    #expect(try await alice.conflicts() == [conflict])

    // A whole name is not also the beginning of a longer one.
    let resolution = try await alice.resolve(conflict.id, choosing: "bob")
    #expect(resolution.resolved == [conflict.id] && resolution.remaining == 0 && resolution.next == nil)
    #expect(resolution.text.description == "habit · Eau · name: took the value from bob.")
    try await circle.settle()
    try await circle.assertConverged()
    for node in circle.nodes {
      #expect(try await node.conflicts().isEmpty)
      #expect(try await node.records(Habit.all).map(\.name) == ["Wasser"])
    }
    await circle.close()
  }

  @Test func `the beginning of a device's name chooses its side, regardless of case`() async throws {
    let circle = try await threeNames()
    let bob = circle["bob"]
    let conflict = try #require(try await bob.conflicts().first)
    _ = try await bob.resolve(conflict.id, choosing: "BOBB")
    try await circle.settle()
    for node in circle.nodes {
      #expect(try await node.conflicts().isEmpty)
      #expect(try await node.records(Habit.all).map(\.name) == ["Acqua"])
    }
    await circle.close()
  }

  @Test(arguments: [Conflict.Choice.winner, .loser])
  func `a resolution says which other conflicts it has resolved, and how many remain`(
    choice: Conflict.Choice
  ) async throws {
    let circle = try await TestCircle("alice", "bob")
    let (alice, bob) = (circle["alice"], circle["bob"])
    let trip = try await alice.save(Trip(name: "Rome"))
    let forum = try await alice.save(Activity(name: "Forum", tripID: trip.id))
    let museum = try await alice.save(Activity(name: "Museum", tripID: trip.id))
    let habit = try await alice.save(Habit(name: "Water"))
    try await circle.settle()
    await circle.disconnect("alice", "bob")
    try await alice.delete(trip)
    try await alice.update(habit.id) { $0.name = "Eau" }
    for activity in [forum, museum] { try await bob.update(activity.id) { $0.notes = "early" } }
    try await bob.update(habit.id) { $0.name = "Wasser" }
    await circle.connect("alice", "bob")
    try await circle.settle()
    let hidden = try await bob.conflicts().filter { $0.reason == .hiddenByParent }
    #expect(Set(hidden.map(\.record)) == [forum.id.uuid, museum.id.uuid])
    let resolution = try await bob.resolve(try #require(hidden.first).id, taking: choice)
    #expect(Set(resolution.resolved) == Set(hidden.map(\.id)))
    #expect(resolution.remaining == 1 && resolution.next?.description == "waymark conflicts")
    #expect(
      resolution.text.description
        == (choice == .winner ? "Deleted again: trip “Rome”." : "Restored trip “Rome”.")
        + " This also resolved 1 other conflict.")
    try await circle.settle()
    #expect(try await alice.conflicts().map(\.record) == [habit.id.uuid])
    #expect(try await alice.count(Trip.all) == (choice == .winner ? 0 : 1))
    let notes = try await alice.records(Activity.all).map(\.notes)
    #expect(notes == (choice == .winner ? [] : ["early", "early"]))
    // The rest is resolved with the visible value, and then there is nothing left to resolve.
    let rest = try await alice.resolveAllTakingWinners()
    #expect(rest.resolved.count == 1 && rest.remaining == 0 && rest.operation != nil && rest.next == nil)
    let nothing = try await alice.resolveAllTakingWinners()
    #expect(
      nothing.operation == nil && nothing.resolved.isEmpty && nothing.text.description == "No conflicts.")
    await circle.close()
  }
}

extension Node {
  fileprivate func options(of id: String) throws -> [Conflict.Option] {
    try HistoryOperations(core).conflictWithOptions(id).options
  }

  fileprivate func resolve(_ id: String, choosing side: String) throws -> Conflict.Resolution {
    try HistoryOperations(core).resolve(id, taking: side)
  }
}
